"""Samples of items drawn with replacement, any scores of them, and the intervals that they give.

The folds of a nested cross-validation and the subsets of a similarity task keep their sizes, so
each is drawn from by itself (stratified bootstrap; Davison & Hinkley 1997, section 3.2). Where the
data say which items belong together, such as the sentences of a document, these clusters are drawn
instead: their items resemble each other, so single items would be drawn as if there were more of
them than there are (section 3.8). What the intervals cover is another draw of test items; not
another training set, seed or fold, nor documents of another kind.

A bootstrap resample, a swap of two encoders' answers and the observed items themselves are all
weights over items: how often each stands in a sample. So one implementation of a score serves them
all, and a score of R samples is a few products of matrices. Pearson's r of two series is
Σ (x − x̄)(y − ȳ) / √(Σ (x − x̄)² Σ (y − ȳ)²); Spearman's ρ is r of the ranks, where equal numbers
share the mean of the ranks they take up (Kendall & Gibbons 1990, section 3.1).

Legend: R samples, n items, C clusters, G groups, L distinct values.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from treeviews.pipeline.base.settings import Count, Natural, Range, Settings

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
"""From the weights of samples, [R, n], to each of their scores, [R]; see the module."""

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
    """Number of resamples."""
    confidence: Annotated[float, _BETWEEN] = CONFIDENCE
    """Confidence level of intervals."""
    seed: Natural = 0
    """Seed of the resampling."""

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


def pearson(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Returns Pearson's r; where one of the series is constant 0, as SentEval counts it."""
    x, y = (np.asarray(values, dtype=np.float64).ravel() for values in (first, second))
    if is_constant(x) or is_constant(y):
        return 0.0
    return float(np.clip((standardised(x) * standardised(y)).mean(), -1.0, 1.0))


def average_ranks(values: npt.ArrayLike) -> FloatArray:
    """Returns the rank of each number from 1, float64 [n]; equal ones share their mean rank."""
    _, level, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: FloatArray = (last - (counts - 1) / 2.0)[level]
    return ranks


def standardised(values: FloatArray) -> FloatArray:
    """Returns the numbers with mean 0 and deviation 1; all 0 where they are constant.

    They are divided by the largest first, so that no square overflows.
    """
    if is_constant(values):
        return np.zeros_like(values)
    centred = values / np.abs(values).max()
    centred = centred - centred.mean()
    result: FloatArray = centred / np.sqrt((centred**2).mean())
    return result


def is_constant(values: FloatArray) -> bool:
    """Whether all numbers are equal; so are fewer than two."""
    return values.size < 2 or bool(values.min() == values.max())


NEGLIGIBLE_VARIANCE = 1e-12
"""Share of the mean square below which what is left of it is rounding, and the sample constant."""


def pearson_scores(weights_rn: FloatArray, x_n: FloatArray, y_n: FloatArray) -> FloatArray:
    """Returns Pearson's r of each sample, [R]; 0 where x or y is constant in it.

    Args:
        x_n: standardised, so that sums of squares lose no digits; likewise ``y_n``.
    """
    terms = np.stack([np.ones_like(x_n), x_n, y_n, x_n * x_n, y_n * y_n, x_n * y_n], axis=1)
    size_r, x_r, y_r, xx_r, yy_r, xy_r = (weights_rn @ terms).T
    return _correlation(
        xy_r - x_r * y_r / size_r,
        _variance(xx_r, x_r * x_r / size_r),
        _variance(yy_r, y_r * y_r / size_r),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The distinct values of a series, by which the ranks of any sample of it are counted."""

    order_n: IntArray
    """Items from the smallest value to the largest."""
    starts_l: IntArray
    """Place in ``order_n`` at which each distinct value begins."""
    level_n: IntArray
    """Which of the distinct values each item has."""

    @classmethod
    def of(cls, values_n: FloatArray) -> Levels:
        """Returns the levels of a series."""
        _, level, counts = np.unique(values_n, return_inverse=True, return_counts=True)
        starts = np.cumsum(counts) - counts
        return cls(np.argsort(level, kind="stable"), starts, level)

    def centred_ranks(self, weights_rn: FloatArray) -> FloatArray:
        """Returns each item's average rank within each sample, less the mean rank, [R, n].

        An item that stands w times in a sample takes w ranks, shared with its equals: with W_l
        copies at its level, its rank is W_1 + … + W_l − W_l / 2 + 1 / 2.
        """
        copies_rl = np.take(weights_rn, self.order_n, axis=1)
        if len(self.starts_l) < len(self.order_n):
            copies_rl = np.add.reduceat(copies_rl, self.starts_l, axis=1)
        ranks_rl = np.cumsum(copies_rl, axis=1)
        total_r = ranks_rl[:, -1].copy()
        copies_rl *= 0.5
        ranks_rl -= copies_rl
        ranks_rl -= (0.5 * total_r)[:, None]
        return np.take(ranks_rl, self.level_n, axis=1)


def spearman_scores(weights_rn: FloatArray, x: Levels, y: Levels) -> FloatArray:
    """Returns Spearman's ρ of each sample, ranked anew, [R]; 0 where x or y is constant in it."""
    x_rn, y_rn = x.centred_ranks(weights_rn), y.centred_ranks(weights_rn)
    weighted_rn = weights_rn * x_rn
    xy_r = np.einsum("rn,rn->r", weighted_rn, y_rn)
    xx_r = np.einsum("rn,rn->r", weighted_rn, x_rn)
    y_rn *= y_rn
    return _correlation(xy_r, xx_r, np.einsum("rn,rn->r", weights_rn, y_rn))


def _variance(squares_r: FloatArray, squared_mean_r: FloatArray) -> FloatArray:
    left_r = squares_r - squared_mean_r
    return np.where(left_r > NEGLIGIBLE_VARIANCE * squares_r, left_r, 0.0)


def _correlation(xy_r: FloatArray, xx_r: FloatArray, yy_r: FloatArray) -> FloatArray:
    return np.clip(quotient(xy_r, np.sqrt(xx_r * yy_r)), -1.0, 1.0)


def quotient(above_r: FloatArray, below_r: FloatArray) -> FloatArray:
    """Returns above / below, [R]; 0 where that is not defined."""
    positive = below_r > 0.0
    return np.where(positive, above_r / np.where(positive, below_r, 1.0), 0.0)
