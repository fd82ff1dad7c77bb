"""Seeded bootstrap over test items: intervals of accuracies and of paired differences.

Items are drawn with replacement within each task (Efron & Tibshirani 1993, chapter 13, percentile
interval). All figures are percentages. Items of different tasks are drawn independently although
tasks share sentences, so an average's interval is slightly too narrow where they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

NUM_RESAMPLES = 2_000
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and the bounds of its bootstrap interval, in percent."""

    value: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside the interval."""
        return self.low > 0.0 or self.high < 0.0


def mean_interval(
    scores: Mapping[str, npt.ArrayLike],
    *,
    seed: int = 0,
    num_resamples: int = NUM_RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Returns the mean over tasks of each task's mean score, with its interval.

    Args:
        scores: per-item scores of each task, 1 for a right answer and 0 for a wrong one, or
            means of such over several models; one task gives the interval of its accuracy.

    Raises:
        ValueError: no task, or a task without items.
    """
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in scores.items()}
    if not arrays or any(array.size == 0 for array in arrays.values()):
        raise ValueError(f"an interval needs at least one item a task, got {_sizes(arrays)}")
    generator = np.random.default_rng(seed)
    resampled = np.zeros(num_resamples)
    for name in sorted(arrays):
        items = arrays[name]
        drawn = generator.integers(0, len(items), size=(num_resamples, len(items)))
        resampled += items[drawn].mean(axis=1) / len(arrays)
    tail = 50.0 * (1.0 - confidence)
    low, high = np.percentile(resampled, [tail, 100.0 - tail])
    value = float(np.mean([items.mean() for items in arrays.values()]))
    return Interval(100.0 * value, 100.0 * float(low), 100.0 * float(high))


def paired_difference(
    first: Mapping[str, npt.ArrayLike],
    second: Mapping[str, npt.ArrayLike],
    *,
    seed: int = 0,
    num_resamples: int = NUM_RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Returns first minus second, averaged over tasks, resampling both on the same items.

    Raises:
        ValueError: the two do not have the same tasks and items.
    """
    a = {name: np.asarray(values, dtype=np.float64) for name, values in first.items()}
    b = {name: np.asarray(values, dtype=np.float64) for name, values in second.items()}
    if _sizes(a) != _sizes(b):
        raise ValueError(
            f"a paired difference needs the same items: {_sizes(a)} against {_sizes(b)}"
        )
    return mean_interval(
        {name: a[name] - b[name] for name in a},
        seed=seed,
        num_resamples=num_resamples,
        confidence=confidence,
    )


def _sizes(arrays: Mapping[str, FloatArray]) -> dict[str, int]:
    return {name: arrays[name].size for name in sorted(arrays)}
