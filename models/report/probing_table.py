"""The probing table and what follows from it, computed from results on derived tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from models.encoding.encoder_names import BAG_OF_WORDS
from models.evaluation.averages import average_over_tasks
from models.evaluation.comparison import Comparison, ComparisonConfig, compare
from models.evaluation.derived.declarations import TASKS
from models.evaluation.protocols.outcome import Outcome
from models.evaluation.statistics.resampling import Interval, over_seeds
from models.evaluation.task_result import (
    EncoderIdentity,
    Setup,
    TaskResult,
    read_result,
    scored,
)
from models.report.rows import (
    MAJORITY_ROW,
    PAIR_AND_WORDS_ROW,
    PAIR_ROW,
    PROJECTED_ROW,
    RANDOM_AND_WORDS_ROW,
    is_random_row,
    is_trained_row,
)

RANDOM_WEIGHTS = "random weights"
"""Stands for the rows of all random seeds together."""
TRAINED_SEEDS = "trained pair"
"""Likewise for the rows of all training seeds, where there are several."""

MAJORITY = "always the commonest class of the training split"


@dataclass(frozen=True, slots=True)
class RowFiles:
    """Where the results of a row of the table stand."""

    name: str
    description: str
    files: tuple[Path, ...]
    """One a task; those that say that a task is absent are passed over."""


@dataclass(frozen=True)
class ProbingRow:
    """A named row of the probing table."""

    name: str
    description: str
    results: Mapping[str, TaskResult]
    """By probing task, in the order of their declarations."""

    @cached_property
    def average(self) -> Interval:
        """Mean over the tasks."""
        return average_over_tasks([self.results])

    @property
    def width(self) -> int:
        """Dimensions of the embeddings; 0 for the majority class."""
        return next(iter(self.results.values())).outcome.width

    def accuracy(self, task: str) -> Interval:
        """Returns the accuracy on a task."""
        return self.results[task].scores["accuracy"]


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
class RowComparison:
    """Two rows, or the seeds of two, on the same test items."""

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

    rows: tuple[ProbingRow, ...]
    random: SeedSpread | None
    """None without rows of random weights."""
    trained: SeedSpread | None
    """None without a trained row."""
    comparisons: tuple[RowComparison, ...]

    @property
    def tasks(self) -> list[str]:
        """The tasks that all rows were scored on."""
        return list(self.rows[0].results)


def read_rows(rows: Sequence[RowFiles]) -> list[ProbingRow]:
    """Returns the rows of result files.

    Raises:
        FileNotFoundError: a result is missing.
        ValueError: no row, a row without a result, or rows that were scored on different tasks or
            data; names the row and the remedy.
    """
    if not rows:
        raise ValueError("a report needs at least one probing row")
    found = [_read_row(row) for row in rows]
    remedy = "evaluate all rows on the same probing data"
    for row in found:
        if not row.results:
            raise ValueError(f"row {row.name}: no probing task was scored; {remedy}")
        if list(row.results) != list(found[0].results):
            raise ValueError(
                f"row {row.name}: scored on {list(row.results)}, but {found[0].name} on "
                f"{list(found[0].results)}; {remedy}"
            )
        for task, result in row.results.items():
            if result.data.digest != found[0].results[task].data.digest:
                raise ValueError(
                    f"row {row.name}: {task} was scored on other sentences than in "
                    f"{found[0].name}; {remedy}"
                )
    return found


def _read_row(row: RowFiles) -> ProbingRow:
    results = {result.task.name: result for result in map(read_result, row.files)}
    named = {task.name: results.get(task.evaluation_task) for task in TASKS}
    present = {name: found for name, found in named.items() if isinstance(found, TaskResult)}
    return ProbingRow(row.name, row.description, present)


def majority_row(row: ProbingRow, probing: Mapping[str, Any]) -> ProbingRow:
    """Returns the row of one constant answer, on the items of another row.

    Args:
        probing: the summary of the probing data.
    """
    results = {
        task: _majority(result, probing["tasks"][task]["counts"]["train"])
        for task, result in row.results.items()
    }
    return ProbingRow(MAJORITY_ROW, MAJORITY, results)


def _majority(of: TaskResult, counts: Mapping[str, int]) -> TaskResult:
    classes = sorted(counts)
    commonest = classes.index(min(classes, key=lambda label: (-counts[label], label)))
    predicted = np.full(len(of.outcome.predictions.gold), float(commonest))
    outcome = Outcome(
        predictions=of.outcome.predictions.answered(predicted),
        counts=of.outcome.counts,
        width=0,
    )
    setup = Setup(EncoderIdentity("majority class", "majority-class"))
    return scored(of.task, setup, of.data, outcome, seconds={}, resampling=of.resampling)


def probing_table(rows: Sequence[ProbingRow]) -> ProbingTable:
    """Returns the table of rows that were scored on the same items."""
    return ProbingTable(
        tuple(rows),
        spread_over_seeds(rows, is_random_row),
        spread_over_seeds(rows, is_trained_row),
        tuple(comparisons(rows)),
    )


def spread_over_seeds(
    rows: Sequence[ProbingRow], chosen: Callable[[str], bool]
) -> SeedSpread | None:
    """Returns mean and spread of the rows with a chosen name, or None where there is none."""
    found = [row for row in rows if chosen(row.name)]
    if not found:
        return None
    average = _mean_and_deviation([row.average.value for row in found])
    tasks = {
        task: _mean_and_deviation([row.accuracy(task).value for row in found])
        for task in found[0].results
    }
    return SeedSpread(len(found), *average, tasks)


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    found = over_seeds(values)
    return found.mean, found.deviation or 0.0


def comparisons(rows: Sequence[ProbingRow]) -> list[RowComparison]:
    """Returns the comparisons that the table exists for, those whose rows are there."""
    sides = {row.name: [row.results] for row in rows}
    random = [row.results for row in rows if is_random_row(row.name)]
    trained = [row.results for row in rows if is_trained_row(row.name)]
    if random:
        sides[RANDOM_WEIGHTS] = random
    pair = PAIR_ROW
    if len(trained) > 1:
        pair = TRAINED_SEEDS
        sides[pair] = trained
    wanted = (
        (pair, RANDOM_WEIGHTS),
        (pair, PROJECTED_ROW),
        (pair, BAG_OF_WORDS),
        (PAIR_AND_WORDS_ROW, RANDOM_AND_WORDS_ROW),
        (PAIR_AND_WORDS_ROW, BAG_OF_WORDS),
        (PAIR_AND_WORDS_ROW, PAIR_ROW),
    )
    how = ComparisonConfig(test="bootstrap", correction="none")
    return [
        _row_comparison(
            first, second, list(rows[0].results), compare(sides[first], sides[second], how)
        )
        for first, second in wanted
        if first in sides and second in sides
    ]


def _row_comparison(
    first: str, second: str, tasks: Sequence[str], found: Comparison
) -> RowComparison:
    assert found.average is not None and found.over_items is not None
    differences = {task: row.difference for task, row in zip(tasks, found.tasks, strict=True)}
    return RowComparison(first, second, found.average, differences, found.over_items)
