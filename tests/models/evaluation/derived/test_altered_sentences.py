"""The dataset of altered sentences, and the plan beside it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from models.config.held_out import HoldOut
from models.evaluation.derived.build import ParsedFolders
from models.evaluation.derived.held_out.altered_sentences import (
    KINDS,
    NOT_SELECTED,
    PLAN_NAME,
    Plan,
    make_altered_sentences,
    read_plan,
)
from models.evaluation.derived.held_out.shift_and_inversion import is_chosen, shift
from pipeline.inspect.row_checks import DocumentOrder
from pipeline.shards.manifests import DatasetManifest
from pipeline.shards.shards import read_shard
from tests.support.probing_examples import CONFIG, corpus_rows, tokens_of, write_rows


def alter(corpus: ParsedFolders, out: Path) -> DatasetManifest:
    return make_altered_sentences(corpus.sentences, corpus.constituents, out, CONFIG)


def kinds_in(folder: Path) -> Counter[str]:
    return Counter(alteration.kind for alteration in read_plan(folder).alterations.values())


def not_selected(manifest: DatasetManifest, kind: str) -> dict[str, int]:
    counts: dict[str, int] = manifest.shards[0].extra[NOT_SELECTED]
    return {
        key.removeprefix(f"{kind}: "): number
        for key, number in counts.items()
        if key.startswith(f"{kind}: ")
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[DatasetManifest, Plan, Path]:
    folder = tmp_path_factory.mktemp("altered")
    manifest = alter(write_rows(folder / "corpus", corpus_rows()), folder / "altered")
    return manifest, read_plan(folder / "altered"), folder / "altered"


def test_about_half_of_the_texts_are_chosen_whatever_their_case() -> None:
    texts = [["word", str(i)] for i in range(1000)]
    assert 440 < sum(is_chosen(text, 0, "choose") for text in texts) < 560
    assert is_chosen(["A", "b"], 0, "choose") == is_chosen(["a", "B"], 0, "choose")


def test_kinds_choose_independently_of_one_another() -> None:
    texts = [["word", str(i)] for i in range(1000)]
    same = sum(is_chosen(text, 0, "one") == is_chosen(text, 0, "other") for text in texts)
    assert 440 < same < 560


@pytest.mark.parametrize("kind", KINDS)
def test_every_held_out_sentence_is_altered_or_counted_with_a_reason(
    kind: str, made: tuple[DatasetManifest, Plan, Path]
) -> None:
    manifest, plan, _ = made
    num_held_out = sum(HoldOut(0.5).takes(row["document_id"]) for row in corpus_rows())
    num_altered = sum(alteration.kind == kind for alteration in plan.alterations.values())
    reasons = not_selected(manifest, kind)
    assert num_altered > 0 and manifest.drops == {}
    assert num_altered + sum(reasons.values()) == num_held_out
    assert reasons["kept_intact"] == sum(kind in kinds for kinds in plan.intact_in.values())


def test_the_plan_numbers_the_altered_rows(made: tuple[DatasetManifest, Plan, Path]) -> None:
    manifest, plan, _ = made
    assert sorted(plan.alterations) == list(range(manifest.rows))


def test_documents_stay_whole_and_keep_their_order(
    made: tuple[DatasetManifest, Plan, Path],
) -> None:
    manifest, plan, folder = made
    rows, order, number = corpus_rows(), DocumentOrder(), 0
    for shard in manifest.shards:
        table = read_shard(folder, "sentences", shard.number)
        assert list(order.faults(table)) == []
        for row in table.to_pylist():
            alteration = plan.alterations[number]
            original = rows[alteration.corpus_row]
            assert row["document_id"] == f"{original['document_id']} ({alteration.kind})"
            assert row["sentence_index"] == original["sentence_index"]
            number += 1


def pairs_of(
    kind: str, made: tuple[DatasetManifest, Plan, Path]
) -> list[tuple[dict[str, Any], list[str]]]:
    """Returns the corpus row and the altered tokens of each altered sentence of a kind."""
    rows, altered = corpus_rows(), tokens_of(made[2])
    return [
        (rows[alteration.corpus_row], altered[number])
        for number, alteration in made[1].alterations.items()
        if alteration.kind == kind
    ]


def test_shifted_sentences_are_of_held_out_documents_and_differ_by_one_swap(
    made: tuple[DatasetManifest, Plan, Path],
) -> None:
    pairs = pairs_of("bigram_shift", made)
    assert pairs
    for original, tokens in pairs:
        assert HoldOut(0.5).takes(original["document_id"])
        assert tuple(tokens) == shift(original["tokens"], CONFIG.seed)


def test_inverted_sentences_hold_the_same_words_and_end_as_they_did(
    made: tuple[DatasetManifest, Plan, Path],
) -> None:
    pairs = pairs_of("coordination_inversion", made)
    assert pairs
    for original, tokens in pairs:
        assert sorted(tokens) == sorted(original["tokens"])
        assert tokens[:3] == original["tokens"][-4:-1] and tokens[-1] == "."


def test_replaced_words_are_exchanged(made: tuple[DatasetManifest, Plan, Path]) -> None:
    """So no single word says whether a sentence was altered."""
    pairs = pairs_of("odd_word_out", made)
    before = Counter(word for original, _ in pairs for word in original["tokens"])
    after = Counter(word for _, tokens in pairs for word in tokens)
    assert before == after and pairs
    for original, tokens in pairs:
        assert sum(a != b for a, b in zip(original["tokens"], tokens, strict=True)) == 1


def test_writing_twice_gives_identical_files(tmp_path: Path) -> None:
    corpus = write_rows(tmp_path / "corpus", corpus_rows(10))
    first, second = alter(corpus, tmp_path / "a"), alter(corpus, tmp_path / "b")
    assert [s.sha256 for s in first.shards] == [s.sha256 for s in second.shards]
    assert (tmp_path / "a" / PLAN_NAME).read_bytes() == (tmp_path / "b" / PLAN_NAME).read_bytes()


def test_duplicate_texts_are_altered_once(tmp_path: Path) -> None:
    rows = corpus_rows(8)
    again = [{**row, "sentence_index": row["sentence_index"] + 1000} for row in rows]
    once = alter(write_rows(tmp_path / "once", rows), tmp_path / "a")
    twice = alter(write_rows(tmp_path / "twice", rows + again), tmp_path / "b")
    kinds_once, kinds_twice = (kinds_in(tmp_path / name) for name in ("a", "b"))
    for kind in ("bigram_shift", "coordination_inversion"):
        assert kinds_twice[kind] == kinds_once[kind]
        before = not_selected(once, kind).get("duplicate_text", 0)
        found = not_selected(twice, kind)["duplicate_text"]
        assert found == kinds_once[kind] + 2 * before


def test_sentences_without_constituents_are_shifted_alone(tmp_path: Path) -> None:
    rows = corpus_rows(8)
    columns = ("span_starts", "span_ends", "span_labels", "tags", "binary_left", "binary_right")
    corpus = write_rows(tmp_path / "corpus", [{**r, **dict.fromkeys(columns)} for r in rows])
    manifest = alter(corpus, tmp_path / "altered")
    assert set(kinds_in(tmp_path / "altered")) == {"bigram_shift"}
    assert not_selected(manifest, "odd_word_out")["no_parse"] > 0


def test_a_corpus_without_held_out_sentences_is_refused_with_a_remedy(tmp_path: Path) -> None:
    rows = [r for r in corpus_rows(6) if not HoldOut(0.5).takes(r["document_id"])]
    corpus = write_rows(tmp_path / "corpus", rows)
    with pytest.raises(
        ValueError, match=r"none of 0 held-out sentences can .*--held-out-unit block"
    ):
        alter(corpus, tmp_path / "out")


def test_sentences_without_a_plan_are_no_altered_ones(tmp_path: Path) -> None:
    corpus = write_rows(tmp_path / "corpus", corpus_rows(2))
    with pytest.raises(FileNotFoundError, match=r"no alterations\.parquet.*alter them again"):
        read_plan(corpus.sentences)
