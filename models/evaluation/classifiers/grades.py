"""Scores as distributions over five grades, and back (Tai, Socher & Manning 2015, section 4.2).

A score y between two grades is a distribution over these with mean y: p[⌊y⌋] = ⌊y⌋ − y + 1 and
p[⌊y⌋ + 1] = y − ⌊y⌋. A predicted distribution p̂ stands for the score r · p̂, r = (1, 2, 3, 4, 5).

Legend: N pairs.
"""

from __future__ import annotations

import torch
from torch import Tensor

NUM_GRADES = 5


def grade_targets(scores: Tensor) -> Tensor:
    """Returns the distribution [N, 5] (float32) of each score [N] as SentEval encodes it.

    A score y below 1, as STS-B has them, keeps only its upper part: y at grade 1 and nothing
    else, so that its row sums to y and that of score 0 to 0.

    Raises:
        ValueError: a score that is not between 0 and 5.
    """
    y = scores.to(torch.float64)
    if not bool(((y >= 0) & (y <= NUM_GRADES)).all()):
        raise ValueError(f"scores must lie between 0 and {NUM_GRADES}: {y.tolist()[:5]}…")
    floor = y.floor()
    grades = _grades(y)
    upper = (grades == (floor + 1)[:, None]) * (y - floor)[:, None]
    lower = (grades == floor[:, None]) * (floor - y + 1)[:, None]
    return (upper + lower).float()


def expected_scores(probabilities: Tensor) -> Tensor:
    """Returns the mean grade (float64) of distributions [..., N, 5], between 1 and 5."""
    return probabilities.to(torch.float64) @ _grades(probabilities)


def _grades(like: Tensor) -> Tensor:
    return torch.arange(1, NUM_GRADES + 1, dtype=torch.float64, device=like.device)
