"""Checks of what classifiers are given."""

from __future__ import annotations

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
