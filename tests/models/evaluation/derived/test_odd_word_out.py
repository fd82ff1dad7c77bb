"""Which words are replaced, by which others, and that nothing but their sense tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from models.evaluation.derived.held_out.config import ProbingConfig
from models.evaluation.derived.held_out.held_out_rows import HeldOutRow, SourceSentence, SourceText
from models.evaluation.derived.held_out.odd_word import (
    count_bigrams,
    replace_words,
    target_positions,
)
from pipeline.shards.manifests import write_dataset_manifest
from pipeline.shards.shards import write_shard

TAGS = {"hammer": "NN", "apple": "NN", "orange": "NN", "table": "NN", "breaks": "VBZ"}
CONFIG = ProbingConfig(held_out_fraction=1.0, min_tokens=3)


def text(folder: Path, sentences: Sequence[str]) -> SourceText:
    """Writes sentences as one shard, all held out; words are tagged by `TAGS`, others X."""
    tokens = [sentence.split() for sentence in sentences]
    table = pa.table(
        {
            "document_id": [f"document {i}" for i in range(len(tokens))],
            "sentence_index": pa.array([0] * len(tokens), pa.int32()),
            "tokens": tokens,
        }
    )
    write_shard(folder, "sentences", 0, table, drops={})
    write_dataset_manifest(folder, "sentences", config={})
    rows = [HeldOutRow(0, i, i, f"document {i}", 0, tuple(words)) for i, words in enumerate(tokens)]
    return SourceText(
        folder,
        tuple(
            SourceSentence(row, (0,), (len(row.tokens),), ("S",), tags)
            for row in rows
            for tags in [tuple(TAGS.get(token, "X") for token in row.tokens)]
        ),
    )


def exchanged(folder: Path, one: str, other: str, *rest: str) -> bool:
    """Returns whether two sentences can exchange a word, whichever class they come to."""
    halves = replace_words(text(folder, [one, other, *rest]), CONFIG)
    return {0, 1} <= {*halves.altered, *halves.intact}


def test_nouns_and_verbs_within_a_sentence_are_replaced() -> None:
    tagged = (
        "Dogs/NNS were/VBD chasing/VBG Rex/NNP and/CC 3D/NN cats/NNS at/IN UCL/NN in/IN is/VBZ "
        "it/PRP x/NN house/NN"
    )
    tokens, tags = zip(*(word.split("/") for word in tagged.split()), strict=True)
    assert [tokens[i] for i in target_positions(tokens, tags)] == ["chasing", "cats"]


def test_words_are_exchanged_where_their_bigrams_are_as_frequent(tmp_path: Path) -> None:
    assert exchanged(tmp_path, "one hammer here .", "some table there .")


def test_a_word_that_stands_oftener_beside_its_neighbour_stays(tmp_path: Path) -> None:
    often = [f"one hammer number{i} ." for i in range(4)]
    assert not exchanged(tmp_path, "one hammer here .", "some table there .", *often)


def test_the_places_themselves_are_not_counted(tmp_path: Path) -> None:
    """Each word stands once after "the"; without the two sentences, neither does."""
    assert exchanged(tmp_path, "the hammer here .", "the table there .")


def test_tags_must_agree(tmp_path: Path) -> None:
    assert not exchanged(tmp_path, "one hammer here .", "it breaks there .")


def test_the_article_must_fit(tmp_path: Path) -> None:
    assert not exchanged(tmp_path / "a", "a hammer here .", "an apple there .")
    assert exchanged(tmp_path / "an", "an orange here .", "an apple there .")


def test_no_sentence_takes_a_word_that_it_has(tmp_path: Path) -> None:
    assert not exchanged(tmp_path, "one hammer for table .", "some table there .")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> SourceText:
    random = np.random.default_rng(5)
    nouns = [word for word, tag in TAGS.items() if tag == "NN"]
    sentences = [
        f"number {i} is the {random.choice(nouns)} that {random.choice(nouns)} breaks w{i} ."
        for i in range(400)
    ]
    return text(tmp_path_factory.mktemp("many"), sentences)


def test_both_classes_hold_each_word_as_often_as_before(many: SourceText) -> None:
    halves = replace_words(many, CONFIG)
    originals = [many.sentences[row].tokens for row in halves.altered]
    assert len(originals) > 50
    before, after = (
        Counter(token for tokens in sentences for token in tokens)
        for sentences in (originals, halves.altered.values())
    )
    assert before == after


def test_each_altered_sentence_differs_in_one_word_of_the_same_tag(many: SourceText) -> None:
    halves = replace_words(many, CONFIG)
    for row, tokens in halves.altered.items():
        original = many.sentences[row].tokens
        ((old, new),) = [(a, b) for a, b in zip(original, tokens, strict=True) if a != b]
        assert TAGS[old] == TAGS[new]


def test_classes_are_disjoint_and_about_as_large(many: SourceText) -> None:
    halves = replace_words(many, CONFIG)
    assert not set(halves.altered) & set(halves.intact)
    share = len(halves.altered) / (len(halves.altered) + len(halves.intact))
    assert 0.35 < share < 0.65


def test_a_seed_gives_one_choice_and_another_seed_another(many: SourceText) -> None:
    first, again = (replace_words(many, CONFIG) for _ in range(2))
    other = replace_words(many, ProbingConfig(held_out_fraction=1.0, min_tokens=3, seed=1))
    assert first == again
    assert first.altered != other.altered


def test_bigrams_are_counted_within_sentences_over_shards_whatever_their_case(
    tmp_path: Path,
) -> None:
    for number, sentences in enumerate(
        (["The cat saw the", "cat"], ["the Cat", "cat saw the cat"])
    ):
        table = pa.table(
            {
                "document_id": ["d"] * 2,
                "sentence_index": pa.array([0, 1], pa.int32()),
                "tokens": [sentence.split() for sentence in sentences],
            }
        )
        write_shard(tmp_path, "sentences", number, table, drops={})
    counts = count_bigrams(tmp_path, ["cat", "the"], num_shards=2)
    cat, the = np.array([0]), np.array([1])
    assert counts.of(the, cat).tolist() == [3]
    assert counts.of(cat, the).tolist() == [0]
    assert counts.of(the, np.array([0, 1])).tolist() == [3, 0]
