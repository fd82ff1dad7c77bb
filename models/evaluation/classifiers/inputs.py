"""Features as classifiers take them: checked, and of zero mean and unit variance if asked."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


def check_items(features: Tensor, answers: Tensor, split: str) -> None:
    """Checks the items of one split.

    Args:
        features: [N, D].
        answers: [N]; classes or scores.
        split: its name, for the message.

    Raises:
        ValueError: sizes that do not fit, no item, or features that are not finite.
    """
    if features.ndim != 2 or answers.shape != features.shape[:1] or not len(answers):
        raise ValueError(
            f"{split} features must be [N, D] and answers [N] with N >= 1, got "
            f"{tuple(features.shape)} and {tuple(answers.shape)}"
        )
    check_finite(features, split)


def check_finite(features: Tensor, split: str) -> None:
    """Checks features [N, D].

    Raises:
        ValueError: one is not finite; names the item.
    """
    if not bool(torch.isfinite(features).all()):
        row = int((~torch.isfinite(features)).any(dim=1).nonzero()[0])
        raise ValueError(
            f"features of {split} item {row} are not finite; look for overflows in the embeddings"
        )


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
