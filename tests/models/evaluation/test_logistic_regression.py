"""The classifier against closed cases, its own optimality condition and an independent solver."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from treeviews.models.evaluation.class_protocols import mean_and_scale
from treeviews.models.evaluation.logistic_regression import fit_logistic_regression

pytestmark = pytest.mark.usefixtures("one_thread")


def problem(n: int, d: int, k: int, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(n, 8, generator=generator, dtype=torch.float64)
    mixed = hidden @ torch.randn(8, d, generator=generator, dtype=torch.float64)
    features = mixed + 0.3 * torch.randn(n, d, generator=generator, dtype=torch.float64)
    scores = hidden @ torch.randn(8, k, generator=generator, dtype=torch.float64)
    noise = torch.randn(n, k, generator=generator, dtype=torch.float64)
    mean, scale = mean_and_scale(features)
    return (features - mean) / scale, (scores + noise).argmax(dim=1)


def thirds(n: int) -> Tensor:
    """Three overlapping choices of sentences, each two thirds of them."""
    place = torch.arange(n) % 3
    return torch.stack([place != fold for fold in range(3)])


def gradients(
    features: Tensor, targets: Tensor, weights: Tensor, biases: Tensor, penalty: float
) -> tuple[Tensor, Tensor]:
    """The gradient of one problem's objective, written out through autograd."""
    weights, biases = weights.clone().requires_grad_(), biases.clone().requires_grad_()
    logits = features @ weights.T + biases
    if logits.shape[1] == 1:
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            logits[:, 0], targets.to(logits), reduction="sum"
        )
    else:
        loss = torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
    (loss + 0.5 * penalty * weights.square().sum()).backward()
    assert weights.grad is not None
    assert biases.grad is not None
    return weights.grad, biases.grad


@pytest.mark.parametrize("num_classes", [2, 4])
def test_gradients_vanish_for_every_penalty_and_choice_of_sentences(num_classes: int) -> None:
    features, labels = problem(210, 30, num_classes)
    penalties = torch.tensor([0.2, 20.0, 2000.0]).repeat(3)
    rows = thirds(210).repeat_interleave(3, dim=0)
    models = fit_logistic_regression(
        features, labels, penalties, num_classes=num_classes, rows=rows, tolerance=1e-16
    )
    assert models.converged.all()
    assert models.weights.shape == (9, 1 if num_classes == 2 else num_classes, 30)
    for p in range(9):
        by_weights, by_biases = gradients(
            features[rows[p]],
            labels[rows[p]],
            models.weights[p],
            models.biases[p],
            float(penalties[p]),
        )
        assert by_weights.abs().max() < 1e-5
        assert by_biases.abs().max() < 1e-5


def objective(
    features: Tensor, labels: Tensor, weights: Tensor, biases: Tensor, penalty: float
) -> float:
    logits = features.double() @ weights.double().T + biases.double()
    if logits.shape[1] == 1:
        logits = torch.cat([torch.zeros_like(logits), logits], dim=1)
    loss = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
    return float(loss + 0.5 * penalty * weights.double().square().sum())


@pytest.mark.parametrize(
    ("num_classes", "scale", "c"), [(2, 0.02, 32.0), (6, 1.0, 0.25), (6, 5.0, 32.0)]
)
def test_the_default_tolerance_holds_where_classes_are_nearly_separated(
    num_classes: int, scale: float, c: float
) -> None:
    """So many features make the minimum far away; scikit-learn is the oracle."""
    generator = torch.Generator().manual_seed(1)
    features = scale * torch.randn(300, 200, generator=generator, dtype=torch.float64)
    directions = torch.randn(200, num_classes, generator=generator, dtype=torch.float64)
    noise = torch.randn(300, num_classes, generator=generator, dtype=torch.float64)
    labels = (features @ directions / scale + 3.0 * noise).argmax(dim=1)
    models = fit_logistic_regression(
        features, labels, torch.tensor([1 / c]), num_classes=num_classes
    )
    sklearn = pytest.importorskip(
        "sklearn.linear_model", reason="compared with scikit-learn: the extra bench"
    )
    oracle = sklearn.LogisticRegression(C=c, tol=1e-8, max_iter=20_000).fit(features, labels)
    least = objective(
        features,
        labels,
        torch.from_numpy(oracle.coef_),
        torch.from_numpy(oracle.intercept_),
        1 / c,
    )
    found = objective(features, labels, models.weights[0], models.biases[0], 1 / c)
    assert models.converged.all()
    assert found <= least * (1 + 1e-6)
