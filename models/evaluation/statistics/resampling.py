"""Samples of items drawn with replacement, any scores of them, and the intervals that they give.

The folds of a nested cross-validation and the subsets of a similarity task keep their sizes, so
each is drawn from by itself (stratified bootstrap; Davison & Hinkley 1997, section 3.2). Where the
data say which items belong together, such as the sentences of a document, these clusters are drawn
instead: their items resemble each other, so single items would be drawn as if there were more of
them than there are (section 3.8). What the intervals cover is another draw of test items; not
another training set, seed or fold, nor documents of another kind.

The mean over several tasks has an interval of its own. One draw of clusters serves all tasks at
once, because the tasks share documents and even sentences: their errors move together, and the
interval of an average counts that (percentile interval: Efron & Tibshirani 1993, chapter 13).

Legend: R resamples, n items, C clusters, T tasks.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from pipeline.base.settings import Count, Natural, Range, Settings

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


IntArray = npt.NDArray[np.int64]

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


def observed_scores(scorer: Scorer, num_items: int) -> dict[str, float]:
    """Returns the scores of the items as they are, each once."""
    return {name: float(value[0]) for name, value in scorer(np.ones((1, num_items))).items()}


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
            are not kept apart: tasks share them, see `mean_interval`.
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


def mean_interval(
    scores: Mapping[str, npt.ArrayLike],
    clusters: Mapping[str, npt.ArrayLike],
    *,
    resampling: Resampling | None = None,
) -> Interval:
    """Returns the mean score of the tasks, each of equal weight, with its interval.

    Args:
        scores: scores of each task's items, at least one: 1 for a right answer and 0 for a wrong
            one, means of such over several models, or their differences.
        clusters: cluster of each item, an integer with one meaning in all tasks.
    """
    how = resampling or Resampling()
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in scores.items()}
    sums_ct, counts_ct = _by_cluster(arrays, clusters)
    weights_t = np.ones(len(arrays)) / len(arrays)
    value = float((sums_ct.sum(axis=0) / counts_ct.sum(axis=0)) @ weights_t)
    resampled = _resampled_means(sums_ct, counts_ct, how)
    return percentile_interval(100.0 * value, 100.0 * resampled, confidence=how.confidence)


def _by_cluster(
    scores: Mapping[str, FloatArray], clusters: Mapping[str, npt.ArrayLike]
) -> tuple[FloatArray, FloatArray]:
    """Returns the sum of scores and the number of items, each [C, T], tasks in sorted order."""
    names = sorted(scores)
    distinct, flat = np.unique(np.concatenate([clusters[n] for n in names]), return_inverse=True)
    parts = np.split(flat, np.cumsum([scores[name].size for name in names])[:-1])
    length = len(distinct)
    pairs = list(zip(names, parts, strict=True))
    sums = [np.bincount(part, weights=scores[name], minlength=length) for name, part in pairs]
    counts = [np.bincount(part, minlength=length).astype(np.float64) for _, part in pairs]
    return np.stack(sums, axis=1), np.stack(counts, axis=1)


def _resampled_means(
    sums_ct: FloatArray, counts_ct: FloatArray, resampling: Resampling
) -> FloatArray:
    """Returns the mean of each resample, [R].

    A task none of whose clusters was drawn enters with its observed mean: without it, the average
    would be one of other tasks.
    """
    observed_t = sums_ct.sum(axis=0) / counts_ct.sum(axis=0)
    generator = np.random.default_rng(resampling.seed)
    means: list[FloatArray] = []
    for size in resampling.block_sizes(len(sums_ct)):
        times_rc = times_drawn(len(sums_ct), size, generator)
        totals_rt, sizes_rt = times_rc @ sums_ct, times_rc @ counts_ct
        tasks_rt = np.where(sizes_rt > 0, totals_rt / np.maximum(sizes_rt, 1), observed_t)
        means.append(tasks_rt.mean(axis=1))
    return np.concatenate(means)
