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

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from treeviews.models.evaluation.lbfgs import Arrival, LogitLoss, Loss, Metric, SoftmaxLoss, Walk

ELEMENTS_AT_ONCE = 60_000_000
"""Logits that walk together; more are solved in turns. Each takes some 30 bytes in float32, with
what is made of it on the way, unless a single problem has more."""
SIZES = (1e-15, 1e15)
"""Root mean squares of features between which their squares can be handled."""


MOMENT_BLOCKS = 8
ROWS_AT_ONCE = 16_384
JITTER = 1e-6
"""First addition to the diagonal, as a share of its mean, where rounding makes a matrix
indefinite; each further one is ten times as large."""


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
    extended, size, restore = _prepared(features)
    order = torch.argsort(penalties, stable=True)
    if rows is None:
        rows = torch.ones((len(penalties), len(features)), dtype=torch.bool)
    rows, scaled = rows.to(order.device)[order], penalties[order] / size**2
    distinct, group = torch.unique_consecutive(scaled, return_inverse=True)
    loss: Loss = SoftmaxLoss(targets, num_classes, features.dtype)
    if targets.ndim == 1 and num_classes == 2:
        loss = LogitLoss(targets, features.dtype)
    metric = inverse_moments(extended, distinct, loss.curvature_bound, rows.any(dim=0))
    at_once = max(1, ELEMENTS_AT_ONCE // (len(features) * loss.num_vectors))
    arrivals = [
        Walk(extended, loss, metric)(
            rows[part].T.to(extended).contiguous(), scaled[part], group[part], tolerance, max_steps
        )
        for part in (slice(n, n + at_once) for n in range(0, len(scaled), at_once))
    ]
    arrival = Arrival(*(torch.cat(parts) for parts in zip(*arrivals, strict=True)))
    back = torch.argsort(order)
    gaps = arrival.gaps[back]
    return LogisticModels(
        *restore(arrival.weights[back]), arrival.answers[back], gaps, gaps <= tolerance
    )


Restore = Callable[[Tensor], tuple[Tensor, Tensor]]
"""From weights [P, V, F] on prepared features to weights [P, V, D] and biases [P, V]."""


def _prepared(features: Tensor) -> tuple[Tensor, float, Restore]:
    """Returns features as the walk takes them, what they were divided by, and the way back.

    They are [N, F], centred, of size 1, no more of them than sentences, and a last column of 1; one
    copy of them is made.

    Raises:
        ValueError: their squares cannot be handled.
    """
    num_sentences, width = features.shape
    mean = features.mean(dim=0, dtype=torch.float64).to(features)
    basis = None
    if width > num_sentences:
        # The minimum of an objective whose penalty is the norm of the weights lies in the space
        # that the sentences span, so nothing is lost: features = coordinates · basisᵀ.
        basis, triangle = torch.linalg.qr((features - mean).T)
        coordinates = triangle.T.contiguous()
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

    def restore(weights_pvf: Tensor) -> tuple[Tensor, Tensor]:
        weights = weights_pvf[:, :, :-1] / size
        if basis is not None:
            weights = weights @ basis.T
        return weights, weights_pvf[:, :, -1] - weights @ mean

    return extended, size, restore


def inverse_moments(
    features_nf: Tensor, penalties: Tensor, curvature: float, used: Tensor
) -> Metric:
    """Returns what multiplies gradients with an inverse matrix, one a penalty.

    Args:
        features_nf: [N, F], the last column constant.
        penalties: [G], each once.
        curvature: c.
        used: [N], bool; sentences that some problem trains on.
    """
    moment = _second_moment(features_nf, used).mul_(curvature)
    factors = [_factor(moment, penalty) for penalty in penalties]

    def metric(gradients_pvf: Tensor, groups: Tensor) -> Tensor:
        result = torch.empty_like(gradients_pvf)
        counts = torch.bincount(groups, minlength=len(factors)).tolist()
        first = 0
        for factor, count in zip(factors, counts, strict=True):
            if count:
                part = gradients_pvf[first : first + count]
                flat = part.reshape(-1, part.shape[2])
                solved = torch.cholesky_solve(flat.T, factor).T
                result[first : first + count] = solved.reshape(part.shape)
            first += count
        return result

    return metric


def _second_moment(features_nf: Tensor, used: Tensor) -> Tensor:
    """Returns XᵀX [F, F] of the sentences used.

    Sentences are taken a block at a time, so that none but a block is copied; only the part below
    the diagonal is multiplied, as it is symmetric.
    """
    width = features_nf.shape[1]
    moment = features_nf.new_zeros((width, width))
    step = -(-width // MOMENT_BLOCKS)
    for first in range(0, len(features_nf), ROWS_AT_ONCE):
        rows = slice(first, first + ROWS_AT_ONCE)
        block = features_nf[rows][used[rows]]
        for start in range(0, width, step):
            part = slice(start, start + step)
            moment[part, : start + step].addmm_(block[:, part].T, block[:, : start + step])
    for start in range(0, width, step):
        rows = slice(start, start + step)
        moment[:start, rows] = moment[rows, :start].T
    return moment


def _factor(moment_ff: Tensor, penalty: Tensor) -> Tensor:
    """Returns the Cholesky factor [F, F] of the moment with the penalty on its diagonal."""
    matrix = moment_ff.clone()
    diagonal = matrix.diagonal()
    diagonal[:-1] += penalty
    jitter = JITTER * float(diagonal.mean())
    factor: Tensor
    factor, failed = torch.linalg.cholesky_ex(matrix)
    while int(failed):
        if not jitter < float(diagonal.max()):
            raise ValueError("features cannot be told from noise in their precision: rescale them")
        diagonal += jitter
        jitter *= 10.0
        factor, failed = torch.linalg.cholesky_ex(matrix)
    return factor
