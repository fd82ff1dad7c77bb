"""Equation 3 of Tang & de Sa 2018 against loops over single pairs, in float64."""

from __future__ import annotations

from math import log
from typing import Any

import pytest
import torch
from torch import Tensor

from treeviews.models.config.training_presets import preset
from treeviews.models.objectives.discriminative import (
    DiscriminativeObjective,
    top_component,
    without_top_component,
)
from treeviews.models.objectives.objective import ObjectiveResult, SentenceContext, Sizes

# Two documents; the first has a gap after its third sentence; the last sentence stands alone.
DOCUMENT = torch.tensor([4, 4, 4, 4, 4, 9, 9, 7])
INDEX = torch.tensor([0, 1, 2, 4, 5, 6, 7, 8])
NEIGHBOURS = {
    1: {0: [1], 1: [0, 2], 2: [1], 3: [4], 4: [3], 5: [6], 6: [5], 7: []},
    2: {0: [1, 2], 1: [0, 2], 2: [0, 1, 3], 3: [2, 4], 4: [3], 5: [6], 6: [5], 7: []},
}
WIDTH = 5


def make_views(num_views: int = 2) -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)
    shape = (num_views, len(DOCUMENT), WIDTH)
    views = torch.randn(shape, dtype=torch.float64, generator=generator) + 0.3
    return [view.clone().requires_grad_() for view in views]


def make_objective(num_views: int = 2, **fields: Any) -> DiscriminativeObjective:
    views = ("SEQ", "LIN")[:num_views]
    config = preset("B-D", views=views, **fields)
    return DiscriminativeObjective(config, Sizes((WIDTH,) * num_views, 0, 0)).double()


def test_views_of_unlike_widths_cannot_agree() -> None:
    config = preset("B-D", views=("SEQ", "BOW"))
    with pytest.raises(ValueError, match=r"SEQ, BOW cannot agree: .* take LIN for BOW"):
        DiscriminativeObjective(config, Sizes((WIDTH, WIDTH + 1), 0, 0))


def evaluate(objective: DiscriminativeObjective, views: list[Tensor]) -> ObjectiveResult:
    number = len(views[0])
    context = SentenceContext(DOCUMENT[:number], INDEX[:number])
    result: ObjectiveResult = objective(views, context)
    return result


def without_component(view: Tensor, iterations: int) -> Tensor:
    """Algorithm 1 on the covariance matrix."""
    start = 1 + 0.5 * torch.arange(len(view)).double().cos()
    covariance = (view.T @ view).detach()
    component = view.detach().T @ start
    for _ in range(iterations):
        component = covariance @ component
        component = component / component.norm()
    return torch.stack([z - (z @ component) * component for z in view])


def loops(
    views: list[Tensor], temperature: Tensor, *, anchor: str, neighbours: dict[int, list[int]]
) -> tuple[Tensor, float, float]:
    """Returns loss, accuracy and chance, pair by pair."""
    f, g = views[0], views[-1]

    def cosine(x: Tensor, y: Tensor) -> Tensor:
        return (x @ y) / (x.norm() * y.norm())

    def a(i: int, j: int) -> Tensor:
        return cosine(f[i], g[j]) + cosine(g[i], f[j]) if len(views) == 2 else cosine(f[i], f[j])

    losses, hits, chances = [], [], []
    number = len(f)
    for i, near in neighbours.items():
        others = [j for j in range(number) if j != i]
        candidates = others + [i] * (anchor == "included")
        normaliser = torch.stack([(a(i, n) / temperature).exp() for n in candidates]).sum()
        positives = near + [i] * (anchor == "included")
        losses += [-((a(i, j) / temperature).exp() / normaliser).log() for j in positives]
        if near:
            hits.append(max(others, key=lambda j: a(i, j).item()) in near)
            chances.append(len(near) / len(others))
    return torch.stack(losses).mean(), sum(hits) / len(hits), sum(chances) / len(chances)


@pytest.mark.parametrize("context_size", [1, 2])
@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("anchor", ["included", "excluded"])
@pytest.mark.parametrize("num_views", [1, 2])
def test_loss_gradients_accuracy_and_chance_equal_the_loops(
    num_views: int, anchor: str, remove: bool, context_size: int
) -> None:
    objective = make_objective(
        num_views,
        anchor=anchor,
        remove_top_component=remove,
        context_size=context_size,
        power_iterations=3,
    )
    with torch.no_grad():
        objective.log_temperature.fill_(log(0.4))
    views = make_views(num_views)
    result = evaluate(objective, views)
    result.loss.backward()

    literal = make_views(num_views)
    log_temperature = torch.tensor(log(0.4), dtype=torch.float64, requires_grad=True)
    loss, accuracy, chance = loops(
        [without_component(view, 3) for view in literal] if remove else literal,
        log_temperature.exp(),
        anchor=anchor,
        neighbours=NEIGHBOURS[context_size],
    )
    loss.backward()

    assert result.loss.item() == pytest.approx(loss.item(), abs=1e-12)
    assert result.accuracy.item() == pytest.approx(accuracy)
    assert result.chance.item() == pytest.approx(chance)
    assert result.num_anchors.item() == 7
    assert result.measures["temperature"].item() == pytest.approx(0.4)
    for view, by_loops in zip(views, literal, strict=True):
        torch.testing.assert_close(view.grad, by_loops.grad, rtol=0, atol=1e-12)
    torch.testing.assert_close(
        objective.log_temperature.grad, log_temperature.grad, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("anchor", ["included", "excluded"])
def test_one_sentence_has_no_loss_and_no_gradient(anchor: str) -> None:
    views = [view.detach()[:1].requires_grad_() for view in make_views()]

    result = evaluate(make_objective(anchor=anchor), views)
    result.loss.backward()

    values = (result.loss, result.accuracy, result.chance, result.num_anchors)
    assert [value.item() for value in values] == [0, 0, 0, 0]
    for view in views:
        assert view.grad is not None
        assert not view.grad.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_zero_vectors_agree_with_nothing_and_have_no_gradient(dtype: torch.dtype) -> None:
    first, second = (view.detach().to(dtype) for view in make_views())
    first[2] = 0
    second[2] = 0
    first.requires_grad_()
    objective = make_objective().to(dtype)

    agreement = objective.agreement([first, second])
    result = evaluate(objective, [first, second])
    result.loss.backward()

    assert not agreement[2].any()
    assert not agreement[:, 2].any()
    assert first.grad is not None
    assert first.grad.isfinite().all()
    assert not first.grad[2].any()


def vectors_of(num_vectors: int, width: int, seed: int = 0) -> Tensor:
    """Vectors with a mean of their own, as sentence encoders give them."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(num_vectors, width, dtype=torch.float64, generator=generator)
    return noise + torch.randn(width, dtype=torch.float64, generator=generator)


def first_right_singular_vector(vectors: Tensor) -> Tensor:
    return torch.linalg.svd(vectors).Vh[0]


@pytest.mark.parametrize(("num_vectors", "width"), [(6, 40), (40, 6), (12, 12), (1, 5), (5, 1)])
def test_many_iterations_give_the_first_singular_vector(num_vectors: int, width: int) -> None:
    vectors = vectors_of(num_vectors, width)

    component = top_component(vectors, iterations=300)

    expected = first_right_singular_vector(vectors)
    assert component.shape == (width,)
    assert abs(float(component @ expected)) == pytest.approx(1.0, abs=1e-12)
    assert float(component.norm()) == pytest.approx(1.0, abs=1e-12)


def test_gradients_lose_the_component_too_and_do_not_pass_through_it() -> None:
    vectors = vectors_of(6, 4).requires_grad_()
    weights = torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    (without_top_component(vectors, iterations=5) * weights).sum().backward()

    component = top_component(vectors, iterations=5)
    expected = weights - torch.outer(weights @ component, component)
    assert not component.requires_grad
    torch.testing.assert_close(vectors.grad, expected, rtol=0, atol=1e-12)
