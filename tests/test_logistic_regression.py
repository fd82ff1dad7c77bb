"""The classifier against closed cases, its own optimality condition and an independent solver."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import pytest
import torch

from models.evaluation.logistic_regression import Standardiser, fit_logistic_regression


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small matrices on a busy machine take twenty times longer with two threads than with one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def problem(n: int, d: int, k: int, *, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(n, 8, generator=generator, dtype=torch.float64)
    mixed = hidden @ torch.randn(8, d, generator=generator, dtype=torch.float64)
    features = mixed + 0.3 * torch.randn(n, d, generator=generator, dtype=torch.float64)
    scores = hidden @ torch.randn(8, k, generator=generator, dtype=torch.float64)
    noise = torch.randn(n, k, generator=generator, dtype=torch.float64)
    return Standardiser.fit(features)(features), (scores + noise).argmax(dim=1)


def test_gradients_vanish_for_every_regulariser() -> None:
    features, labels = problem(200, 30, 4)
    regularisers = torch.tensor([1e-3, 1e-1, 10.0])
    models = fit_logistic_regression(features, labels, regularisers, num_classes=4, tolerance=1e-8)
    for r, regulariser in enumerate(regularisers.double()):
        weights = models.weights[r].clone().requires_grad_()
        biases = models.biases[r].clone().requires_grad_()
        loss = torch.nn.functional.cross_entropy(features @ weights.T + biases, labels)
        (loss + 0.5 * regulariser * weights.square().sum()).backward()
        assert weights.grad is not None and biases.grad is not None
        assert weights.grad.abs().max() < 1e-7
        assert biases.grad.abs().max() < 1e-7
    assert models.gradient_norms.max() < 1e-7
    assert models.converged.all()


def test_minimum_is_that_of_newtons_method() -> None:
    """Two classes are one logit of twice the weight, whose Newton steps are easy to write."""
    features, labels = problem(120, 5, 2)
    regulariser = 0.05
    models = fit_logistic_regression(
        features, labels, torch.tensor([regulariser]), num_classes=2, tolerance=1e-10
    )
    # With w1 = −w0 = v / 2 the penalty λ/2 (‖w0‖² + ‖w1‖²) is λ/4 ‖v‖².
    extended = torch.cat([features, torch.ones(120, 1, dtype=torch.float64)], dim=1)
    penalty = torch.full((6,), regulariser / 2, dtype=torch.float64)
    penalty[-1] = 0.0
    v = torch.zeros(6, dtype=torch.float64)
    for _ in range(30):
        p = torch.sigmoid(extended @ v)
        gradient = extended.T @ (p - labels) / 120 + penalty * v
        hessian = extended.T @ (extended * (p * (1 - p))[:, None]) / 120 + penalty.diag()
        v = v - torch.linalg.solve(hessian, gradient)
    difference = models.weights[0, 1] - models.weights[0, 0]
    torch.testing.assert_close(difference, v[:-1], atol=1e-7, rtol=1e-6)
    intercept = models.biases[0, 1] - models.biases[0, 0]
    torch.testing.assert_close(intercept, v[-1], atol=1e-7, rtol=1e-6)


def test_without_information_the_biases_are_the_log_shares_of_the_classes() -> None:
    labels = torch.tensor([0] * 60 + [1] * 30 + [2] * 10)
    models = fit_logistic_regression(
        torch.zeros(100, 3), labels, torch.tensor([0.1]), num_classes=3, tolerance=1e-10
    )
    shares = torch.softmax(models.biases[0], dim=0)
    torch.testing.assert_close(shares, torch.tensor([0.6, 0.3, 0.1]).double())
    assert models.weights.abs().max() == 0.0


def test_one_point_a_class_has_the_solution_of_its_equation() -> None:
    """x = ±1: by symmetry w = (−a, a) with 2a = v, and λ v / 2 = 2 · σ(−v) / 2."""
    models = fit_logistic_regression(
        torch.tensor([[-1.0], [1.0]]), torch.tensor([0, 1]), torch.tensor([0.2]), num_classes=2,
        tolerance=1e-12,
    )  # fmt: skip
    v = float(models.weights[0, 1, 0] - models.weights[0, 0, 0])
    assert 0.1 * v == pytest.approx(1 / (1 + math.exp(v)), abs=1e-8)
    assert models.predict(torch.tensor([[-3.0], [3.0]])).tolist() == [[0, 1]]


def test_fitting_several_regularisers_at_once_is_fitting_each() -> None:
    features, labels = problem(150, 12, 3)
    grid = torch.tensor([1e-2, 1.0])
    together = fit_logistic_regression(features, labels, grid, num_classes=3, tolerance=1e-9)
    for r in range(2):
        alone = fit_logistic_regression(
            features, labels, grid[r : r + 1], num_classes=3, tolerance=1e-9
        )
        torch.testing.assert_close(together.weights[r], alone.weights[0], atol=1e-6, rtol=1e-5)


def test_more_features_than_sentences_and_copied_features_converge() -> None:
    features, labels = problem(40, 100, 3)
    doubled = torch.cat([features, features], dim=1)
    models = fit_logistic_regression(
        doubled, labels, torch.tensor([1e-3, 1.0]), num_classes=3, tolerance=1e-6
    )
    assert models.gradient_norms.max() < 1e-5
    assert (models.predict(doubled)[0] == labels).all()


def test_the_same_data_give_the_same_model() -> None:
    features, labels = problem(100, 20, 3)
    first, second = (
        fit_logistic_regression(features, labels, torch.tensor([0.1]), num_classes=3)
        for _ in range(2)
    )
    assert torch.equal(first.weights, second.weights)


def test_a_probe_of_usual_size_takes_seconds() -> None:
    features, labels = problem(2000, 512, 30)
    started = time.process_time()
    models = fit_logistic_regression(
        features,
        labels,
        torch.tensor([1e-3, 1e-2, 1e-1, 1.0, 10.0]),
        num_classes=30,
        max_iterations=200,
    )
    assert time.process_time() - started < 20
    assert models.converged.all()


def test_what_iterations_do_not_suffice_for_is_not_converged() -> None:
    features, labels = problem(200, 30, 4)
    for iterations, converged in ((3, False), (500, True)):
        models = fit_logistic_regression(
            features, labels, torch.tensor([1e-4]), num_classes=4, max_iterations=iterations
        )
        assert models.converged.tolist() == [converged]


def test_a_feature_that_does_not_vary_is_left_unscaled() -> None:
    features = torch.tensor([[2.0, 5.0], [4.0, 5.0]], dtype=torch.float64)
    standardise = Standardiser.fit(features)
    assert standardise(features).tolist() == [[-1.0, 0.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("features", "labels", "regulariser", "message"),
    [
        (torch.zeros(2, 2), torch.tensor([0]), 1.0, "features must be"),
        (torch.zeros(2, 2), torch.tensor([0, 5]), 1.0, "labels must lie in 0 to 1"),
        (torch.zeros(2, 2), torch.tensor([0, 1]), 0.0, "regularisers must be above 0"),
        (
            torch.tensor([[0.0], [math.nan]]),
            torch.tensor([0, 1]),
            1.0,
            "features of training sentence 1 are not finite",
        ),
    ],
)
def test_unfit_input_is_refused(
    features: torch.Tensor, labels: torch.Tensor, regulariser: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        fit_logistic_regression(features, labels, torch.tensor([regulariser]), num_classes=2)
