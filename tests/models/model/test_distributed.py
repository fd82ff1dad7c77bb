"""Several gloo processes against one with the joined batch: the same gradients, in float64."""

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

from models.config.training_config import TrainingConfig
from models.corpus.sentence_block import SentenceBlock
from models.model.ranks import (
    ALONE,
    Ranks,
    average_gradients,
    average_result,
    gather_rows,
    joined_ranks,
    reduce_joint_gradients,
)
from models.model.sentence_model import SentenceModel, build_model
from models.objectives.base import ObjectiveResult
from models.training.learner import Learner
from models.words.word_vectors import WordVectors
from tests.support.parsed_corpora import chain_heads, left_branching

CPU = torch.device("cpu")
WIDTH = 6
NUM_WORDS = 9
CLIP = 1e-3
LENGTHS = (1, 1, 1, 4, 2, 5, 3)
"""Cut in two, the first part is shorter, and its one-word sentences use no weight of CONST's."""

VARIANTS: dict[str, dict[str, Any]] = {
    "none": {"normalise": "none", "symmetric": False},
    "batch_norm": {"normalise": "batch_norm", "symmetric": True},
    "l2": {"normalise": "l2", "symmetric": True, "targets": "each"},
    "inner_product": {"critic": "inner_product", "anchor": "zeroed", "normalise": "none"},
    "trained_words": {"word_vectors": "trained", "trained_word_size": 4, "embeddings": "separate"},
}


def make_block() -> SentenceBlock:
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
    trees = [left_branching(length) for length in LENGTHS]
    return SentenceBlock(
        token_ids=np.random.default_rng(1).integers(0, NUM_WORDS, offsets[-1]).astype(np.int32),
        offsets=offsets,
        documents=np.array([0, 0, 0, 0, 0, 1, 1], dtype=np.int32),
        sentence_index=np.array([0, 1, 2, 3, 4, 0, 1], dtype=np.int32),
        rows=np.arange(len(LENGTHS)),
        heads=np.concatenate([chain_heads(n) for n in LENGTHS]).astype(np.int16),
        binary_left=np.concatenate([left for left, _ in trees]).astype(np.int16),
        binary_right=np.concatenate([right for _, right in trees]).astype(np.int16),
    )


def make_model(**changes: Any) -> SentenceModel:
    matrix = np.random.default_rng(2).normal(size=(NUM_WORDS, 4)).astype(np.float32)
    words = [f"w{number}" for number in range(NUM_WORDS - 1)]
    vectors = WordVectors.from_rows(words, matrix[1:])
    config = TrainingConfig(hidden_size=WIDTH, **changes)
    return build_model(config, vectors, seed=3).double()


def of_one_process(model: SentenceModel) -> dict[str, Any]:
    """Returns what one process computes of the whole batch."""
    block = make_block()
    result = model(model.training_batch(block))
    result.loss.backward()
    return measured(model, result)


def of_parts(model: SentenceModel, size: int) -> dict[str, Any]:
    """Returns the mean over all anchors of batches that each hold one part, in one process."""
    block = make_block()
    anchors, total = [], torch.zeros((), dtype=torch.float64)
    for rank in range(size):
        result = model(model.training_batch(block, Ranks(rank, size)))
        anchors.append(int(result.num_anchors))
        total = total + result.loss * anchors[-1]
    (total / sum(anchors)).backward()
    return {"loss": total.item() / sum(anchors), "anchors": sum(anchors), **gradients(model)}


def of_this_rank(model: SentenceModel, ranks: Ranks) -> dict[str, Any]:
    """Returns what one of several ranks has after they have reduced their gradients."""
    result = model(model.training_batch(make_block(), ranks), ranks)
    result.loss.backward()
    if model.config.gather_negatives:
        reduce_joint_gradients(model.encoder, model.objective, ranks)
    else:
        average_gradients(model, ranks, result.num_anchors)
        result = average_result(result, ranks)
    return measured(model, result)


def measured(model: SentenceModel, result: ObjectiveResult) -> dict[str, Any]:
    values = {"loss": result.loss.item(), "anchors": int(result.num_anchors)}
    return {**values, **gradients(model)}


def learnt(gather: bool, ranks: Ranks) -> dict[str, Any]:
    """Returns what a learner measures and leaves after two steps, both of them clipped."""
    parts = 1 if gather else ranks.size
    model = make_model(gather_negatives=gather, parts=parts, gradient_clip=CLIP)
    learner = Learner(model, ranks)
    steps = []
    for _ in range(2):
        steps.append(learner.measure(model.training_batch(make_block(), ranks)))
        learner.apply(0.01, steps[-1]["gradient_norm"])
    return {"steps": steps, "clipped": gradients(model), "weights": dict(model.named_parameters())}


def gradients(model: SentenceModel) -> dict[str, Tensor]:
    return {
        name: torch.zeros_like(p) if p.grad is None else p.grad.to_dense().clone()
        for name, p in model.named_parameters()
        if p.requires_grad
    }


def assert_equal(found: dict[str, Any], expected: dict[str, Any], *, atol: float = 1e-12) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=atol, msg=name)


def work(rank: int, size: int, folder: Path) -> None:
    """Runs as one of ``size`` processes; leaves what it found in a file."""
    torch.set_num_threads(1)
    found: dict[str, Any] = {}
    meeting_place = f"file://{folder / f'meeting-{size}'}"
    with joined_ranks(rank=rank, size=size, device=CPU, init_method=meeting_place) as ranks:
        for name, changes in VARIANTS.items():
            for gather in (True, False):
                parts = 1 if gather else size
                model = make_model(**changes, gather_negatives=gather, parts=parts)
                found[f"{name} {gather}"] = of_this_rank(model, ranks)
        for num_rows in (1, 7):
            found[f"{num_rows} rows"] = gathered_and_gradient(ranks, num_rows)
        found["learnt together"] = learnt(True, ranks)
        found["learnt apart"] = learnt(False, ranks)
        found["agreed"] = ranks.agreed(f"of rank {rank}")
        found["of the first"] = ranks.of_first(torch.tensor([rank, math.nan if rank else 7.0]))
    torch.save(found, folder / f"{size}-{rank}.pt")
    os._exit(0)  # as `models.train` does: a thread of Gloo's may abort Python's own end


def gathered_and_gradient(ranks: Ranks, num_rows: int) -> tuple[Tensor, Tensor]:
    """Returns gathered rows 0, 1, … and the gradient of their squares' sum for one's own."""
    start, stop = ranks.part(num_rows)
    rows = torch.arange(float(num_rows))[start:stop, None].requires_grad_()
    gathered = gather_rows(rows, ranks, num_rows)
    gathered.square().sum().backward()
    assert rows.grad is not None
    return gathered.detach(), rows.grad


@pytest.fixture(scope="module", params=[2, pytest.param(3, marks=pytest.mark.slow)])
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    """What each rank found, with as many ranks as the parameter says."""
    folder, size = tmp_path_factory.mktemp("ranks"), request.param
    torch.multiprocessing.spawn(work, args=(size, folder), nprocs=size)
    return [torch.load(folder / f"{size}-{rank}.pt") for rank in range(size)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_ranks_that_share_negatives_have_the_gradients_of_one_process(
    found: list[dict[str, Any]], variant: str
) -> None:
    expected = of_one_process(make_model(**VARIANTS[variant]))

    assert expected["anchors"] == len(LENGTHS)
    for rank in found:
        assert_equal(rank[f"{variant} True"], expected)


@pytest.mark.parametrize("variant", VARIANTS)
def test_ranks_with_negatives_of_their_own_have_the_mean_over_all_anchors(
    found: list[dict[str, Any]], variant: str
) -> None:
    model = make_model(**VARIANTS[variant], gather_negatives=False)
    expected = of_parts(model, size=len(found))

    for rank in found:
        assert_equal(rank[f"{variant} False"], expected)


@pytest.mark.parametrize("num_rows", [1, 7])
def test_every_rank_gathers_all_rows_and_keeps_the_gradient_of_its_own(
    found: list[dict[str, Any]], num_rows: int
) -> None:
    rows = torch.arange(float(num_rows))[:, None]

    for rank, one in enumerate(found):
        gathered, gradient = one[f"{num_rows} rows"]
        start, stop = Ranks(rank, len(found)).part(num_rows)
        assert torch.equal(gathered, rows)
        assert torch.equal(gradient, 2 * rows[start:stop])


def test_ranks_agree_on_what_the_first_says(found: list[dict[str, Any]]) -> None:
    assert {rank["agreed"] for rank in found} == {"of rank 0"}
    assert all(rank["of the first"].tolist() == [0, 7] for rank in found)


def test_ranks_that_share_negatives_learn_what_one_process_learns(
    found: list[dict[str, Any]],
) -> None:
    expected = learnt(True, ALONE)
    norm = torch.nn.utils.get_total_norm(list(expected["clipped"].values()))

    assert all(step["gradient_norm"] > 10 * CLIP for step in expected["steps"])
    assert norm.item() == pytest.approx(CLIP, rel=1e-4)
    for rank in (one["learnt together"] for one in found):
        for step, alone in zip(rank["steps"], expected["steps"], strict=True):
            assert step == pytest.approx(alone, abs=1e-12)
        assert_equal(rank["clipped"], expected["clipped"])
        # Adam divides by the gradient's size: noise about zero counts as much as a gradient.
        assert_equal(rank["weights"], expected["weights"], atol=1e-9)


def test_ranks_with_negatives_of_their_own_clip_the_mean_gradient_and_stay_alike(
    found: list[dict[str, Any]],
) -> None:
    expected = of_parts(make_model(gather_negatives=False), size=len(found))
    norm = torch.nn.utils.get_total_norm([v for v in expected.values() if torch.is_tensor(v)])
    first, *others = (one["learnt apart"] for one in found)

    assert first["steps"][0]["loss"] == pytest.approx(expected["loss"], abs=1e-12)
    assert first["steps"][0]["gradient_norm"] == pytest.approx(norm.item(), abs=1e-12)
    for other in others:
        assert other["steps"] == first["steps"]
        assert_equal(other["weights"], first["weights"], atol=0)


@pytest.mark.parametrize("num_sentences", [0, 1, 2, 7, 400])
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_parts_cover_a_batch_evenly_and_in_order(size: int, num_sentences: int) -> None:
    parts = [Ranks(rank, size).part(num_sentences) for rank in range(size)]
    lengths = [stop - start for start, stop in parts]

    assert (parts[0][0], parts[-1][1]) == (0, num_sentences)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(parts))
    assert max(lengths) - min(lengths) <= 1
    assert lengths == Ranks(0, size).part_sizes(num_sentences)


@pytest.mark.parametrize(("rank", "size"), [(2, 2), (-1, 2), (0, 0)])
def test_a_rank_that_cannot_be_is_refused(rank: int, size: int) -> None:
    with pytest.raises(ValueError, match=rf"rank must lie in \[0, {size}\), got {rank}"):
        Ranks(rank, size)


def test_without_gathered_negatives_there_is_one_process_a_part() -> None:
    apart = TrainingConfig(gather_negatives=False, parts=2)

    apart.check_processes(2)
    TrainingConfig().check_processes(7)
    with pytest.raises(ValueError, match="parts is 2, processes is 4; make them equal"):
        apart.check_processes(4)
    with pytest.raises(ValueError, match="parts must be 1 if gather_negatives is true, not 2"):
        TrainingConfig(parts=2)


def test_one_process_alone_does_nothing() -> None:
    alone = ALONE
    model = make_model()
    expected = of_one_process(model)
    rows = torch.ones(2, 3)
    reduce_joint_gradients(model.encoder, model.objective, alone)
    average_gradients(model, alone, torch.tensor(4))

    assert alone.is_first
    assert alone.agreed("mine") == "mine"
    assert gather_rows(rows, alone, 2) is rows
    assert_equal({**expected, **gradients(model)}, expected)
