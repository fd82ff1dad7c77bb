"""Multinomial logistic regression: convex, deterministic, several regularisers at once.

Legend: N sentences, D features (and one constant), K classes, R regularisers, M remembered steps.

For each regulariser λ it minimises, over weights W [K, D] and biases b [K] (not regularised),

    mean over sentences of −log softmax(W x + b)[y]  +  λ/2 · ‖W‖²

by L-BFGS (Nocedal & Wright 2006, algorithm 7.4) over all sentences at once, in float64. The
features are first turned so that Böhning's bound on the Hessian (Böhning 1992), ½ · XᵀX/N + λ, is
the identity: that bound does not depend on W, so a unit step is safe and few dozen steps suffice
however correlated the features are.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

MEMORY = 10
"""M: steps that L-BFGS remembers."""
ARMIJO = 1e-4
"""Share of the predicted decrease that a step must reach (Nocedal & Wright 2006, section 3.1)."""
SMALLEST_STEP = 1e-8
VALUE_NOISE = 1e-12
"""Relative rise of an objective that is put down to rounding."""


@dataclass(frozen=True, slots=True)
class Standardiser:
    """Shifts and scales features to zero mean and unit variance on the training sentences.

    Differs from SentEval, which feeds raw features: one regulariser grid then fits embeddings of
    any scale, and the rows of a table differ in what they encode, not in how large they are.
    """

    mean: Tensor
    """[D]"""
    scale: Tensor
    """[D]; 1 where a feature does not vary."""

    @classmethod
    def fit(cls, features: Tensor) -> Standardiser:
        """Returns the standardiser of training features [N, D]."""
        mean = features.mean(dim=0)
        deviation = (features - mean).square().mean(dim=0).sqrt()
        negligible = deviation <= 1e-7 * (mean.abs() + 1e-30)
        return cls(mean, torch.where(negligible, torch.ones_like(deviation), deviation))

    def __call__(self, features: Tensor) -> Tensor:
        """Returns the standardised features [N, D]."""
        return (features - self.mean) / self.scale


@dataclass(frozen=True, slots=True)
class LogisticModels:
    """One fitted model per regulariser."""

    weights: Tensor
    """[R, K, D], float64."""
    biases: Tensor
    """[R, K], float64."""
    gradient_norms: Tensor
    """[R]; largest absolute entry of each objective's gradient at the end."""
    converged: Tensor
    """[R], bool; whether the gradient in the turned features fell below the tolerance."""

    def predict(self, features: Tensor) -> Tensor:
        """Returns the most likely class [R, N] (int64) of each sentence of features [N, D]."""
        scores = features.to(self.weights) @ self.weights.transpose(1, 2)
        return (scores + self.biases[:, None, :]).argmax(dim=2)


def fit_logistic_regression(
    features: Tensor,
    labels: Tensor,
    regularisers: Tensor,
    *,
    num_classes: int,
    tolerance: float = 1e-3,
    max_iterations: int = 500,
) -> LogisticModels:
    """Returns the minimisers of the module's objective, one per regulariser.

    Args:
        features: [N, D], standardised.
        labels: [N], int64, 0 to K - 1.
        regularisers: [R], λ > 0.
        tolerance: the fit ends when no objective's gradient, in the turned features, has a
            larger entry.

    Raises:
        ValueError: sizes that do not fit, labels out of range, NaN features, or λ <= 0.
    """
    _check(features, labels, regularisers, num_classes)
    x_nd = features.to(torch.float64)
    penalty_r = regularisers.to(torch.float64)
    basis_dd, spread_d = _principal_axes(x_nd)
    # Scaling of axis d under regulariser r; the constant's is its own curvature bound.
    scale_rd = (0.5 * spread_d + penalty_r[:, None]).rsqrt()
    problem = _Problem(
        x_nd @ basis_dd, labels, scale_rd, penalty_r[:, None] * scale_rd.square(), num_classes
    )
    solution, gradients = _lbfgs(problem, tolerance, max_iterations)
    weights_rkd = (solution[:, :, :-1] * scale_rd[:, None, :]) @ basis_dd.T
    biases_rk = solution[:, :, -1] * _CONSTANT_SCALE
    norms = _gradient_norms(x_nd, labels, weights_rkd, biases_rk, penalty_r)
    converged = _largest(gradients) <= tolerance
    return LogisticModels(weights_rkd, biases_rk, norms, converged)


_CONSTANT_SCALE = 2.0**0.5


def _check(features: Tensor, labels: Tensor, regularisers: Tensor, num_classes: int) -> None:
    if features.ndim != 2 or labels.shape != features.shape[:1] or not len(labels):
        raise ValueError(
            f"features must be [N, D] and labels [N] with N >= 1, got {tuple(features.shape)} "
            f"and {tuple(labels.shape)}"
        )
    if int(labels.min()) < 0 or int(labels.max()) >= num_classes:
        raise ValueError(f"labels must lie in 0 to {num_classes - 1}")
    if not bool(torch.isfinite(features).all()):
        row = int((~torch.isfinite(features)).any(dim=1).nonzero()[0])
        raise ValueError(f"features of training sentence {row} are not finite")
    if not bool((regularisers > 0).all()):
        raise ValueError("regularisers must be above 0: without one the minimum may not exist")


def _principal_axes(x_nd: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the axes [D, D] of the features' second moment and the moment along each [D]."""
    moment = x_nd.T @ x_nd / len(x_nd)
    spread, basis = torch.linalg.eigh(moment)
    return basis, spread.clamp_min(0.0)


class _Problem:
    """The R objectives over turned parameters [R, K, D + 1], the last column the biases."""

    def __init__(
        self, x_nd: Tensor, labels: Tensor, scale_rd: Tensor, penalty_rd: Tensor, num_classes: int
    ) -> None:
        self._x = x_nd
        self._target = torch.nn.functional.one_hot(labels, num_classes).to(x_nd)
        self._labels = labels
        self._scale = scale_rd[:, None, :]
        self._penalty = penalty_rd[:, None, :]
        self.shape = (len(scale_rd), num_classes, x_nd.shape[1] + 1)

    def value_and_gradient(self, parameters: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the objectives [R] and their gradients [R, K, D + 1]."""
        num_problems, num_classes, width = self.shape
        turned = parameters[:, :, :-1]
        weights = (turned * self._scale).reshape(num_problems * num_classes, width - 1)
        logits = (self._x @ weights.T).view(-1, num_problems, num_classes)
        logits = logits + parameters[:, :, -1] * _CONSTANT_SCALE
        log_probability = torch.log_softmax(logits, dim=2)
        picked = log_probability[torch.arange(len(logits)), :, self._labels]
        values = -picked.mean(dim=0) + 0.5 * (self._penalty * turned.square()).sum(dim=(1, 2))
        error = (log_probability.exp() - self._target[:, None, :]) / len(logits)
        slope = (error.view(len(logits), -1).T @ self._x).view(num_problems, num_classes, -1)
        slope = slope * self._scale + self._penalty * turned
        constant = error.sum(dim=0)[:, :, None] * _CONSTANT_SCALE
        return values, torch.cat([slope, constant], dim=2)


def _lbfgs(problem: _Problem, tolerance: float, max_iterations: int) -> tuple[Tensor, Tensor]:
    """Returns the parameters at which all gradients are small, and these.

    Where the steps no longer move anything or are used up, gradients above the tolerance remain.
    """
    parameters = torch.zeros(problem.shape, dtype=torch.float64)
    values, gradients = problem.value_and_gradient(parameters)
    memory: list[tuple[Tensor, Tensor, Tensor]] = []
    for _ in range(max_iterations):
        active = _largest(gradients) > tolerance
        if not bool(active.any()):
            break
        direction = _direction(gradients, memory) * active[:, None, None]
        moved = _search(problem, parameters, values, gradients, direction)
        if torch.equal(moved[0], parameters):
            break
        change, bend = moved[0] - parameters, moved[2] - gradients
        memory = [*memory[1 - MEMORY :], (change, bend, _dot(change, bend))]
        parameters, values, gradients = moved
    return parameters, gradients


def _largest(gradients: Tensor) -> Tensor:
    """Returns the largest absolute entry [R] of gradients [R, K, D + 1]."""
    return gradients.flatten(1).abs().amax(dim=1)


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum(dim=(1, 2))


def _direction(gradients: Tensor, memory: list[tuple[Tensor, Tensor, Tensor]]) -> Tensor:
    """Returns the descent direction by L-BFGS's two loops; a finished problem's steps are 0/0."""
    direction = -gradients
    shares: list[Tensor] = []
    for change, bend, product in reversed(memory):
        share = torch.where(product > 0, _dot(change, direction) / product.clamp_min(1e-300), 0.0)
        shares.append(share)
        direction = direction - share[:, None, None] * bend
    if memory:
        _, bend, product = memory[-1]
        curvature = product / _dot(bend, bend).clamp_min(1e-300)
        direction = direction * torch.where(product > 0, curvature, 1.0)[:, None, None]
    for (change, bend, product), share in zip(memory, reversed(shares), strict=True):
        back = torch.where(product > 0, _dot(bend, direction) / product.clamp_min(1e-300), 0.0)
        direction = direction + (share - back)[:, None, None] * change
    return direction


def _search(
    problem: _Problem, parameters: Tensor, values: Tensor, gradients: Tensor, direction: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns parameters, values and gradients after a step that lowers every objective enough."""
    slope = _dot(gradients, direction)
    step = torch.ones_like(values)
    while True:
        moved = parameters + step[:, None, None] * direction
        moved_values, moved_gradients = problem.value_and_gradient(moved)
        # The last decimals of a value are noise once an objective is nearly at its minimum.
        slack = VALUE_NOISE * values.abs()
        fails = moved_values > values + ARMIJO * step * slope + slack
        if not bool(fails.any()):
            return moved, moved_values, moved_gradients
        step = torch.where(fails, 0.5 * step, step)
        step = torch.where(step < SMALLEST_STEP, 0.0, step)


def _gradient_norms(
    x_nd: Tensor, labels: Tensor, weights_rkd: Tensor, biases_rk: Tensor, penalty_r: Tensor
) -> Tensor:
    """Returns the largest entry [R] of the gradients in the features as given, from scratch."""
    norms: list[Tensor] = []
    for weights, biases, penalty in zip(weights_rkd, biases_rk, penalty_r, strict=True):
        error = torch.softmax(x_nd @ weights.T + biases, dim=1)
        error[torch.arange(len(error)), labels] -= 1.0
        error /= len(error)
        slope = error.T @ x_nd + penalty * weights
        norms.append(torch.maximum(slope.abs().max(), error.sum(dim=0).abs().max()))
    return torch.stack(norms)
