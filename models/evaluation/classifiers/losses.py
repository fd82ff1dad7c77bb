"""The two losses of logistic regression, over all problems at once.

Legend: N sentences, P problems, V logits of a sentence in one problem, K classes. Values are sums
over the sentences that a problem trains on, its rows [N, P]: 1 for those, 0 for others.
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


class LogitLoss:
    """−log σ(z) for class 1 and −log σ(−z) for class 0; one logit a sentence."""

    num_vectors = 1
    curvature_bound = 0.25

    def __init__(self, labels: Tensor, dtype: torch.dtype) -> None:
        self._labels = labels.to(dtype)[:, None]

    def values(self, z: Tensor, rows: Tensor) -> Tensor:
        """Returns each problem's loss [P], float64."""
        z = z[:, :, 0]
        return _summed((F.softplus(z) - self._labels * z) * rows)

    def residuals(self, z: Tensor, rows: Tensor) -> Tensor:
        """Returns the derivative by each logit [N, P, 1]."""
        return ((torch.sigmoid(z[:, :, 0]) - self._labels) * rows)[:, :, None]

    def curvatures(self, z: Tensor, along: Tensor, rows: Tensor) -> Tensor:
        """Returns each problem's second derivative [P] along a change of its logits, float64."""
        share = torch.sigmoid(z[:, :, 0])
        return _summed(share * (1.0 - share) * along[:, :, 0].square() * rows)


class SoftmaxLoss:
    """Cross-entropy −Σ_k y_k log softmax(z)_k; the y of a sentence need not add up to 1."""

    curvature_bound = 0.5

    def __init__(self, targets: Tensor, dtype: torch.dtype) -> None:
        self.num_vectors = targets.shape[1]
        self._targets = targets.to(dtype)[:, None, :]
        self._mass = self._targets.sum(dim=2)

    def values(self, z: Tensor, rows: Tensor) -> Tensor:
        """Returns each problem's loss [P], float64."""
        expected = (self._targets * z).sum(dim=2)
        return _summed((self._mass * torch.logsumexp(z, dim=2) - expected) * rows)

    def residuals(self, z: Tensor, rows: Tensor) -> Tensor:
        """Returns the derivative by each logit [N, P, K]."""
        error = torch.softmax(z, dim=2).mul_(self._mass[:, :, None]).sub_(self._targets)
        return error.mul_(rows[:, :, None])

    def curvatures(self, z: Tensor, along: Tensor, rows: Tensor) -> Tensor:
        """Returns each problem's second derivative [P] along a change of its logits, float64."""
        return _summed(_spread_of(torch.softmax(z, dim=2), along) * self._mass * rows)


class ClassLoss:
    """Cross-entropy −log softmax(z)_y of one class a sentence, which many classes cost little."""

    curvature_bound = 0.5

    def __init__(self, labels: Tensor, num_classes: int) -> None:
        self.num_vectors = num_classes
        self._labels = labels[:, None, None]

    def values(self, z: Tensor, rows: Tensor) -> Tensor:
        """Returns each problem's loss [P], float64."""
        own = z.gather(2, self._own(z))[:, :, 0]
        return _summed((torch.logsumexp(z, dim=2) - own) * rows)

    def residuals(self, z: Tensor, rows: Tensor) -> Tensor:
        """Returns the derivative by each logit [N, P, K]."""
        own = self._own(z)
        error = torch.softmax(z, dim=2)
        error.scatter_add_(2, own, error.new_full((1, 1, 1), -1.0).expand(own.shape))
        return error.mul_(rows[:, :, None])

    def curvatures(self, z: Tensor, along: Tensor, rows: Tensor) -> Tensor:
        """Returns each problem's second derivative [P] along a change of its logits, float64."""
        return _summed(_spread_of(torch.softmax(z, dim=2), along) * rows)

    def _own(self, z: Tensor) -> Tensor:
        """Returns each sentence's class [N, P, 1]."""
        return self._labels.expand(z.shape[0], z.shape[1], 1)


def loss_for(targets: Tensor, num_classes: int, dtype: torch.dtype) -> Loss:
    """Returns the loss of classes [N] (int64) or of distributions over them [N, K]."""
    if targets.ndim == 2:
        return SoftmaxLoss(targets, dtype)
    if num_classes == 2:
        return LogitLoss(targets, dtype)
    return ClassLoss(targets, num_classes)


def _spread_of(share: Tensor, along: Tensor) -> Tensor:
    """Returns the variance [N, P] of a change of the logits [N, P, K] under these shares."""
    mean = (share * along).sum(dim=2, keepdim=True)
    return (share * (along - mean).square()).sum(dim=2)


def _summed(values: Tensor) -> Tensor:
    return values.sum(dim=0, dtype=torch.float64)
