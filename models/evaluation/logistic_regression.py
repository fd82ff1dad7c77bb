"""Logistic regression: many problems over the same sentences, solved together.

A problem is a choice of training sentences and a penalty. For each it minimises, over weights
W [V, D] and biases b [V] (not penalised),

    sum over its sentences of loss(W x + b, y)  +  penalty/2 · ‖W‖²

which is scikit-learn's objective with penalty = 1/C. With two classes V = 1 and the loss is that
of one logit; with more, V = K and the loss is softmax cross-entropy, as scikit-learn has it.

All problems walk together (``lbfgs``), so a step is two products of matrices for a whole
cross-validation instead of two readings of the features for each of its fits. All start from
zero: no problem sees a label it does not train on. A problem is done when a bound proves that its
objective lies no further above the minimum than a share of itself. The objective is convex, so the
answer does not depend on the way, and the same call gives the same bits on a CPU.

Legend: N sentences, D features, P problems, K classes, V vectors of weights a problem.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from treeviews.models.evaluation.lbfgs import Arrival, Loss, Metric, Walk

ELEMENTS_AT_ONCE = 60_000_000
"""Logits that walk together; more are solved in turns. Each takes some 30 bytes in float32, with
what is made of it on the way, unless a single problem has more."""
SIZES = (1e-15, 1e15)
"""Root mean squares of features between which their squares can be handled."""


@dataclass(frozen=True, slots=True, eq=False)
class LogisticModels:
    """One fitted model a problem, in the order of the problems."""

    weights: Tensor
    """[P, V, D], in the features' type."""
    biases: Tensor
    """[P, V]."""
    answers: Tensor
    """[P, N]; most likely class of each sentence given, also of those not trained on; int64."""
    gaps: Tensor
    """[P]; by which share of itself each objective may lie above its minimum; float64."""
    converged: Tensor
    """[P], bool; whether the gap is within the tolerance. In float32 objectives near zero, of
    classes that are wholly separated, may not get there."""
    num_steps: int
    """Steps of the longest walk."""

    def logits(self, features: Tensor) -> Tensor:
        """Returns the logits [P, N, V] of features [N, D]."""
        flat = features.to(self.weights) @ self.weights.flatten(0, 1).T
        shaped = flat.view(len(features), *self.biases.shape) + self.biases
        return shaped.transpose(0, 1)

    def predict(self, features: Tensor) -> Tensor:
        """Returns the most likely class [P, N] (int64) of each sentence of features [N, D]."""
        logits = self.logits(features)
        return logits.argmax(dim=2) if logits.shape[2] > 1 else (logits[:, :, 0] > 0).long()


def fit_logistic_regression(
    features: Tensor,
    targets: Tensor,
    penalties: Tensor,
    *,
    num_classes: int,
    rows: Tensor | None = None,
    tolerance: float = 1e-6,
    max_steps: int = 500,
) -> LogisticModels:
    """Returns the minimisers of the module's objective, one a problem.

    Args:
        features: [N, D], finite, float32 or float64: what the problems are solved in, and where.
            Targets, penalties and rows may lie elsewhere.
        targets: classes [N], int64, 0 to K - 1; or distributions over them [N, K], for which the
            loss is softmax cross-entropy also with K = 2.
        penalties: [P], above 0.
        rows: [P, N], bool; which sentences each problem trains on, at least one; by default all.
        tolerance: share of an objective by which it may lie above its minimum.

    Raises:
        ValueError: features of a size whose squares cannot be handled.
    """
    targets, penalties = targets.to(features.device), penalties.to(features.device, torch.float64)
    prepared = _prepared(features)
    order = torch.argsort(penalties, stable=True)
    chosen = None if rows is None else rows.to(order.device)[order]
    scaled = penalties[order] / prepared.size**2
    arrival = _solve(prepared.extended, targets, scaled, chosen, num_classes, tolerance, max_steps)
    back = torch.argsort(order)
    weights = arrival.weights[back, :, :-1] / prepared.size
    if prepared.basis is not None:
        weights = weights @ prepared.basis.T
    return LogisticModels(
        weights,
        arrival.weights[back, :, -1] - weights @ prepared.mean,
        arrival.answers[back],
        arrival.gaps[back],
        arrival.gaps[back] <= tolerance,
        arrival.num_steps,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Prepared:
    """Features as the walk takes them: centred, of size 1, no more of them than sentences."""

    extended: Tensor
    """[N, F], the last column 1."""
    mean: Tensor
    """[D]."""
    size: float
    basis: Tensor | None
    """[D, F - 1]; what the columns are coordinates in, if not the features themselves."""


def _prepared(features: Tensor) -> _Prepared:
    """Returns the prepared features; one copy of them is made.

    Raises:
        ValueError: their squares cannot be handled.
    """
    num_sentences, width = features.shape
    mean = features.mean(dim=0, dtype=torch.float64).to(features)
    basis = None
    if width > num_sentences:
        coordinates, basis = in_row_space(features - mean)
        extended = torch.cat([coordinates, coordinates[:, :1]], dim=1)
    else:
        extended = features.new_empty((num_sentences, width + 1))
        torch.sub(features, mean, out=extended[:, :-1])
    inner = extended[:, :-1]
    norm = torch.linalg.vector_norm(inner, dtype=torch.float64)
    size = float(norm) / inner.numel() ** 0.5 or 1.0
    if not SIZES[0] < size < SIZES[1]:
        raise ValueError(
            f"features of a root mean square of {size:.1e} cannot be told apart; rescale them"
        )
    inner /= size
    extended[:, -1] = 1.0
    return _Prepared(extended, mean, size, basis)


def _solve(
    features_nf: Tensor,
    targets: Tensor,
    penalties: Tensor,
    rows_pn: Tensor | None,
    num_classes: int,
    tolerance: float,
    max_steps: int,
) -> Arrival:
    """Returns where the problems end, sorted by penalty as they are given."""
    loss = loss_for(targets, num_classes, features_nf.dtype)
    distinct, group = torch.unique_consecutive(penalties, return_inverse=True)
    used = None if rows_pn is None else rows_pn.any(dim=0)
    metric = Metric(features_nf, distinct, loss.curvature_bound, used)
    at_once = max(1, ELEMENTS_AT_ONCE // (len(features_nf) * loss.num_vectors))
    arrivals: list[Arrival] = []
    for first in range(0, len(penalties), at_once):
        part = slice(first, first + at_once)
        if rows_pn is None:
            rows_np = features_nf.new_ones((len(features_nf), len(penalties[part])))
        else:
            rows_np = rows_pn[part].T.to(features_nf).contiguous()
        walk = Walk(features_nf, loss, metric)
        arrivals.append(
            walk(rows_np, penalties[part], group[part], tolerance=tolerance, max_steps=max_steps)
        )
    return Arrival(
        torch.cat([a.weights for a in arrivals]),
        torch.cat([a.gaps for a in arrivals]),
        torch.cat([a.answers for a in arrivals]),
        max(a.num_steps for a in arrivals),
    )


def in_row_space(features_nd: Tensor) -> tuple[Tensor, Tensor]:
    """Returns coordinates [N, N] of more features than sentences, and their basis [D, N].

    The minimum of an objective whose penalty is the norm of the weights lies in the space that
    the sentences span, so nothing is lost: features = coordinates · basisᵀ, basis orthonormal.
    """
    basis, triangle = torch.linalg.qr(features_nd.T)
    return triangle.T.contiguous(), basis


class _LogitLoss:
    """−log σ(z) for class 1 and −log σ(−z) for class 0; one logit a sentence."""

    num_vectors = 1
    curvature_bound = 0.25

    def __init__(self, labels: Tensor, dtype: torch.dtype) -> None:
        self._labels = labels.to(dtype)[:, None]

    def values(self, z: Tensor, rows: Tensor) -> Tensor:
        z = z[:, :, 0]
        return _summed((F.softplus(z) - self._labels * z) * rows)

    def residuals(self, z: Tensor, rows: Tensor) -> Tensor:
        return ((torch.sigmoid(z[:, :, 0]) - self._labels) * rows)[:, :, None]

    def curvatures(self, z: Tensor, along: Tensor, rows: Tensor) -> Tensor:
        share = torch.sigmoid(z[:, :, 0])
        return _summed(share * (1.0 - share) * along[:, :, 0].square() * rows)


class _SoftmaxLoss:
    """Cross-entropy −Σ_k y_k log softmax(z)_k; the y of a sentence need not add up to 1."""

    curvature_bound = 0.5

    def __init__(self, targets: Tensor, dtype: torch.dtype) -> None:
        self.num_vectors = targets.shape[1]
        self._targets = targets.to(dtype)[:, None, :]
        self._mass = self._targets.sum(dim=2)

    def values(self, z: Tensor, rows: Tensor) -> Tensor:
        expected = (self._targets * z).sum(dim=2)
        return _summed((self._mass * torch.logsumexp(z, dim=2) - expected) * rows)

    def residuals(self, z: Tensor, rows: Tensor) -> Tensor:
        error = torch.softmax(z, dim=2).mul_(self._mass[:, :, None]).sub_(self._targets)
        return error.mul_(rows[:, :, None])

    def curvatures(self, z: Tensor, along: Tensor, rows: Tensor) -> Tensor:
        return _summed(_spread_of(torch.softmax(z, dim=2), along) * self._mass * rows)


class _ClassLoss:
    """Cross-entropy −log softmax(z)_y of one class a sentence, which many classes cost little."""

    curvature_bound = 0.5

    def __init__(self, labels: Tensor, num_classes: int) -> None:
        self.num_vectors = num_classes
        self._labels = labels[:, None, None]

    def values(self, z: Tensor, rows: Tensor) -> Tensor:
        own = z.gather(2, self._own(z))[:, :, 0]
        return _summed((torch.logsumexp(z, dim=2) - own) * rows)

    def residuals(self, z: Tensor, rows: Tensor) -> Tensor:
        own = self._own(z)
        error = torch.softmax(z, dim=2)
        error.scatter_add_(2, own, error.new_full((1, 1, 1), -1.0).expand(own.shape))
        return error.mul_(rows[:, :, None])

    def curvatures(self, z: Tensor, along: Tensor, rows: Tensor) -> Tensor:
        return _summed(_spread_of(torch.softmax(z, dim=2), along) * rows)

    def _own(self, z: Tensor) -> Tensor:
        """Returns each sentence's class [N, P, 1]."""
        return self._labels.expand(z.shape[0], z.shape[1], 1)


def loss_for(targets: Tensor, num_classes: int, dtype: torch.dtype) -> Loss:
    """Returns the loss of classes [N] (int64) or of distributions over them [N, K]."""
    if targets.ndim == 2:
        return _SoftmaxLoss(targets, dtype)
    if num_classes == 2:
        return _LogitLoss(targets, dtype)
    return _ClassLoss(targets, num_classes)


def _spread_of(share: Tensor, along: Tensor) -> Tensor:
    """Returns the variance [N, P] of a change of the logits [N, P, K] under these shares."""
    mean = (share * along).sum(dim=2, keepdim=True)
    return (share * (along - mean).square()).sum(dim=2)


def _summed(values: Tensor) -> Tensor:
    return values.sum(dim=0, dtype=torch.float64)
