"""Which documents, or blocks of sentences, are held out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.probing_examples import corpus_rows, write_rows
from treeviews.models.config.held_out import HoldOut
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus, Part
from treeviews.models.evaluation.probing_sentences import ProbingConfig, read_held_out
from treeviews.models.words.word_vectors import WordVectors

BLOCKS = HoldOut(fraction=0.4, unit="block", block_sentences=5)


def mask_of(hold_out: HoldOut, documents: list[str], sentence_index: list[int]) -> list[bool]:
    columns = pa.array(documents, pa.string()), pa.array(sentence_index, pa.int32())
    table = pa.table(columns, names=["document_id", "sentence_index"])
    taken: list[bool] = hold_out.mask(table).tolist()
    return taken


def test_a_document_is_held_out_by_its_name_fraction_and_seed_alone() -> None:
    names = [f"document-{number}" for number in range(4000)]
    chosen = [HoldOut(fraction=0.3, seed=0).takes(name) for name in names]

    assert np.mean(chosen) == pytest.approx(0.3, abs=0.03)
    assert chosen != [HoldOut(fraction=0.3, seed=1).takes(name) for name in names]
    assert all(HoldOut(fraction=0.5).takes(n) for n, c in zip(names, chosen, strict=True) if c)
    assert not any(HoldOut(fraction=0.0).takes(name) for name in names)
    assert all(HoldOut(fraction=1.0).takes(name) for name in names)
    documents = [name for name in names[:100] for _ in range(3)]
    taken = mask_of(HoldOut(fraction=0.3), documents, list(range(3)) * 100)
    assert taken == [HoldOut(fraction=0.3).takes(name) for name in documents]


def test_a_block_is_taken_whole_and_by_its_place_and_document() -> None:
    taken = mask_of(BLOCKS, ["only"] * 1000, list(range(1000)))
    for start in range(0, 1000, 5):
        assert len(set(taken[start : start + 5])) == 1
    assert np.mean(taken) == pytest.approx(0.4, abs=0.08)
    assert mask_of(BLOCKS, ["only"] * 500, list(range(999, 499, -1))) == taken[999:499:-1]
    assert mask_of(BLOCKS, ["other"] * 1000, list(range(1000))) != taken
    assert mask_of(BLOCKS, [], []) == []


def test_training_and_probing_agree_on_the_blocks(tmp_path: Path) -> None:
    corpus = write_rows(tmp_path, corpus_rows(2, sentences=400))
    held_out: dict[str, Any] = {
        f"held_out_{name}": value for name, value in BLOCKS.values().items()
    }
    probing, config = ProbingConfig(**held_out), TrainingConfig(**held_out)
    probed = {sentence.dataset_row for sentence in read_held_out(corpus, probing)[0]}
    vectors = WordVectors.from_rows(["the"], np.ones((1, 2), dtype=np.float32))
    folders = CorpusFolders(sentences=corpus["sentences"])
    rows = {}
    parts: tuple[Part, ...] = ("train", "held_out")
    for part in parts:
        blocks = ParsedCorpus(folders, vectors, views=("SEQ",), config=config, part=part).blocks()
        rows[part] = {int(row) for block in blocks for row in block.rows}
    assert probed == rows["held_out"]
    assert rows["train"] and probed.isdisjoint(rows["train"])
