"""Several gloo processes train what one trains: the same gradients and weights, in float64."""

from __future__ import annotations

import itertools
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.support.parsed_corpora import block_of
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.model.ranks import ALONE, Ranks, gather_rows, join_ranks
from treeviews.models.model.sentence_model import SentenceModel, build_model
from treeviews.models.training.learner import Learner
from treeviews.models.words.word_vectors import WordVectors

SIZE = 3
CLIP = 1e-3
LENGTHS = (1, 1, 1, 4, 2, 5, 3)
"""The first part's one-word sentences use no weight of CONST's inner nodes."""
KINDS: dict[str, tuple[int, dict[str, Any]]] = {
    "plain": (7, {"normalise": "none", "symmetric": False}),
    "l2, each": (7, {"normalise": "l2", "targets": "each"}),
    "inner product": (7, {"critic": "inner_product", "anchor": "zeroed", "normalise": "none"}),
    "trained words": (
        7,
        {"word_vectors": "trained", "trained_word_size": 4, "embeddings": "separate"},
    ),
    "dropout, trained words": (7, {"word_dropout": 0.4, "word_vectors": "trained"}),
    "two sentences, dropout": (2, {"anchor": "zeroed", "word_dropout": 0.4}),
    "generative, bijective": (
        7,
        {"objective": "generative", "views": ("DEP",), "decoder": "bijective"},
    ),
    "generative, dropout, two sentences": (
        2,
        {"objective": "generative", "views": ("SEQ",), "word_dropout": 0.4},
    ),
    "both, two sentences": (2, {"objective": "both", "views": ("SEQ", "LIN")}),
}


def make_block(num_sentences: int) -> SentenceBlock:
    lengths = LENGTHS[-num_sentences:]
    return block_of(lengths, np.random.default_rng(1).integers(0, 9, sum(lengths)))


def make_model(**changes: Any) -> SentenceModel:
    rows = np.random.default_rng(2).normal(size=(8, 4)).astype(np.float32)
    vectors = WordVectors.from_rows([f"w{number}" for number in range(8)], rows)
    config = TrainingConfig(hidden_size=6, **changes)
    model = build_model(config, vectors, seed=3).double()
    model.objective.set_word_counts(torch.arange(9))
    return model


def gradients(model: SentenceModel) -> dict[str, Tensor]:
    return {
        name: p.grad.to_dense().clone()
        for name, p in model.named_parameters()
        if p.grad is not None
    }


def measured(
    model: SentenceModel, num_sentences: int, ranks: Ranks, sentences_at_once: int | None = None
) -> dict[str, Any]:
    """Returns what a rank has after one step's gradients are reduced."""
    torch.manual_seed(7)
    batch = model.training_batch(make_block(num_sentences), ranks, sentences_at_once)
    return {"values": Learner(model, ranks).measure(batch), "gradients": gradients(model)}


def learnt(ranks: Ranks) -> dict[str, Any]:
    """Returns what a learner measures and leaves after two steps, both of them clipped."""
    model = make_model(gradient_clip=CLIP)
    learner = Learner(model, ranks)
    steps = []
    for _ in range(2):
        steps.append(learner.measure(model.training_batch(make_block(7), ranks)))
        learner.apply(0.01, steps[-1]["gradient_norm"])
    return {"steps": steps, "clipped": gradients(model), "weights": dict(model.named_parameters())}


def gathered_and_gradient(ranks: Ranks, num_rows: int) -> tuple[Tensor, Tensor]:
    """Returns gathered rows 0, 1, … and the gradient of their squares' sum for one's own."""
    start, stop = ranks.part(num_rows)
    rows = torch.arange(float(num_rows))[start:stop, None].requires_grad_()
    gathered = gather_rows(rows, ranks, num_rows)
    gathered.square().sum().backward()
    assert rows.grad is not None
    return gathered.detach(), rows.grad


def work(rank: int, folder: Path) -> None:
    """Runs as one of the processes; leaves what it found in a file."""
    torch.set_num_threads(1)
    meeting_place = f"file://{folder / 'meeting'}"
    device = torch.device("cpu")
    with join_ranks(rank=rank, size=SIZE, device=device, init_method=meeting_place) as ranks:
        found: dict[str, Any] = {
            name + how: measured(make_model(**changes), num_sentences, ranks, sentences_at_once)
            for name, (num_sentences, changes) in KINDS.items()
            for how, sentences_at_once in (("", None), (", in pieces", 1))
        }
        for num_rows in (1, 7):
            found[f"{num_rows} rows"] = gathered_and_gradient(ranks, num_rows)
        found["learnt"] = learnt(ranks)
        found["agreed"] = ranks.agreed(f"of rank {rank}")
        found["of the first"] = ranks.of_first(torch.tensor([rank, math.nan if rank else 7.0]))
    torch.save(found, folder / f"{rank}.pt")
    os._exit(0)  # as `models.train` does: a thread of Gloo's may abort Python's own end


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("ranks")
    torch.multiprocessing.spawn(work, args=(folder,), nprocs=SIZE)
    return [torch.load(folder / f"{rank}.pt") for rank in range(SIZE)]


def assert_equal(found: dict[str, Any], expected: dict[str, Any], *, atol: float = 1e-12) -> None:
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=atol, msg=name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["", ", in pieces"])
def test_any_number_of_ranks_learns_what_one_learns(
    found: list[dict[str, Any]], kind: str, how: str
) -> None:
    num_sentences, changes = KINDS[kind]
    expected = measured(make_model(**changes), num_sentences, ALONE)

    assert expected["values"]["gradient_norm"] > 0
    for rank in found:
        assert rank[kind + how]["values"] == pytest.approx(expected["values"], abs=1e-12)
        assert_equal(rank[kind + how]["gradients"], expected["gradients"])


def test_clipped_steps_move_the_weights_of_all_ranks_alike(found: list[dict[str, Any]]) -> None:
    expected = learnt(ALONE)
    norm = torch.nn.utils.get_total_norm(list(expected["clipped"].values()))

    assert all(step["gradient_norm"] > 10 * CLIP for step in expected["steps"])
    assert norm.item() == pytest.approx(CLIP, rel=1e-4)
    for rank in (one["learnt"] for one in found):
        for step, alone in zip(rank["steps"], expected["steps"], strict=True):
            assert step == pytest.approx(alone, abs=1e-12)
        assert_equal(rank["clipped"], expected["clipped"])
        # Adam divides by the gradient's size: noise about zero counts as much as a gradient.
        assert_equal(rank["weights"], expected["weights"], atol=1e-9)


@pytest.mark.parametrize("num_rows", [1, 7])
def test_every_rank_gathers_all_rows_and_keeps_the_gradient_of_its_own(
    found: list[dict[str, Any]], num_rows: int
) -> None:
    rows = torch.arange(float(num_rows))[:, None]

    for rank, one in enumerate(found):
        gathered, gradient = one[f"{num_rows} rows"]
        start, stop = Ranks(rank, SIZE).part(num_rows)
        assert torch.equal(gathered, rows)
        assert torch.equal(gradient, 2 * rows[start:stop])


def test_ranks_agree_on_what_the_first_says(found: list[dict[str, Any]]) -> None:
    assert {rank["agreed"] for rank in found} == {"of rank 0"}
    assert all(rank["of the first"].tolist() == [0, 7] for rank in found)


@pytest.mark.parametrize("num_sentences", [0, 1, 2, 7, 400])
@pytest.mark.parametrize("size", [1, 3, 8])
def test_parts_cover_a_batch_evenly_and_in_order(size: int, num_sentences: int) -> None:
    parts = [Ranks(rank, size).part(num_sentences) for rank in range(size)]
    lengths = [stop - start for start, stop in parts]

    assert (parts[0][0], parts[-1][1]) == (0, num_sentences)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(parts))
    assert max(lengths) - min(lengths) <= 1
