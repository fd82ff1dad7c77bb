"""Seeded cluster bootstrap over test items: intervals of accuracies and of paired differences.

What is drawn with replacement is not the item but its cluster, the document it comes from: the
sentences of a document resemble each other, so single items would be drawn as if there were more
of them than there are (Davison & Hinkley 1997, section 3.8; percentile interval: Efron &
Tibshirani 1993, chapter 13). One draw of clusters serves all tasks at once, because the tasks
share documents and even sentences: their errors move together, and an average's interval counts
that. All figures are percentages. What the intervals do not cover: another training seed, and
documents of another kind.

Legend: R resamples, C clusters, T tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from models.evaluation.statistics.interval import (
    CONFIDENCE,
    NUM_RESAMPLES,
    Interval,
    percentile_interval,
)

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

DRAWS_AT_ONCE = 1_000_000
"""Clusters drawn before they are summed up; bounds the memory."""

Average = Literal["tasks", "items"]
"""Whether the mean is over tasks, each of equal weight, or over all their items."""


def mean_interval(
    scores: Mapping[str, npt.ArrayLike],
    clusters: Mapping[str, npt.ArrayLike] | None = None,
    *,
    average: Average = "tasks",
    seed: int = 0,
    num_resamples: int = NUM_RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Returns the mean score of the tasks, with its interval.

    Args:
        scores: per-item scores of each task, 1 for a right answer and 0 for a wrong one, or
            means of such over several models; one task gives the interval of its accuracy.
        clusters: cluster of each item, an integer with one meaning in all tasks; by default each
            item is a cluster of its own.

    Raises:
        ValueError: no task, a task without items, or not one cluster an item.
    """
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in scores.items()}
    if not arrays or any(array.size == 0 for array in arrays.values()):
        raise ValueError(f"an interval needs at least one item a task, got {_sizes(arrays)}")
    sums_ct, counts_ct = _by_cluster(arrays, _cluster_of_each_item(arrays, clusters))
    weights_t = counts_ct.sum(axis=0) if average == "items" else np.ones(len(arrays))
    weights_t = weights_t / weights_t.sum()
    value = float((sums_ct.sum(axis=0) / counts_ct.sum(axis=0)) @ weights_t)
    resampled = _resampled_means(
        sums_ct, counts_ct, average, np.random.default_rng(seed), num_resamples
    )
    return percentile_interval(100.0 * value, 100.0 * resampled, confidence=confidence)


def paired_difference(
    first: Mapping[str, npt.ArrayLike],
    second: Mapping[str, npt.ArrayLike],
    clusters: Mapping[str, npt.ArrayLike] | None = None,
    *,
    average: Average = "tasks",
    seed: int = 0,
    num_resamples: int = NUM_RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Returns the mean of first minus second, both drawn on the same items.

    Raises:
        ValueError: the two do not have the same tasks and items, or not one cluster an item.
    """
    a = {name: np.asarray(values, dtype=np.float64) for name, values in first.items()}
    b = {name: np.asarray(values, dtype=np.float64) for name, values in second.items()}
    if _sizes(a) != _sizes(b):
        raise ValueError(
            f"a paired difference needs the same items: {_sizes(a)} against {_sizes(b)}"
        )
    return mean_interval(
        {name: a[name] - b[name] for name in a},
        clusters,
        average=average,
        seed=seed,
        num_resamples=num_resamples,
        confidence=confidence,
    )


def _sizes(arrays: Mapping[str, FloatArray]) -> dict[str, int]:
    return {name: arrays[name].size for name in sorted(arrays)}


def _cluster_of_each_item(
    scores: Mapping[str, FloatArray], clusters: Mapping[str, npt.ArrayLike] | None
) -> dict[str, IntArray]:
    if clusters is None:
        ends = np.cumsum([scores[name].size for name in sorted(scores)])
        return {
            name: np.arange(end - scores[name].size, end)
            for name, end in zip(sorted(scores), ends, strict=True)
        }
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
    sums_ct: FloatArray,
    counts_ct: FloatArray,
    average: Average,
    generator: np.random.Generator,
    num_resamples: int,
) -> FloatArray:
    """Returns the mean of each resample, [R].

    A task none of whose clusters was drawn enters with its observed mean: without it, the average
    would be one of other tasks.
    """
    num_clusters = len(sums_ct)
    observed_t = sums_ct.sum(axis=0) / counts_ct.sum(axis=0)
    means: list[FloatArray] = []
    step = max(1, DRAWS_AT_ONCE // num_clusters)
    for start in range(0, num_resamples, step):
        size = min(step, num_resamples - start)
        drawn = generator.integers(0, num_clusters, size=(size, num_clusters))
        drawn += np.arange(size)[:, None] * num_clusters
        times_rc = np.bincount(drawn.ravel(), minlength=size * num_clusters)
        times_rc = times_rc.reshape(size, num_clusters).astype(np.float64)
        totals_rt, sizes_rt = times_rc @ sums_ct, times_rc @ counts_ct
        if average == "items":
            means.append(totals_rt.sum(axis=1) / sizes_rt.sum(axis=1))
        else:
            tasks_rt = np.where(sizes_rt > 0, totals_rt / np.maximum(sizes_rt, 1), observed_t)
            means.append(tasks_rt.mean(axis=1))
    return np.concatenate(means)
