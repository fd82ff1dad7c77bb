"""Reading parsed corpora: alignment, what is skipped, who is held out, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.parsed_corpora import (
    chain_heads,
    left_branching,
    stories,
    write_corpus,
    write_vectors,
)
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus, Part
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.words.word_vectors import WordVectors, load_word_vectors
from treeviews.pipeline.shards.manifests import write_dataset_manifest

TREES = ("DEP", "CONST")


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> WordVectors:
    return load_word_vectors(write_vectors(tmp_path_factory.mktemp("vectors") / "english"))


def listed(values: Any) -> list[int]:
    assert values is not None
    numbers: list[int] = values.tolist()
    return numbers


def test_arrays_are_those_of_the_shards(tmp_path: Path, vectors: WordVectors) -> None:
    documents = {"one": [["the", "cat"], ["the", "Dog", "zzz"]], "two": [["again"]]}

    block = ParsedCorpus(write_corpus(tmp_path, documents), vectors, views=TREES).read(0)

    words = [vectors.words[i] for i in block.token_ids]
    assert words == ["the", "cat", "the", "dog", "", "again"]
    assert block.offsets.tolist() == [0, 2, 5, 6]
    assert block.inner_offsets.tolist() == [0, 1, 3, 3]
    assert listed(block.heads) == [*chain_heads(2), *chain_heads(3), *chain_heads(1)]
    assert listed(block.binary_left) == left_branching(2)[0] + left_branching(3)[0]
    assert listed(block.binary_right) == left_branching(2)[1] + left_branching(3)[1]
    assert block.sentence_index.tolist() == [0, 1, 0]
    assert block.documents[0] == block.documents[1] != block.documents[2]


def test_rows_that_cannot_be_used_are_skipped_and_counted(
    tmp_path: Path, vectors: WordVectors
) -> None:
    folders = write_corpus(
        tmp_path / "a", stories(1, sentences=6), without_heads=[1], without_constituents=[1, 4]
    )
    corpus = ParsedCorpus(folders, vectors, views=TREES)
    assert corpus.read(0).rows.tolist() == corpus.read(0).sentence_index.tolist() == [0, 2, 3, 5]
    assert corpus.survey().skipped == {"no_constituents": 1, "no_dependencies": 1}
    of_heads = ParsedCorpus(folders.changed(constituents=None), vectors, views=("SEQ", "DEP"))
    assert len(of_heads.read(0)) == 5 and of_heads.read(0).binary_left is None

    folders = write_corpus(tmp_path / "b", {"one": [["the"] * 3, ["the"] * 4, ["the"] * 5]})
    corpus = ParsedCorpus(folders, vectors, views=TREES, config=TrainingConfig(max_tokens=4))
    assert corpus.read(0).rows.tolist() == [0, 1]
    assert corpus.survey().skipped == {"too_long": 1}


def test_rows_and_known_tokens_count_over_all_shards(tmp_path: Path, vectors: WordVectors) -> None:
    folders = write_corpus(
        tmp_path / "a", {"one": [["the", "zzz"], ["The", "cat"], ["a"]]}, rows_per_shard=2
    )
    corpus = ParsedCorpus(folders, vectors, views=TREES)
    assert [block.rows.tolist() for block in corpus.blocks()] == [[0, 1], [2]]
    survey = corpus.survey()
    assert survey.rows == (2, 1)
    found = survey.coverage
    assert (found.exact, found.lower_cased, found.unknown) == (2, 1, 2)
    assert survey.word_counts.sum() == 5 and survey.word_counts[0] == 2

    (tmp_path / "b").mkdir()
    write_dataset_manifest(tmp_path / "b", "sentences", config={})
    empty = CorpusFolders(sentences=tmp_path / "b")
    assert ParsedCorpus(empty, vectors, views=("SEQ", "SEQ")).survey().num_sentences == 0


def test_held_out_and_training_documents_are_apart_and_together_all(
    tmp_path: Path, vectors: WordVectors
) -> None:
    folders = write_corpus(tmp_path, stories(40, sentences=2), rows_per_shard=7)

    config = TrainingConfig(held_out_fraction=0.4, held_out_seed=5)

    def rows(part: Part) -> set[int]:
        corpus = ParsedCorpus(folders, vectors, views=TREES, config=config, part=part)
        return {int(row) for block in corpus.blocks() for row in block.rows}

    train, held_out = rows("train"), rows("held_out")
    assert train and held_out and train.isdisjoint(held_out)
    assert train | held_out == rows("all")
    assert all((row ^ 1) in train for row in train)  # a document is never split


def _flipped(folders: CorpusFolders) -> CorpusFolders:
    path = folders.sentences / "00000.parquet"
    content = bytearray(path.read_bytes())
    content[100] ^= 4
    path.write_bytes(content)
    return folders


def _unfinished(folders: CorpusFolders) -> CorpusFolders:
    (folders.sentences / "manifest.json").unlink()
    return folders


def _beside(
    documents: Any, rows_per_shard: int = 4, *, says: bool = True
) -> Callable[[CorpusFolders], CorpusFolders]:
    def exchange(folders: CorpusFolders) -> CorpusFolders:
        place = folders.sentences.parent.parent / "other"
        other = write_corpus(
            place, documents, rows_per_shard=rows_per_shard, says_what_was_parsed=says
        )
        return folders.changed(dependencies=other.dependencies)

    return exchange


@pytest.mark.parametrize(
    ("change", "views", "message"),
    [
        (_flipped, TREES, r"sentences/00000\.parquet: sha256 differs .* delete"),
        (_unfinished, TREES, "this stage is not complete"),
        (_beside(stories(2, sentences=4), 3), TREES, "rows in . shards, but .*of another corpus"),
        (_beside({"z": [["the", "cat"]] * 10}), TREES, r"dependencies/00000\.parquet: these are"),
        (
            _beside({"z": [["the", "cat"]] * 10}, says=False),
            TREES,
            r"dependencies/00000\.parquet: row 0: heads does not fit a sentence of \d tokens",
        ),
        (
            lambda f: f.changed(constituents=None),
            TREES,
            "DEP, CONST need the constituents fold",
        ),
    ],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path,
    vectors: WordVectors,
    change: Callable[[CorpusFolders], CorpusFolders],
    views: tuple[str, ...],
    message: str,
) -> None:
    written = write_corpus(
        tmp_path / "a", stories(2, sentences=5), rows_per_shard=4, says_what_was_parsed=True
    )
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        ParsedCorpus(change(written), vectors, views=views).read(0)


def test_sentences_are_sliced_and_taken_whole(tmp_path: Path, vectors: WordVectors) -> None:
    documents = {"one": [["the"], ["the", "cat", "sees"], ["again", "here"]]}
    block = ParsedCorpus(write_corpus(tmp_path, documents), vectors, views=TREES).read(0)

    turned = block.take(np.array([2, 1, 1]))

    words = [vectors.words[i] for i in turned.token_ids]
    assert words == ["again", "here", "the", "cat", "sees", "the", "cat", "sees"]
    assert listed(turned.heads) == [0, 1, 0, 1, 2, 0, 1, 2]
    assert listed(turned.binary_left) == [-1, 1, -1, 1, -1]
    sliced, taken = block.slice(1, 3), block.take(np.arange(1, 3))
    for name in ("token_ids", "offsets", "documents", "sentence_index", "rows", "heads"):
        np.testing.assert_array_equal(getattr(sliced, name), getattr(taken, name))
    np.testing.assert_array_equal(listed(sliced.binary_right), listed(taken.binary_right))


def test_shuffling_moves_words_within_their_sentences_to_any_place() -> None:
    sentences, length = 2000, 10
    words = np.random.default_rng(0).integers(2, 500, (sentences, length)).astype(np.int32)
    words[:, 0] = 1
    block = SentenceBlock(
        token_ids=words.ravel(),
        offsets=np.arange(0, sentences * length + 1, length),
        documents=np.zeros(sentences, dtype=np.int32),
        sentence_index=np.arange(sentences, dtype=np.int32),
        rows=np.arange(sentences),
    )

    moved = block.shuffled("words")

    assert block.shuffled("nothing") is block
    np.testing.assert_array_equal(
        np.sort(moved.token_ids.reshape(sentences, length)), np.sort(words)
    )
    counts = np.bincount(np.flatnonzero(moved.token_ids == 1) % length, minlength=length)
    assert counts.sum() == sentences
    assert counts.min() > 150  # of 200 expected; five standard deviations are 67
    assert len(block.slice(0, 0).shuffled("words")) == 0
    alone = block.slice(4, 5).shuffled("words")
    np.testing.assert_array_equal(alone.token_ids, moved.slice(4, 5).token_ids)
