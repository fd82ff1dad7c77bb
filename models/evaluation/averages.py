"""Averages over tasks as publications give them, from result files.

Simoulin & Crabbé's average (2021, table on multi-view) scales every figure to percent, takes the
mean of a task's own figures first (MRPC: accuracy and F1; SICK-R: 100 r, 100 ρ and 100 − 100 MSE)
and then the mean over MR, CR, SUBJ, MPQA, TREC, MRPC and SICK-R. Three of the six rows that they
average are also given task by task, and the formula gives all three to the printed digit: SEQ,
CONST 85.12 (85.1), DEP, SEQ 85.34 (85.3), DEP, CONST 86.00 (86.0). Where only accuracies and r are
published, another mean has to do; on these rows it is higher by 0.4 and must not stand in the same
column.

Opper & Siddharth (2025) average six sets of sentence pairs, each by Spearman's ρ over all pairs of
a year's set: subsets are pooled, and no mean over subsets is taken.

Derived tasks have an average of their own, the mean accuracy. One draw of clusters serves all tasks
at once, because the tasks share documents and even sentences: their errors move together, and the
interval of an average counts that (percentile interval: Efron & Tibshirani 1993, chapter 13).

Legend: R resamples, C clusters, T tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treeviews.models.evaluation.resampling import (
    FloatArray,
    IntArray,
    Interval,
    Resampling,
    percentile_interval,
    times_drawn,
)
from treeviews.models.evaluation.scores import resampled_scores
from treeviews.models.evaluation.task_registry import DECLARED
from treeviews.models.evaluation.task_result import Result, TaskResult, scored_results


@dataclass(frozen=True, slots=True)
class AverageDeclaration:
    """An average: which scores of which tasks."""

    name: str
    description: str
    parts: Mapping[str, Sequence[str]]
    """Scores by task; a task counts with their mean, and an error as 100 − 100 times itself."""


AVERAGES = tuple(AverageDeclaration(name, **of) for name, of in DECLARED["averages"].items())


def lacking(declaration: AverageDeclaration, results: Mapping[str, Result]) -> list[str]:
    """Returns the tasks that an average needs and that were not scored."""
    return [task for task in declaration.parts if task not in scored_results(results)]


def published_average(declaration: AverageDeclaration, results: Mapping[str, Result]) -> Interval:
    """Returns an average with its interval, each task's items resampled by themselves.

    They are resampled as for the intervals of the results. None of its tasks may be `lacking`: the
    mean of the others is another figure.
    """
    scored = scored_results({task: results[task] for task in declaration.parts})
    resampling = next(iter(scored.values())).resampling
    drawn = {
        task: resampled_scores(result.task, result.outcome.predictions, resampling)
        for task, result in scored.items()
    }
    value, resampled = average_value(declaration, results), average_of(declaration, drawn)
    return percentile_interval(value, resampled, confidence=resampling.confidence)


def average_value(declaration: AverageDeclaration, results: Mapping[str, Result]) -> float:
    """Returns an average without its interval; none of its tasks may be `lacking`."""
    scores = {
        task: {name: np.array([score.value]) for name, score in result.scores.items()}
        for task, result in scored_results(results).items()
    }
    return float(average_of(declaration, scores)[0])


def average_of(
    declaration: AverageDeclaration, scores: Mapping[str, Mapping[str, FloatArray]]
) -> FloatArray:
    """Returns the average of R sets of scores, [R], given by task and score, [R] each."""
    parts = [
        np.mean([100.0 - 100.0 * of[n] if n == "mse" else of[n] for n in names], axis=0)
        for names, of in ((names, scores[task]) for task, names in declaration.parts.items())
    ]
    average: FloatArray = np.mean(parts, axis=0)
    return average


def average_difference(
    first: Sequence[Mapping[str, TaskResult]],
    second: Sequence[Mapping[str, TaskResult]],
    resampling: Resampling,
) -> Interval | None:
    """Returns first minus second over the tasks.

    None where one draw of clusters could not serve all tasks: a task has none, or the tasks are not
    derived from one corpus.

    Args:
        first: the results of each seed by task; the same tasks on both sides.
    """
    clusters = _clusters(first[0])
    corpora = {result.data.derived_from for result in first[0].values()}
    if not clusters or len(clusters) < len(first[0]) or len(corpora) > 1:
        return None
    a, b = _right(first), _right(second)
    differences = {task: a[task] - b[task] for task in a}
    return mean_interval(differences, clusters, resampling)


def average_over_tasks(results: Mapping[str, TaskResult]) -> Interval:
    """Returns the mean accuracy over tasks that are derived from one corpus."""
    resampling = next(iter(results.values())).resampling
    return mean_interval(_right([results]), _clusters(results), resampling)


def _right(seeds: Sequence[Mapping[str, TaskResult]]) -> dict[str, FloatArray]:
    """Returns the share of the seeds that answer each item rightly, [n] by task."""
    answers = {task: [seed[task].outcome.predictions for seed in seeds] for task in seeds[0]}
    return {
        task: np.mean([each.predicted == each.gold for each in of_task], axis=0)
        for task, of_task in answers.items()
    }


def _clusters(results: Mapping[str, TaskResult]) -> dict[str, IntArray]:
    clusters = {task: result.outcome.predictions.clusters for task, result in results.items()}
    return {task: ids for task, ids in clusters.items() if ids is not None}


def mean_interval(
    scores: Mapping[str, FloatArray],
    clusters: Mapping[str, IntArray],
    resampling: Resampling,
) -> Interval:
    """Returns the mean score of the tasks, each of equal weight, with its interval.

    A task none of whose clusters was drawn enters with its observed mean: without it, the average
    would be one of other tasks.

    Args:
        scores: scores of each task's items, at least one: 1 for a right answer and 0 for a wrong
            one, means of such over several models, or their differences.
        clusters: cluster of each item, an integer with one meaning in all tasks.
    """
    names = sorted(scores)
    distinct, flat = np.unique(np.concatenate([clusters[n] for n in names]), return_inverse=True)
    parts, num = np.split(flat, np.cumsum([len(scores[n]) for n in names])[:-1]), len(distinct)
    # Sum of scores and number of items of each cluster.
    sums = [np.bincount(part, scores[n], num) for n, part in zip(names, parts, strict=True)]
    sums_ct = np.stack(sums, axis=1)
    counts_ct = np.stack([np.bincount(part, minlength=num) for part in parts], 1).astype(np.float64)
    observed_t = sums_ct.sum(axis=0) / counts_ct.sum(axis=0)
    generator = np.random.default_rng(resampling.seed)
    means: list[FloatArray] = []
    for size in resampling.block_sizes(num):
        times_rc = times_drawn(num, size, generator)
        totals_rt, sizes_rt = times_rc @ sums_ct, times_rc @ counts_ct
        tasks_rt = np.where(sizes_rt > 0, totals_rt / np.maximum(sizes_rt, 1), observed_t)
        means.append(tasks_rt.mean(axis=1))
    value = float(observed_t @ (np.ones(len(names)) / len(names)))
    resampled = np.concatenate(means)
    return percentile_interval(100.0 * value, 100.0 * resampled, confidence=resampling.confidence)
