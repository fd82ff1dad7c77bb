"""The probing table and what follows from it, computed from the rows' results."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.evaluation.result_files import RowResult
from models.evaluation.rows import (
    BAG_OF_WORDS,
    PAIR_AND_WORDS_ROW,
    PAIR_ROW,
    PROJECTED_ROW,
    RANDOM_AND_WORDS_ROW,
    is_random_row,
    is_trained_row,
)
from models.evaluation.statistics.cluster_bootstrap import paired_difference
from models.evaluation.statistics.interval import Interval

RANDOM_WEIGHTS = "random weights"
"""Stands for the rows of all random seeds together, as the mean of their answers to each item."""
TRAINED_SEEDS = "trained pair"
"""Likewise for the rows of all training seeds, where there are several."""

Answers = Mapping[str, Sequence[float]]
"""Per-item scores of each task."""


@dataclass(frozen=True, slots=True)
class SeedSpread:
    """Rows that differ in the seed alone, taken together."""

    num_seeds: int
    average: float
    """Mean over seeds of the average over tasks, in percent."""
    deviation: float
    """Sample standard deviation over seeds; 0 for one seed."""
    tasks: Mapping[str, tuple[float, float]]
    """Mean and deviation over seeds of each task."""

    def title(self, name: str) -> str:
        """Returns what table and plot call the rows taken together."""
        return f"{name}, mean ± sd over {self.num_seeds} seeds"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two rows on the same test items."""

    first: str
    second: str
    difference: Interval
    """First minus second, averaged over tasks."""
    tasks: Mapping[str, Interval]
    over_items: Interval
    """First minus second over all test items, so that a task weighs by its size."""

    @property
    def verdict(self) -> str:
        """Returns the outcome in words."""
        if not self.difference.excludes_zero:
            return "is not told apart from"
        return "beats" if self.difference.value > 0 else "is below"


@dataclass(frozen=True, slots=True)
class ProbingTable:
    """The rows, what their seeds vary, and how they compare."""

    rows: tuple[RowResult, ...]
    random: SeedSpread | None
    """None without rows of random weights."""
    trained: SeedSpread | None
    """None without a trained row."""
    comparisons: tuple[Comparison, ...]

    @property
    def tasks(self) -> list[str]:
        """The tasks that all rows were probed on."""
        return list(self.rows[0].result.tasks)


def probing_table(rows: Sequence[RowResult]) -> ProbingTable:
    """Returns the table of rows that were probed on the same items."""
    return ProbingTable(
        tuple(rows),
        over_seeds(rows, is_random_row),
        over_seeds(rows, is_trained_row),
        tuple(comparisons(rows)),
    )


def over_seeds(rows: Sequence[RowResult], chosen: Callable[[str], bool]) -> SeedSpread | None:
    """Returns mean and spread of the rows with a chosen name, or None where there is none."""
    found = [row for row in rows if chosen(row.name)]
    if not found:
        return None
    average = _mean_and_deviation([row.result.average.value for row in found])
    tasks = {
        task: _mean_and_deviation([row.result.tasks[task].accuracy.value for row in found])
        for task in found[0].result.tasks
    }
    return SeedSpread(len(found), *average, tasks)


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def comparisons(rows: Sequence[RowResult]) -> list[Comparison]:
    """Returns the comparisons that the table exists for, those whose rows are there."""
    answers: dict[str, Answers] = {row.name: _answers_of(row) for row in rows}
    random = [name for name in answers if is_random_row(name)]
    trained = [name for name in answers if is_trained_row(name)]
    if random:
        answers[RANDOM_WEIGHTS] = _mean_answers([answers[name] for name in random])
    pair = PAIR_ROW
    if len(trained) > 1:
        pair = TRAINED_SEEDS
        answers[pair] = _mean_answers([answers[name] for name in trained])
    wanted = (
        (pair, RANDOM_WEIGHTS),
        (pair, PROJECTED_ROW),
        (pair, BAG_OF_WORDS),
        (PAIR_AND_WORDS_ROW, RANDOM_AND_WORDS_ROW),
        (PAIR_AND_WORDS_ROW, BAG_OF_WORDS),
        (PAIR_AND_WORDS_ROW, PAIR_ROW),
    )
    clusters = {task: score.clusters for task, score in rows[0].result.tasks.items()}
    return [
        _compare(first, second, answers, clusters)
        for first, second in wanted
        if first in answers and second in answers
    ]


def _answers_of(row: RowResult) -> dict[str, tuple[float, ...]]:
    return {name: tuple(map(float, task.correct)) for name, task in row.result.tasks.items()}


def _mean_answers(answers: Sequence[Answers]) -> Answers:
    return {task: np.mean([one[task] for one in answers], axis=0) for task in answers[0]}


def _compare(
    first: str,
    second: str,
    answers: Mapping[str, Answers],
    clusters: Mapping[str, Sequence[int]],
) -> Comparison:
    a, b = answers[first], answers[second]
    return Comparison(
        first,
        second,
        paired_difference(a, b, clusters),
        {t: paired_difference({t: a[t]}, {t: b[t]}, {t: clusters[t]}) for t in a},
        paired_difference(a, b, clusters, average="items"),
    )
