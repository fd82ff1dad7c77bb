"""A figure with its bounds, or with its deviation over seeds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

CONFIDENCE = 0.95
NUM_RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and the bounds of its bootstrap interval, in the figure's own unit (percent)."""

    value: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside the interval."""
        return self.low > 0.0 or self.high < 0.0


def percentile_interval(
    value: float, resampled: FloatArray, *, confidence: float = CONFIDENCE
) -> Interval:
    """Returns the percentile interval (Efron & Tibshirani 1993, chapter 13) of figures [R].

    Raises:
        ValueError: the confidence is not between 0 and 1, or nothing was resampled.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}; give 0.95, say")
    if resampled.size == 0:
        raise ValueError("an interval needs at least one resample; raise their number")
    tail = 50.0 * (1.0 - confidence)
    low, high = np.percentile(resampled, [tail, 100.0 - tail])
    return Interval(value, float(low), float(high))


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
