"""Which pairs are swapped, and the dataset of swapped sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.corpus.held_out import HoldOut
from models.evaluation.probing.shift_rule import is_chosen, shift, shift_positions
from models.evaluation.probing.shifts import NOT_SELECTED, make_shifted_sentences
from pipeline.shards import DatasetManifest, read_shard
from tests.probing_examples import CONFIG, corpus_rows, write_rows


def not_selected(manifest: DatasetManifest) -> dict[str, int]:
    counts: dict[str, int] = manifest.shards[0].extra[NOT_SELECTED]
    return counts


def test_the_first_word_punctuation_and_equal_words_stay_in_place() -> None:
    assert shift_positions(["The", "old", "Old", "cat", ",", "it", "slept", "."]) == [2, 5]


def test_shift_swaps_exactly_one_adjacent_pair_and_repeats_itself() -> None:
    tokens = ["one", "two", "three", "four", "five", "six"]
    found = shift(tokens, seed=3)
    moved = [i for i in range(6) if found[i] != tokens[i]]
    assert len(moved) == 2 and moved[1] == moved[0] + 1
    assert sorted(found) == sorted(tokens)
    assert shift(tokens, seed=3) == found


def test_shift_refuses_a_sentence_without_a_pair() -> None:
    with pytest.raises(ValueError, match="no adjacent words to swap in 'Stop !'"):
        shift(["Stop", "!"], seed=0)


def test_about_half_of_the_texts_are_chosen_whatever_their_case() -> None:
    texts = [["word", str(i)] for i in range(1000)]
    assert 440 < sum(is_chosen(text, 0) for text in texts) < 560
    assert is_chosen(["A", "b"], 0) == is_chosen(["a", "B"], 0)


def test_shifted_sentences_come_from_held_out_documents_and_differ_by_one_swap(
    tmp_path: Path,
) -> None:
    rows = corpus_rows()
    corpus = write_rows(tmp_path / "corpus", rows)
    manifest = make_shifted_sentences(corpus.sentences, tmp_path / "shifted", CONFIG)
    originals = {(r["document_id"], r["sentence_index"]): r["tokens"] for r in rows}
    shifted = read_shard(tmp_path / "shifted", "sentences", 0).to_pylist()
    num_held_out = sum(HoldOut(0.5).takes(r["document_id"]) for r in rows)
    assert manifest.rows == len(shifted)
    assert manifest.drops == {}
    assert manifest.rows + sum(not_selected(manifest).values()) == num_held_out
    for row in shifted:
        original = originals[row["document_id"], row["sentence_index"]]
        assert HoldOut(0.5).takes(row["document_id"])
        assert tuple(row["tokens"]) == shift(original, CONFIG.seed)


def test_writing_twice_gives_identical_shards(tmp_path: Path) -> None:
    corpus = write_rows(tmp_path / "corpus", corpus_rows(10))
    first = make_shifted_sentences(corpus.sentences, tmp_path / "a", CONFIG)
    second = make_shifted_sentences(corpus.sentences, tmp_path / "b", CONFIG)
    assert [s.sha256 for s in first.shards] == [s.sha256 for s in second.shards]


def test_duplicate_texts_are_written_once(tmp_path: Path) -> None:
    rows = corpus_rows(8)
    again = [{**row, "document_id": row["document_id"]} for row in rows]
    for row in again:
        row["sentence_index"] += 1000
    once = make_shifted_sentences(
        write_rows(tmp_path / "once", rows).sentences, tmp_path / "a", CONFIG
    )
    twice = make_shifted_sentences(
        write_rows(tmp_path / "twice", rows + again).sentences, tmp_path / "b", CONFIG
    )
    assert twice.rows == once.rows
    before = not_selected(once).get("duplicate_text", 0)
    assert not_selected(twice)["duplicate_text"] == once.rows + 2 * before


def test_a_corpus_without_held_out_sentences_is_refused_with_a_remedy(tmp_path: Path) -> None:
    rows = [r for r in corpus_rows(6) if not HoldOut(0.5).takes(r["document_id"])]
    corpus = write_rows(tmp_path / "corpus", rows)
    with pytest.raises(
        ValueError, match=r"none of 0 held-out sentences can .*--held-out-unit block"
    ):
        make_shifted_sentences(corpus.sentences, tmp_path / "out", CONFIG)
