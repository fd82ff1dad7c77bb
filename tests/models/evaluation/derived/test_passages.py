"""Labelled passages, from texts written here and from a corpus made by a grammar."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from models.evaluation.build_probing import SENTEVAL_FOLDER, build_probing, senteval_path
from models.evaluation.probing_sentences import ParsedSentence, ProbingConfig
from models.evaluation.probing_splits import DocumentSplits
from models.evaluation.probing_tasks import by_coherence, passages, with_intruders
from tests.support.probing_examples import (
    CONFIG,
    Built,
    built,
    corpus_rows,
    read_built,
    sentence,
    write_rows,
)

HARBOUR = (
    "A ferry left the harbour at dawn .",
    "It carried forty crates of apples .",
    "Halfway across the bay its engine stopped .",
    "A fisherman towed it to the pier .",
    "The crew ate the first crate that evening .",
    "The rest was sold the next day .",
    "Nobody asked about the delay .",
)


def text(*words: str, document: str = "harbour", start: int = 0) -> list[ParsedSentence]:
    """Returns successive sentences of one document; of these only words and places matter."""
    return [
        sentence(
            one, [0], "root", "X", [(0, 1, "S")],
            row=start + index, document_id=document, unit=document, sentence_index=index,
        )
        for index, one in enumerate(words)
    ]  # fmt: skip


def numbered(document: str, number: int, start: int = 0) -> list[ParsedSentence]:
    return text(*(f"{document} says {n}" for n in range(number)), document=document, start=start)


def test_passages_are_all_runs_of_successive_sentences() -> None:
    runs = [[one.sentence_index for one in run] for run in passages(text(*HARBOUR), 5)]
    assert runs == [[0, 1, 2, 3, 4], [1, 2, 3, 4, 5], [2, 3, 4, 5, 6]]


def test_a_gap_another_document_or_another_block_breaks_a_passage() -> None:
    whole = text(*HARBOUR)
    gap = [one for one in whole if one.sentence_index != 3]
    assert [[s.sentence_index for s in run] for run in passages(gap, 3)] == [[0, 1, 2], [4, 5, 6]]
    other = [*whole[:2], *numbered("quay", 2, start=7)]
    assert len(list(passages(other, 2))) == 2
    blocks = [replace(one, unit=f"harbour\t{one.sentence_index // 4}") for one in whole]
    assert len(list(passages(blocks, 4))) == 1


def test_one_of_the_second_to_fifth_gives_way_to_a_sentence_of_another_document() -> None:
    documents = {name: 100 * n for n, name in enumerate(("quay", "mill", "farm"))}
    sentences = [s for name, start in documents.items() for s in numbered(name, 30, start)]
    config = ProbingConfig()

    passed = by_coherence(sentences, config)
    found = with_intruders(passed, config)

    assert found is not None
    replaced: Counter[int] = Counter()
    for before, after in zip(passed, found, strict=True):
        assert before.label == after.label
        pairs = zip(before.sentences, after.sentences, strict=True)
        changed = [place for place, (old, new) in enumerate(pairs, 1) if old != new]
        assert len(changed) == (after.label == "incoherent")
        for place in changed:
            replaced[place] += 1
            assert after.sentences[place - 1].document_id != after.sentence.document_id
            assert after.sentences[place - 1] in sentences
    assert set(replaced) == {2, 3, 4, 5}


def test_passages_of_one_document_have_no_intruders() -> None:
    assert with_intruders(by_coherence(text(*HARBOUR), CONFIG), CONFIG) is None


def test_passages_never_fall_back_to_splits_within_a_document() -> None:
    candidates = by_coherence(numbered("quay", 200), CONFIG)
    splits = DocumentSplits(candidates, {"train": 0.5, "dev": 0.2, "test": 0.3}, CONFIG)
    assert len({splits.of(candidate) for candidate in candidates}) == 1
    assert splits.unit == "document"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("discourse")
    built(path)
    return path / "probing"


@pytest.fixture(scope="module")
def data(folder: Path) -> Built:
    return read_built(folder)


def test_a_line_is_split_class_and_a_column_a_sentence(folder: Path) -> None:
    texts = {" ".join(row["tokens"]) for row in corpus_rows()}
    path = folder / SENTEVAL_FOLDER / senteval_path("discourse_coherence")
    for line in path.read_text(encoding="utf-8").splitlines():
        split, _, *sentences = line.split("\t")
        assert split in {"tr", "va", "te"}
        assert len(sentences) == 6 and set(sentences) <= texts


def test_no_document_is_on_two_sides_intruders_neither(data: Built) -> None:
    train, dev, test = data.units_of("discourse_coherence")
    assert train and dev and test
    assert not train & dev and not train & test and not dev & test


def test_classes_are_equal(data: Built) -> None:
    for counts in data.summary["tasks"]["discourse_coherence"]["counts"].values():
        assert max(counts.values()) - min(counts.values()) <= 1  # as equal as the size allows


def test_one_document_is_too_few(tmp_path: Path) -> None:
    config = replace(CONFIG, held_out_fraction=1.0)
    corpus = write_rows(tmp_path / "corpus", corpus_rows(1, sentences=300))
    summary = build_probing(corpus, tmp_path / "probing", config)
    assert "one each for dev and test" in summary["absent"]["discourse_coherence"]


def test_passages_have_sentences_of_any_length(tmp_path: Path) -> None:
    """The limits on length are those of the tasks on single sentences alone."""
    rows = corpus_rows()
    corpus = write_rows(tmp_path / "corpus", rows)
    build_probing(corpus, tmp_path / "probing", replace(CONFIG, max_tokens=9))
    found = read_built(tmp_path / "probing")
    longest = {
        name: max(len(rows[row]["tokens"]) for part in parts.values() for row in part.all_rows)
        for name, parts in found.tasks.items()
    }
    assert longest.pop("discourse_coherence") > 9 >= max(longest.values())
