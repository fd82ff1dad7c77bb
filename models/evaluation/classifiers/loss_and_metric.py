"""What logistic regression walks by: its losses over all problems at once, and the metric of steps.

The metric is, for each penalty, the inverse of one matrix that stands for the Hessian:
c · XᵀX + penalty, where c bounds the loss's curvature. So it bounds the Hessian of every problem
with the penalty (Böhning 1992). It holds no label, and only decides how fast the answer is reached.

Legend: N sentences, P problems, V logits of a sentence in one problem, K classes, D features,
F = D + 1 with the constant column, which stands last and is not penalised. Losses are sums over the
sentences that a problem trains on, its rows [N, P]: 1 for those, 0 for others.
"""

from __future__ import annotations

from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor


class Loss(Protocol):
    """A convex loss of logits z [N, P, V]."""

    num_vectors: int
    """V."""
    curvature_bound: float
    """No logit's second derivative is larger (Böhning 1992)."""

    def values(self, z: Tensor, rows: Tensor) -> Tensor:
        """Returns each problem's loss [P], float64."""
        ...

    def residuals(self, z: Tensor, rows: Tensor) -> Tensor:
        """Returns the derivative by each logit [N, P, V]."""
        ...

    def curvatures(self, z: Tensor, along: Tensor, rows: Tensor) -> Tensor:
        """Returns each problem's second derivative [P] along a change of its logits, float64."""
        ...


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


MOMENT_BLOCKS = 8
ROWS_AT_ONCE = 16_384
JITTER = 1e-6
"""First addition to the diagonal, as a share of its mean, where rounding makes a matrix
indefinite; each further one is ten times as large."""


class Metric:
    """Inverse matrices, one a penalty, applied to gradients."""

    def __init__(
        self, features_nf: Tensor, penalties: Tensor, curvature: float, used: Tensor | None
    ) -> None:
        """Factorises one matrix a distinct penalty.

        Args:
            features_nf: [N, F], the last column constant.
            penalties: [G], each once.
            curvature: c.
            used: [N], bool; sentences that some problem trains on; None for all.
        """
        moment = _second_moment(features_nf, used).mul_(curvature)
        self._factors = [_factor(moment, penalty) for penalty in penalties]

    def __call__(self, gradients_pvf: Tensor, groups: Tensor) -> Tensor:
        """Returns gradients [P, V, F] times the inverse matrix of their penalty.

        Args:
            groups: [P], int64, ascending; which penalty each problem has.
        """
        result = torch.empty_like(gradients_pvf)
        counts = torch.bincount(groups, minlength=len(self._factors)).tolist()
        first = 0
        for factor, count in zip(self._factors, counts, strict=True):
            if count:
                part = gradients_pvf[first : first + count]
                flat = part.reshape(-1, part.shape[2])
                solved = torch.cholesky_solve(flat.T, factor).T
                result[first : first + count] = solved.reshape(part.shape)
            first += count
        return result


def _second_moment(features_nf: Tensor, used: Tensor | None) -> Tensor:
    """Returns XᵀX [F, F] of the sentences used.

    Sentences are taken a block at a time, so that none but a block is copied; only the part below
    the diagonal is multiplied, as it is symmetric.
    """
    width = features_nf.shape[1]
    moment = features_nf.new_zeros((width, width))
    step = -(-width // MOMENT_BLOCKS)
    for first in range(0, len(features_nf), ROWS_AT_ONCE):
        block = features_nf[first : first + ROWS_AT_ONCE]
        if used is not None:
            block = block[used[first : first + ROWS_AT_ONCE]]
        for start in range(0, width, step):
            rows = slice(start, start + step)
            moment[rows, : start + step].addmm_(block[:, rows].T, block[:, : start + step])
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
