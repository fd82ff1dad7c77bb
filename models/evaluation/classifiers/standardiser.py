"""Features of zero mean and unit variance."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


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
