"""Labelled passages, from texts written here and from a corpus made by a grammar."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from models.evaluation.derived.build import build_probing
from models.evaluation.derived.classes import Candidate
from models.evaluation.derived.declarations import DISCOURSE_TASKS, of_family
from models.evaluation.derived.export import SENTEVAL_FOLDER, senteval_path
from models.evaluation.derived.held_out.config import ProbingConfig
from models.evaluation.derived.held_out.held_out_rows import ParsedSentence
from models.evaluation.derived.passages import (
    by_coherence,
    by_order,
    by_position,
    by_section,
    passages,
    with_intruders,
)
from models.evaluation.derived.splits import DocumentSplits
from tests.support.probing_examples import (
    CONFIG,
    Built,
    altered_corpus,
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


def places(candidate: Candidate) -> list[int]:
    return [one.sentence_index for one in candidate.sentences]


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


def test_the_label_is_the_place_that_the_first_sentence_was_moved_from() -> None:
    found = [c for seed in range(30) for c in by_position(text(*HARBOUR), ProbingConfig(seed=seed))]
    assert {candidate.label for candidate in found} == set("12345")
    for candidate in found:
        first, *others = places(candidate)
        assert others == sorted(others)
        whole = sorted([first, *others])
        assert whole == list(range(whole[0], whole[0] + 5))
        assert candidate.label == str(whole.index(first) + 1)


def test_a_pair_is_in_the_order_of_its_label_and_appears_once() -> None:
    found = [c for seed in range(4) for c in by_order(text(*HARBOUR), ProbingConfig(seed=seed))]
    assert len(found) == 4 * (len(HARBOUR) - 1)
    assert {candidate.label for candidate in found} == {"ordered", "swapped"}
    for candidate in found:
        first, second = places(candidate)
        assert second - first == (1 if candidate.label == "ordered" else -1)


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


def test_each_document_has_as_many_opening_sentences_as_later_ones() -> None:
    sentences = [*numbered("quay", 40), *numbered("mill", 18, 100), *numbered("farm", 12, 200)]
    found = by_section(sentences, ProbingConfig())
    counts = Counter((one.sentence.document_id, one.label) for one in found)
    assert counts == {
        ("quay", "opening"): 5, ("quay", "later"): 5, ("mill", "opening"): 3, ("mill", "later"): 3,
    }  # fmt: skip
    for candidate in found:
        place = candidate.sentence.sentence_index
        assert place < 5 if candidate.label == "opening" else place >= 15


def test_passages_never_fall_back_to_splits_within_a_document() -> None:
    candidates = by_order(numbered("quay", 200), CONFIG)
    splits = DocumentSplits(candidates, {"train": 0.5, "dev": 0.2, "test": 0.3}, CONFIG)
    assert len({splits.of(candidate) for candidate in candidates}) == 1
    assert splits.unit == "document"
    assert {task.split_by for task in DISCOURSE_TASKS} == {"whole_document"}


def test_published_facts_of_the_tasks_are_pinned() -> None:
    """DiscoEval (Chen et al. 2019), section 3."""
    assert {task.name: task.published_chance for task in DISCOURSE_TASKS} == {
        "sentence_position": 20.0, "binary_sentence_ordering": 50.0, "discourse_coherence": 50.0,
        "sentence_section": 50.0,
    }  # fmt: skip
    assert all(task.balance == "equal" and task.differs for task in DISCOURSE_TASKS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("discourse")
    built(path)
    return path / "probing"


@pytest.fixture(scope="module")
def data(folder: Path) -> Built:
    return read_built(folder, len(corpus_rows()))


def test_a_line_is_split_class_and_a_column_a_sentence(folder: Path) -> None:
    texts = {" ".join(row["tokens"]) for row in corpus_rows()}
    for name, number in (("sentence_position", 5), ("discourse_coherence", 6)):
        path = folder / SENTEVAL_FOLDER / senteval_path(name)
        for line in path.read_text(encoding="utf-8").splitlines():
            split, _, *sentences = line.split("\t")
            assert split in {"tr", "va", "te"}
            assert len(sentences) == number and set(sentences) <= texts


def test_no_document_is_on_two_sides_intruders_neither(data: Built) -> None:
    for name in of_family(data.tasks, "discourse"):
        train, dev, test = data.units_of(name)
        assert train and dev and test
        assert not train & dev and not train & test and not dev & test


def test_classes_are_equal_and_what_is_left_out_is_counted(data: Built) -> None:
    num_usable = data.summary["num_usable"]["discourse"]
    for name in of_family(data.tasks, "discourse"):
        task = data.summary["tasks"][name]
        for counts in task["counts"].values():  # as equal as the size of the split allows
            assert max(counts.values()) - min(counts.values()) <= 1
        assert num_usable == sum(task["sizes"].values()) + sum(task["left_out"].values())
    sizes = {name: data.summary["tasks"][name]["sizes"]["train"] for name in data.tasks}
    assert sizes["sentence_position"] <= 0.5 * CONFIG.train_size < sizes["discourse_coherence"]


def test_one_document_is_too_few_for_any_task_on_discourse(tmp_path: Path) -> None:
    config = replace(CONFIG, held_out_fraction=1.0)
    rows = corpus_rows(1, sentences=300)
    corpus = write_rows(tmp_path / "corpus", rows)
    altered = altered_corpus(tmp_path / "altered", corpus, rows, config)
    summary = build_probing(corpus, altered, tmp_path / "probing", config)
    assert set(summary["absent"]) >= {task.name for task in DISCOURSE_TASKS}
    assert "one each for dev and test" in summary["absent"]["discourse_coherence"]


@pytest.mark.slow
def test_a_sentence_of_each_text_is_used_once_and_long_ones_too(tmp_path: Path) -> None:
    """The limits on length are those of the probing tasks alone."""
    rows = corpus_rows()
    corpus = write_rows(tmp_path / "corpus", rows)
    altered = altered_corpus(tmp_path / "altered", corpus, rows)
    config = replace(CONFIG, max_tokens=9)
    summary = build_probing(corpus, altered, tmp_path / "probing", config)
    lengths: defaultdict[str, list[int]] = defaultdict(list)
    found = read_built(tmp_path / "probing", len(rows))
    for family in ("probing", "discourse"):
        for name in of_family(found.tasks, family):
            lengths[family] += _lengths(rows, found, name)
    assert max(lengths["probing"]) <= 9 < max(lengths["discourse"])
    assert "outside_length_limits" not in summary["excluded"]["discourse"]


def _lengths(rows: Sequence[dict[str, list[str]]], found: Built, name: str) -> list[int]:
    parts = found.tasks[name].values()
    used = {row for part in parts for row in part.all_rows if row < len(rows)}
    return [len(rows[row]["tokens"]) for row in used]
