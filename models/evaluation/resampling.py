"""Samples of items drawn with replacement, any scores of them, and the intervals that they give.

The folds of a nested cross-validation and the subsets of a similarity task keep their sizes, so
each is drawn from by itself (stratified bootstrap; Davison & Hinkley 1997, section 3.2). Where the
data say which items belong together, such as the sentences of a document, these clusters are drawn
instead: their items resemble each other, so single items would be drawn as if there were more of
them than there are (section 3.8). What the intervals cover is another draw of test items; not
another training set, seed or fold, nor documents of another kind.

Legend: R resamples, n items, C clusters.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from pipeline.base.settings import Count, Natural, Range, Settings

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

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
    """Returns the percentile interval (Efron & Tibshirani 1993, chapter 13) of figures [R]."""
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
    """Returns mean and deviation of one figure a seed, of at least one."""
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return SeedMean(statistics.fmean(values), deviation, len(values))


Scorer = Callable[[FloatArray], dict[str, FloatArray]]
"""From the weights of samples, [R, n], to each of their scores, [R]; see ``weighted_scores``."""

WEIGHTS_AT_ONCE = 1_000_000
"""Weights made before they are scored; bounds the memory, and belongs to what a seed gives."""


_BETWEEN = Range("lie between 0 and 1", lambda value: 0.0 < value < 1.0)
Drawn = Literal["item", "document", "sentence"]
"""What a resample draws of a task."""
MIN_UNITS = 10
"""Fewer documents in a task's test split are not resampled, but its sentences: the spread of so
few would be a guess. The interval is then too narrow for other documents, and the report says
so."""


class Resampling(Settings):
    """How often to draw, and what to report of it.

    Raises:
        ValueError: a value out of range.
    """

    called: ClassVar[str] = "resampling setting"

    num_resamples: Count = NUM_RESAMPLES
    confidence: Annotated[float, _BETWEEN] = CONFIDENCE
    seed: Natural = 0

    def block_sizes(self, num_items: int) -> Iterator[int]:
        """Yields how many samples to make at a time."""
        step = max(1, WEIGHTS_AT_ONCE // max(1, num_items))
        for start in range(0, self.num_resamples, step):
            yield min(step, self.num_resamples - start)


def draws_units(units: Sequence[object]) -> bool:
    """Returns whether test items of these units are drawn unit by unit."""
    return len(set(units)) >= MIN_UNITS


def clusters_of(sentences_n: IntArray, units_n: IntArray) -> IntArray:
    """Returns the cluster of each test item, [n], with one meaning in all tasks.

    Args:
        sentences_n: number of each item's sentence.
        units_n: number of each item's document or block, 0 or more.
    """
    if draws_units(units_n.tolist()):
        return units_n
    return -1 - sentences_n  # below zero, where no unit's number is


def drawn_as(clusters_n: IntArray | None) -> Drawn:
    """Returns what items of these clusters are drawn by, see `clusters_of`."""
    if clusters_n is None:
        return "item"
    return "sentence" if len(clusters_n) and clusters_n.min() < 0 else "document"


def bootstrap_scores(
    scorer: Scorer,
    groups_n: IntArray,
    resampling: Resampling,
    *,
    stream: int = 0,
    clusters_n: IntArray | None = None,
) -> dict[str, FloatArray]:
    """Returns each score of the resamples, [R].

    The same groups, clusters, resampling and stream give the same draws, so the scores of two
    encoders on the same items are paired, resample by resample.

    Args:
        groups_n: group of each item; items are drawn within it.
        stream: keeps the draws of one task apart from another's, whatever their sizes. Clusters
            are not kept apart: tasks share them, see `models.evaluation.averages`.
        clusters_n: cluster of each item; whole clusters are drawn, whatever the groups.
    """
    sizes = resampling.block_sizes(len(groups_n))
    if clusters_n is None:
        generator = np.random.default_rng([resampling.seed, stream])
        parts = [scorer(bootstrap_weights(groups_n, size, generator)) for size in sizes]
    else:
        distinct, cluster_n = np.unique(clusters_n, return_inverse=True)
        generator = np.random.default_rng(resampling.seed)
        drawn = (times_drawn(len(distinct), size, generator) for size in sizes)
        parts = [scorer(times_rc[:, cluster_n]) for times_rc in drawn]
    return concatenated(parts)


def times_drawn(num: int, num_resamples: int, generator: np.random.Generator) -> FloatArray:
    """Returns how often each of ``num`` things is among as many draws of them, [R, num].

    Successive calls go on with the generator's numbers: how many resamples are made at a time
    does not matter.
    """
    drawn = generator.integers(0, num, size=(num_resamples, num))
    drawn += np.arange(num_resamples)[:, None] * num
    counts = np.bincount(drawn.ravel(), minlength=num_resamples * num)
    return counts.reshape(num_resamples, num).astype(np.float64)


def bootstrap_weights(
    groups_n: IntArray, num_resamples: int, generator: np.random.Generator
) -> FloatArray:
    """Returns how often each item was drawn, [R, n]; each group's total is its size."""
    weights_rn = np.empty((num_resamples, len(groups_n)))
    for group in np.unique(groups_n):
        members = np.flatnonzero(groups_n == group)
        weights_rn[:, members] = times_drawn(len(members), num_resamples, generator)
    return weights_rn


def concatenated(parts: Sequence[dict[str, FloatArray]]) -> dict[str, FloatArray]:
    """Returns the scores of successive blocks of samples, joined."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
