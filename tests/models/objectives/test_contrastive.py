"""The objective against loops over single pairs, in float64."""

from __future__ import annotations

from math import exp, log
from typing import Any

import pytest
import torch
from torch import Tensor

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.objectives.contrastive import ContrastiveObjective, context_targets
from treeviews.models.objectives.objective import ObjectiveResult, SentenceContext, Sizes

# Two documents; the first has a gap after its third sentence; the last sentence stands alone.
DOCUMENT = torch.tensor([4, 4, 4, 4, 4, 9, 9, 7])
INDEX = torch.tensor([0, 1, 2, 4, 5, 6, 7, 8])
NEIGHBOURS = {0: [1], 1: [0, 2], 2: [1], 3: [4], 4: [3], 5: [6], 6: [5], 7: []}
WIDTH = 3


def make_views() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    shape = (2, len(DOCUMENT), WIDTH)
    first, second = torch.randn(shape, dtype=torch.float64, generator=generator)
    return first.requires_grad_(), second.requires_grad_()


def make_objective(**fields: Any) -> ContrastiveObjective:
    torch.manual_seed(5)
    config = TrainingConfig(**{"normalise": "none", "symmetric": False, **fields})
    return ContrastiveObjective(config, Sizes((WIDTH, WIDTH), 0, 0)).double()


def evaluate(objective: ContrastiveObjective, first: Tensor, second: Tensor) -> ObjectiveResult:
    result: ObjectiveResult = objective((first, second), SentenceContext(DOCUMENT, INDEX))
    return result


def loops(
    score: list[list[float]], *, anchor: str, targets: str, neighbours: dict[int, list[int]]
) -> tuple[float, float, float]:
    """Returns loss, accuracy and chance, anchor by anchor and candidate by candidate."""
    losses, hits, chances = [], [], []
    for sentence, positives in neighbours.items():
        if not positives:
            continue
        candidates = {k: s for k, s in enumerate(score[sentence]) if k != sentence}
        if anchor == "zeroed":
            candidates[sentence] = 0.0
        own_losses = []
        for positive in positives:
            # Either all candidates stand below the line, or one positive and the negatives.
            rivals = [
                k for k in candidates if targets == "soft" or k == positive or k not in positives
            ]
            normaliser = sum(exp(candidates[k]) for k in rivals)
            own_losses.append(-log(exp(candidates[positive]) / normaliser))
        losses.append(sum(own_losses) / len(own_losses))
        hits.append(max(candidates, key=lambda k: candidates[k]) in positives)
        chances.append(len(positives) / len(candidates))
    count = len(losses)
    return sum(losses) / count, sum(hits) / count, sum(chances) / count


def pair_scores(first: Tensor, second: Tensor, weight: Tensor) -> list[list[float]]:
    return [[float(x @ weight @ y) for y in second] for x in first.detach()]


def standardised(view: Tensor) -> Tensor:
    centred = view - view.mean(0)
    return centred / (centred.square().mean(0) + 1e-5).sqrt()


@pytest.mark.parametrize("targets", ["soft", "each"])
@pytest.mark.parametrize("anchor", ["excluded", "zeroed"])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("critic", ["bilinear", "inner_product"])
@pytest.mark.parametrize("normalise", ["none", "batch_norm", "l2"])
def test_loss_accuracy_and_chance_equal_the_loops(
    normalise: str, critic: str, symmetric: bool, anchor: str, targets: str
) -> None:
    objective = make_objective(
        normalise=normalise, critic=critic, symmetric=symmetric, anchor=anchor, targets=targets
    )
    first, second = make_views()
    result = evaluate(objective, first, second)

    if normalise == "batch_norm":
        first, second = standardised(first) / WIDTH**0.5, standardised(second)
    elif normalise == "l2":
        first, second = first / first.norm(dim=1)[:, None], second / second.norm(dim=1)[:, None]
    weight = (
        torch.eye(WIDTH, dtype=torch.float64) if critic == "inner_product" else objective.weight
    )
    assert weight is not None
    scores = pair_scores(first, second.detach(), weight.detach())
    directions = [scores]
    if symmetric:
        directions.append([list(column) for column in zip(*scores, strict=True)])
    expected = [
        loops(one, anchor=anchor, targets=targets, neighbours=NEIGHBOURS) for one in directions
    ]
    loss, accuracy, chance = (sum(v) / len(expected) for v in zip(*expected, strict=True))

    assert result.loss.dtype == torch.float64
    assert result.loss.item() == pytest.approx(loss, abs=1e-12)
    assert result.accuracy.item() == pytest.approx(accuracy, abs=1e-6)
    assert result.chance.item() == pytest.approx(chance, abs=1e-6)
    assert result.num_anchors.item() == 7


@pytest.mark.parametrize("targets", ["soft", "each"])
@pytest.mark.parametrize("anchor", ["excluded", "zeroed"])
@pytest.mark.parametrize("normalise", ["none", "batch_norm", "l2"])
def test_gradients_equal_finite_differences(normalise: str, anchor: str, targets: str) -> None:
    objective = make_objective(normalise=normalise, symmetric=True, anchor=anchor, targets=targets)

    assert torch.autograd.gradcheck(
        lambda first, second: evaluate(objective, first, second).loss, make_views()
    )


@pytest.mark.parametrize("targets", ["soft", "each"])
def test_scores_far_apart_overflow_nowhere(targets: str) -> None:
    objective = make_objective(critic="inner_product", targets=targets)
    first, second = make_views()
    result = evaluate(objective, 1e4 * first, 1e4 * second)
    result.loss.backward()

    assert first.grad is not None
    assert torch.isfinite(result.loss)
    assert torch.isfinite(first.grad).all()


@pytest.mark.parametrize("context_size", [1, 2, 3])
def test_context_stays_in_its_document_and_respects_gaps(context_size: int) -> None:
    targets = context_targets(DOCUMENT, INDEX, context_size)

    for a in range(len(DOCUMENT)):
        for b in range(len(DOCUMENT)):
            is_context = (
                a != b
                and DOCUMENT[a] == DOCUMENT[b]
                and abs(int(INDEX[a]) - int(INDEX[b])) <= context_size
            )
            assert bool(targets[a, b]) == is_context, (a, b)


@pytest.mark.parametrize("targets", ["soft", "each"])
@pytest.mark.parametrize("normalise", ["none", "batch_norm", "l2"])
@pytest.mark.parametrize("num_sentences", [1, 3])
def test_a_batch_without_context_has_no_loss_and_no_gradient(
    num_sentences: int, normalise: str, targets: str
) -> None:
    objective = make_objective(normalise=normalise, targets=targets)
    first, second = make_views()
    apart = torch.arange(num_sentences)

    result = objective(
        (first[:num_sentences], second[:num_sentences]), SentenceContext(apart, apart)
    )
    result.loss.backward()

    assert result.num_anchors.item() == 0
    assert result.loss.item() == result.accuracy.item() == result.chance.item() == 0.0
    assert first.grad is not None
    assert not first.grad.any()


def test_views_of_different_width_need_the_bilinear_critic() -> None:
    with pytest.raises(ValueError, match="inner_product critic needs views of one width"):
        ContrastiveObjective(TrainingConfig(critic="inner_product"), Sizes((3, 4), 0, 0))
