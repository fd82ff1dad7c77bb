"""A batch encoded in pieces gives the gradients of a batch encoded at once, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.support.parsed_corpora import block_of
from treeviews.models.config.training_presets import PRESETS, preset
from treeviews.models.config.views import VIEWS
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.model.ranks import ALONE
from treeviews.models.model.sentence_model import SentenceModel, build_model
from treeviews.models.training.learner import Learner
from treeviews.models.words.word_vectors import WordVectors

LENGTHS = (2, 1, 1, 4, 2, 5, 3, 1)
"""The second and third piece of one sentence use no weights of a tree's inner nodes."""
NUM_WORDS = 9
SMALL = {"hidden_size": 6, "batch_size": len(LENGTHS)}

KINDS: dict[str, dict[str, Any]] = {
    **{name: {"preset": name} for name in PRESETS},
    "trained words, one table a view": {"preset": "quickthoughts", "word_vectors": "trained"},
    "dropout": {"preset": "laptop", "word_dropout": 0.4},
    "dropout before draws of noise": {"preset": "B-GD", "word_dropout": 0.4},
    "lstm": {"preset": "quickthoughts", "seq_cell": "lstm"},
    "attentive": {"preset": "laptop", "dep_cell": "attentive"},
}


def make_block() -> SentenceBlock:
    token_ids = np.random.default_rng(1).integers(1, NUM_WORDS, sum(LENGTHS))
    token_ids[0] = 0  # an unknown word
    return block_of(LENGTHS, token_ids, [0, 0, 0, 0, 0, 1, 1, 1])


def make_model(kind: dict[str, Any]) -> SentenceModel:
    changes = {name: value for name, value in kind.items() if name != "preset"}
    config = preset(kind["preset"], **SMALL, **changes)
    rows = np.random.default_rng(2).normal(size=(NUM_WORDS - 1, 4)).astype(np.float32)
    vectors = WordVectors.from_rows([f"w{number}" for number in range(NUM_WORDS - 1)], rows)
    model = build_model(config, vectors, seed=3).double()
    model.set_word_counts(np.arange(NUM_WORDS))
    return model


def measured(kind: dict[str, Any], sentences_at_once: int | None) -> dict[str, Any]:
    model = make_model(kind)
    torch.manual_seed(7)
    batch = model.training_batch(make_block(), ALONE, sentences_at_once)
    values = Learner(model, ALONE).measure(batch)
    gradients = {n: p.grad.to_dense() for n, p in model.named_parameters() if p.grad is not None}
    buffers = {n: b for n, b in model.objective.named_buffers() if b.is_floating_point()}
    return {"values": values, **gradients, **buffers, "next draw": torch.rand(1)}


@pytest.mark.parametrize("sentences_at_once", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_pieces_learn_what_the_whole_learns(kind: str, sentences_at_once: int) -> None:
    expected = measured(KINDS[kind], None)

    found = measured(KINDS[kind], sentences_at_once)

    assert expected["values"]["gradient_norm"] > 0
    assert found.keys() == expected.keys()
    assert found.pop("values") == pytest.approx(expected.pop("values"), rel=1e-12, abs=1e-12)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=1e-12, msg=name)


@pytest.mark.parametrize("view", [view for view in VIEWS if view != "BOW"])
def test_a_held_out_batch_in_pieces_has_the_same_result(view: str) -> None:
    model = make_model({"preset": "laptop", "views": (view, "SEQ"), "word_dropout": 0.4}).eval()

    with torch.no_grad():
        whole, pieces = (model.result_of(make_block(), size) for size in (None, 3))

    torch.testing.assert_close(pieces.loss, whole.loss, rtol=0, atol=1e-12)
    assert pieces.accuracy == whole.accuracy


def test_no_graph_outlives_the_encoding_of_pieces() -> None:
    model = make_model(KINDS["laptop"])
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
