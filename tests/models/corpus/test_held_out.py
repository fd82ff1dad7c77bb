"""Which documents, or blocks of sentences, are held out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.config.held_out import HoldOut
from models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus, Selection
from models.evaluation.probing_sentences import ProbingConfig, read_held_out
from models.words.word_vectors import WordVectors
from tests.support.parsed_corpora import stories, write_corpus
from tests.support.probing_examples import corpus_rows, write_rows

BLOCKS = HoldOut(fraction=0.4, unit="block", block_sentences=5)


def mask_of(hold_out: HoldOut, documents: list[str], sentence_index: list[int]) -> list[bool]:
    distinct = sorted(set(documents))
    of_row = np.array([distinct.index(name) for name in documents], dtype=np.int32)
    taken: list[bool] = hold_out.mask(distinct, of_row, np.array(sentence_index, np.int32)).tolist()
    return taken


def test_documents_are_taken_whole_by_their_names_alone() -> None:
    documents = [f"d{i // 3}" for i in range(300)]
    taken = mask_of(HoldOut(fraction=0.3), documents, list(range(3)) * 100)
    assert taken == [HoldOut(fraction=0.3).takes(name) for name in documents]


def test_a_block_is_taken_whole_and_by_its_place_alone() -> None:
    taken = mask_of(BLOCKS, ["only"] * 1000, list(range(1000)))
    for start in range(0, 1000, 5):
        assert len(set(taken[start : start + 5])) == 1
    assert np.mean(taken) == pytest.approx(0.4, abs=0.08)
    backwards = mask_of(BLOCKS, ["only"] * 500, list(range(999, 499, -1)))
    assert backwards == taken[999:499:-1]


def test_documents_differ_in_which_of_their_blocks_are_taken() -> None:
    index = list(range(200))
    assert mask_of(BLOCKS, ["a"] * 200, index) != mask_of(BLOCKS, ["b"] * 200, index)


def test_the_remedy_names_what_is_not_yet_done() -> None:
    assert "--held-out-unit block" in HoldOut().remedy
    assert "--held-out-unit" not in BLOCKS.remedy


def test_too_much_held_out_asks_for_less() -> None:
    for hold_out in (HoldOut(), BLOCKS):
        assert "lower --held-out-fraction" in hold_out.remedy_of_too_much
        assert "raise" not in hold_out.remedy_of_too_much
    assert "--held-out-unit block" in HoldOut().remedy_of_too_much


def test_no_row_gives_no_mask() -> None:
    assert mask_of(BLOCKS, [], []) == []


def test_one_document_gives_training_sentences_and_held_out_ones(tmp_path: Path) -> None:
    folders = write_corpus(tmp_path, stories(1, sentences=60), rows_per_shard=13)
    vectors = WordVectors.from_rows(["the"], np.ones((1, 2), dtype=np.float32))
    indices = {}
    for part in ("train", "held_out"):
        selection = Selection(part, BLOCKS)  # type: ignore[arg-type]
        blocks = ParsedCorpus(folders, vectors, views=("SEQ",), selection=selection).blocks()
        indices[part] = {int(i) for block in blocks for i in block.sentence_index}
    assert indices["train"] and indices["held_out"]
    assert indices["train"].isdisjoint(indices["held_out"])
    assert indices["train"] | indices["held_out"] == set(range(60))


def test_training_and_probing_agree_on_the_blocks(tmp_path: Path) -> None:
    corpus = write_rows(tmp_path, corpus_rows(2, sentences=400))
    config = ProbingConfig(held_out_fraction=0.4, held_out_unit="block", held_out_block_sentences=5)
    probed = {sentence.dataset_row for sentence in read_held_out(corpus, config)[0]}
    vectors = WordVectors.from_rows(["the"], np.ones((1, 2), dtype=np.float32))
    opened = {
        part: ParsedCorpus(
            CorpusFolders(sentences=corpus.sentences),
            vectors,
            views=("SEQ",),
            selection=Selection(part, config.hold_out),
        )
        for part in ("train", "held_out")
    }
    rows = {p: {int(r) for b in c.blocks() for r in b.rows} for p, c in opened.items()}
    assert probed == rows["held_out"]
    assert probed.isdisjoint(rows["train"])
