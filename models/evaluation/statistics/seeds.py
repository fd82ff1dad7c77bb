"""Mean and deviation of a figure over the seeds of one encoder."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SeedMean:
    """A figure over seeds."""

    mean: float
    deviation: float | None
    """Sample standard deviation (over n − 1); None for a single seed, which tells none."""
    num_seeds: int


def over_seeds(values: Sequence[float]) -> SeedMean:
    """Returns mean and deviation of one figure a seed.

    Raises:
        ValueError: no seed.
    """
    if not values:
        raise ValueError("a mean over seeds needs at least one seed")
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return SeedMean(statistics.fmean(values), deviation, len(values))
