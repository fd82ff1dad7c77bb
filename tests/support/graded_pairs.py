"""Pairs of which a linear map knows the relatedness, but for noise."""

from __future__ import annotations

import torch
from torch import Tensor


def graded_pairs(num_pairs: int, noise: float = 0.3) -> tuple[Tensor, Tensor]:
    """Returns features [n, 8] and scores [n] (float64) from 1 to 5; seeded by the number."""
    generator = torch.Generator().manual_seed(num_pairs)
    features = torch.randn(num_pairs, 8, generator=generator)
    direction = torch.tensor([1.0, -1.0, 0.5, 0.5, 0.0, 0.0, 0.25, -0.25])
    position = features @ direction + noise * torch.randn(num_pairs, generator=generator)
    return features, 1 + 4 * torch.sigmoid(position.double())
