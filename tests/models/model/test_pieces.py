"""A batch encoded in pieces gives the gradients of a batch encoded at once, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.support.parsed_corpora import block_of
from treeviews.models.config.training_presets import preset
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.model.ranks import ALONE
from treeviews.models.model.sentence_model import SentenceModel, build_model
from treeviews.models.training.learner import Learner
from treeviews.models.words.word_vectors import WordVectors

LENGTHS = (2, 1, 1, 4, 2, 5, 3, 1)
"""The second and third piece of one sentence use no weights of a tree's inner nodes."""
NUM_WORDS = 9
KINDS: dict[str, dict[str, Any]] = {
    "trees": {"name": "structured-views"},
    "trained words, one table a view": {"name": "quickthoughts", "word_vectors": "trained"},
    "dropout": {"name": "laptop", "word_dropout": 0.4},
    "dropout before draws of noise": {"name": "B-GD", "word_dropout": 0.4},
    "attentive": {"name": "laptop", "dep_cell": "attentive"},
}


def make_block() -> SentenceBlock:
    token_ids = np.random.default_rng(1).integers(1, NUM_WORDS, sum(LENGTHS))
    token_ids[0] = 0  # an unknown word
    return block_of(LENGTHS, token_ids, [0, 0, 0, 0, 0, 1, 1, 1])


def make_model(kind: str) -> SentenceModel:
    changes = {"hidden_size": 6, "batch_size": len(LENGTHS), **KINDS[kind]}
    config = preset(changes.pop("name"), **changes)
    rows = np.random.default_rng(2).normal(size=(NUM_WORDS - 1, 4)).astype(np.float32)
    vectors = WordVectors.from_rows([f"w{number}" for number in range(NUM_WORDS - 1)], rows)
    model = build_model(config, vectors, seed=3).double()
    model.objective.set_word_counts(torch.arange(NUM_WORDS))
    return model


def measured(kind: str, sentences_at_once: int | None) -> dict[str, Any]:
    model = make_model(kind)
    torch.manual_seed(7)
    batch = model.training_batch(make_block(), ALONE, sentences_at_once)
    values = Learner(model, ALONE).measure(batch)
    gradients = {n: p.grad.to_dense() for n, p in model.named_parameters() if p.grad is not None}
    return {"values": values, **gradients, "next draw": torch.rand(1)}


@pytest.mark.parametrize("sentences_at_once", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_pieces_learn_what_the_whole_learns(kind: str, sentences_at_once: int) -> None:
    expected = measured(kind, None)

    found = measured(kind, sentences_at_once)

    assert expected["values"]["gradient_norm"] > 0
    assert found.keys() == expected.keys()
    assert found.pop("values") == pytest.approx(expected.pop("values"), rel=1e-12, abs=1e-12)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=1e-12, msg=name)


def test_no_graph_outlives_the_encoding_of_pieces() -> None:
    model = make_model("trees")
    saved: list[int] = []

    def count(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor.numel())
        return tensor

    counts = []
    for sentences_at_once in (None, 1):
        saved.clear()
        with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
            model.views(model.training_batch(make_block(), ALONE, sentences_at_once))
        counts.append(sum(saved))
    assert counts[1] <= len(LENGTHS) < counts[0]  # no more than a number a piece
