"""Means over several tasks of per-item scores, with a bootstrap interval over clusters of items.

One draw of clusters serves all tasks at once, because the tasks share documents and even
sentences: their errors move together, and the interval of an average counts that (percentile
interval: Efron & Tibshirani 1993, chapter 13). All figures are percentages.

Legend: R resamples, C clusters, T tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from models.evaluation.statistics.interval import Interval, percentile_interval
from models.evaluation.statistics.resampling import Resampling, times_drawn

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

Average = Literal["tasks", "items"]
"""Whether the mean is over tasks, each of equal weight, or over all their items."""


def mean_interval(
    scores: Mapping[str, npt.ArrayLike],
    clusters: Mapping[str, npt.ArrayLike],
    *,
    average: Average = "tasks",
    resampling: Resampling | None = None,
) -> Interval:
    """Returns the mean score of the tasks, with its interval.

    Args:
        scores: per-item scores of each task: 1 for a right answer and 0 for a wrong one, means of
            such over several models, or their differences.
        clusters: cluster of each item, an integer with one meaning in all tasks.

    Raises:
        ValueError: no task, a task without items, or not one cluster an item.
    """
    how = resampling or Resampling()
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in scores.items()}
    if not arrays or any(array.size == 0 for array in arrays.values()):
        sizes = {name: array.size for name, array in sorted(arrays.items())}
        raise ValueError(f"an interval needs at least one item a task, got {sizes}")
    sums_ct, counts_ct = _by_cluster(arrays, _of_each_item(arrays, clusters))
    weights_t = counts_ct.sum(axis=0) if average == "items" else np.ones(len(arrays))
    weights_t = weights_t / weights_t.sum()
    value = float((sums_ct.sum(axis=0) / counts_ct.sum(axis=0)) @ weights_t)
    resampled = _resampled_means(sums_ct, counts_ct, average, how)
    return percentile_interval(100.0 * value, 100.0 * resampled, confidence=how.confidence)


def _of_each_item(
    scores: Mapping[str, FloatArray], clusters: Mapping[str, npt.ArrayLike]
) -> dict[str, IntArray]:
    found = {name: np.asarray(clusters.get(name, ()), dtype=np.int64) for name in scores}
    for name, ids in found.items():
        if ids.size != scores[name].size:
            raise ValueError(
                f"task {name!r} has {scores[name].size} items but clusters of {ids.size}"
            )
    return found


def _by_cluster(
    scores: Mapping[str, FloatArray], clusters: Mapping[str, IntArray]
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
    sums_ct: FloatArray, counts_ct: FloatArray, average: Average, resampling: Resampling
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
        if average == "items":
            means.append(totals_rt.sum(axis=1) / sizes_rt.sum(axis=1))
        else:
            tasks_rt = np.where(sizes_rt > 0, totals_rt / np.maximum(sizes_rt, 1), observed_t)
            means.append(tasks_rt.mean(axis=1))
    return np.concatenate(means)
