"""Several ranks where they could differ from one: dropout, few sentences, divergence, means."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from models.config.training_config import TrainingConfig
from models.corpus.sentence_block import SentenceBlock
from models.model.ranks import ALONE, Ranks, joined_ranks
from models.model.sentence_model import SentenceModel, build_model
from models.training.learner import Learner
from models.training.loop import TrainingDivergedError, TrainingLoop
from models.words.word_vectors import WordVectors
from tests.support.parsed_corpora import chain_heads, left_branching

SIZE = 3
LENGTHS = (2, 3, 1, 4, 2, 3, 5)
KINDS: dict[str, tuple[int, dict[str, Any]]] = {
    "dropout": (7, {"word_dropout": 0.4}),
    "dropout, trained words": (7, {"word_dropout": 0.4, "word_vectors": "trained"}),
    "trained weights": (7, {"word_weights": "trained", "unit_words": True}),
    "two sentences": (2, {"anchor": "zeroed"}),
    "two sentences, inner product": (
        2,
        {"anchor": "zeroed", "critic": "inner_product", "normalise": "none"},
    ),
    "two sentences, dropout": (2, {"anchor": "zeroed", "word_dropout": 0.4}),
    "generative": (7, {"objective": "generative", "views": ("SEQ",)}),
    "generative, bijective": (
        7,
        {"objective": "generative", "views": ("DEP",), "decoder": "bijective"},
    ),
    "discriminative": (7, {"objective": "discriminative", "views": ("SEQ", "LIN")}),
    "generative, dropout, two sentences": (
        2,
        {"objective": "generative", "views": ("SEQ",), "word_dropout": 0.4},
    ),
    "both, two sentences": (2, {"objective": "both", "views": ("SEQ", "LIN")}),
}
APART: dict[str, int] = {"7 apart": 7, "2 apart": 2}


def make_block(num_sentences: int) -> SentenceBlock:
    lengths = LENGTHS[:num_sentences]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    trees = [left_branching(length) for length in lengths]
    return SentenceBlock(
        token_ids=np.random.default_rng(1).integers(0, 9, offsets[-1]).astype(np.int32),
        offsets=offsets,
        documents=np.zeros(num_sentences, dtype=np.int32),
        sentence_index=np.arange(num_sentences, dtype=np.int32),
        rows=np.arange(num_sentences),
        heads=np.concatenate([chain_heads(n) for n in lengths]).astype(np.int16),
        binary_left=np.concatenate([left for left, _ in trees]).astype(np.int16),
        binary_right=np.concatenate([right for _, right in trees]).astype(np.int16),
    )


def make_model(**changes: Any) -> SentenceModel:
    rows = np.random.default_rng(2).normal(size=(8, 4)).astype(np.float32)
    vectors = WordVectors.from_rows([f"w{number}" for number in range(8)], rows)
    config = TrainingConfig(hidden_size=6, **changes)
    model = build_model(config, vectors, seed=3).double()
    model.set_word_counts(np.arange(9))
    return model


def measured(
    model: SentenceModel, num_sentences: int, ranks: Ranks, sentences_at_once: int | None = None
) -> dict[str, Any]:
    """Returns what a rank has after one step's gradients are reduced."""
    torch.manual_seed(7)
    batch = model.training_batch(make_block(num_sentences), ranks, sentences_at_once)
    values = Learner(model, ranks).measure(batch)
    gradients = {
        name: p.grad.to_dense() for name, p in model.named_parameters() if p.grad is not None
    }
    return {"values": values, "gradients": gradients, "buffers": running_means(model)}


def running_means(model: SentenceModel) -> dict[str, Tensor]:
    return {n: b.clone() for n, b in model.objective.named_buffers() if b.is_floating_point()}


def diverged(ranks: Ranks) -> str:
    """Returns the message of a loss that is no number; the first rank alone knows the path."""
    run: Any = SimpleNamespace(ranks=ranks, folder=None, config=TrainingConfig())
    if ranks.is_first:
        run.folder = SimpleNamespace(last_checkpoint=Path("step-3"))
    error = TrainingLoop._diverged(run, "loss of step 8", float("nan"))
    assert isinstance(error, TrainingDivergedError)
    return str(error)


def work(rank: int, folder: Path) -> None:
    """Runs as one of the processes; leaves what it found in a file."""
    torch.set_num_threads(1)
    meeting_place = f"file://{folder / 'meeting'}"
    device = torch.device("cpu")
    with joined_ranks(rank=rank, size=SIZE, device=device, init_method=meeting_place) as ranks:
        found: dict[str, Any] = {
            name: measured(make_model(**changes), num_sentences, ranks)
            for name, (num_sentences, changes) in KINDS.items()
        }
        for name, (num_sentences, changes) in KINDS.items():
            found[f"{name}, in pieces"] = measured(make_model(**changes), num_sentences, ranks, 1)
        for name, num_sentences in APART.items():
            model = make_model(gather_negatives=False, parts=SIZE)
            found[name] = measured(model, num_sentences, ranks)
        for name in ("generative", "discriminative"):
            num_sentences, changes = KINDS[name]
            model = make_model(gather_negatives=False, parts=SIZE, **changes)
            found[f"7 {name}"] = measured(model, num_sentences, ranks)
        both = make_model(
            gather_negatives=False, parts=SIZE, objective="both", views=("SEQ", "LIN")
        )
        found["both apart"] = measured(both, 2, ranks)
        found["diverged"] = diverged(ranks)
    torch.save(found, folder / f"{rank}.pt")
    os._exit(0)  # as `models.train` does: a thread of Gloo's may abort Python's own end


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("ranks")
    torch.multiprocessing.spawn(work, args=(folder,), nprocs=SIZE)
    return [torch.load(folder / f"{rank}.pt") for rank in range(SIZE)]


@pytest.mark.parametrize("how", ["", ", in pieces"])
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_ranks_learns_what_one_learns(
    found: list[dict[str, Any]], kind: str, how: str
) -> None:
    num_sentences, changes = KINDS[kind]
    expected = measured(make_model(**changes), num_sentences, ALONE)

    assert expected["values"]["gradient_norm"] > 0
    for rank in found:
        assert rank[kind + how]["values"] == pytest.approx(expected["values"], abs=1e-12)
        for name, gradient in expected["gradients"].items():
            torch.testing.assert_close(
                rank[kind + how]["gradients"][name], gradient, rtol=0, atol=1e-12, msg=name
            )


def test_parts_of_a_batch_without_sentences_or_context_add_nothing(
    found: list[dict[str, Any]],
) -> None:
    for rank in found:  # two sentences in three parts: none has context
        assert rank["2 apart"]["values"]["loss"] == 0
        assert rank["2 apart"]["values"]["gradient_norm"] == 0


def test_an_empty_part_logs_what_the_others_log(found: list[dict[str, Any]]) -> None:
    first = found[0]["both apart"]["values"]

    assert {"temperature", "generative_loss", "discriminative_loss"} <= first.keys()
    assert all(rank["both apart"]["values"] == first for rank in found)
    assert first["temperature"] == 1.0


@pytest.mark.parametrize("kind", ["7 generative", "7 discriminative"])
def test_results_of_parts_are_weighted_by_their_anchors(
    found: list[dict[str, Any]], kind: str
) -> None:
    num_sentences, changes = KINDS[kind.removeprefix("7 ")]
    losses, anchors = [], []
    for rank in range(SIZE):
        model = make_model(gather_negatives=False, parts=SIZE, **changes)
        torch.manual_seed(7)
        result = model(model.training_batch(make_block(num_sentences), Ranks(rank, SIZE)))
        losses.append(result.loss.item())
        anchors.append(result.num_anchors.item())

    expected = np.average(losses, weights=anchors)
    for rank_found in found:
        assert rank_found[kind]["values"]["loss"] == pytest.approx(expected, abs=1e-12)


def test_running_statistics_of_parts_are_averaged(found: list[dict[str, Any]]) -> None:
    own = []
    for rank in range(SIZE):
        model = make_model(gather_negatives=False, parts=SIZE)
        model(model.training_batch(make_block(7), Ranks(rank, SIZE)))
        own.append(running_means(model))

    for rank in found:
        for name, value in rank["7 apart"]["buffers"].items():
            mean = torch.stack([buffers[name] for buffers in own]).mean(0)
            torch.testing.assert_close(value, mean, rtol=0, atol=1e-12)


def test_all_ranks_name_the_checkpoint_that_the_first_one_knows(
    found: list[dict[str, Any]],
) -> None:
    assert "the last good checkpoint is step-3. Lower" in found[0]["diverged"]
    assert len({rank["diverged"] for rank in found}) == 1
