"""The probing table and what follows from it, computed from the rows' results."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.evaluation.result_files import RowResult
from models.evaluation.rows import BAG_OF_WORDS, PAIR_ROW, random_row
from models.evaluation.statistics import Interval, paired_difference

RANDOM_PREFIX = random_row(0)[:-1]

Answers = Mapping[str, Sequence[float]]
"""Per-item scores of each task."""


@dataclass(frozen=True, slots=True)
class RandomWeights:
    """The rows of the same architecture with random weights, taken together."""

    num_seeds: int
    average: float
    """Mean over seeds of the average over tasks, in percent."""
    deviation: float
    """Sample standard deviation over seeds; 0 for one seed."""
    tasks: Mapping[str, tuple[float, float]]
    """Mean and deviation over seeds of each task."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two rows on the same test items."""

    first: str
    second: str
    difference: Interval
    """First minus second, averaged over tasks."""
    tasks: Mapping[str, Interval]

    @property
    def verdict(self) -> str:
        """Returns the outcome in words."""
        if not self.difference.excludes_zero:
            return "is not told apart from"
        return "beats" if self.difference.value > 0 else "is below"


def answers_of(row: RowResult) -> dict[str, tuple[float, ...]]:
    """Returns a row's per-item scores."""
    return {name: tuple(map(float, task.correct)) for name, task in row.result.tasks.items()}


def random_weights(rows: Sequence[RowResult]) -> RandomWeights | None:
    """Returns the random rows' mean and spread over seeds, or None without such rows."""
    chosen = [row for row in rows if row.name.startswith(RANDOM_PREFIX)]
    if not chosen:
        return None
    average = _mean_and_deviation([row.result.average.value for row in chosen])
    tasks = {
        task: _mean_and_deviation([row.result.tasks[task].accuracy.value for row in chosen])
        for task in chosen[0].result.tasks
    }
    return RandomWeights(len(chosen), *average, tasks)


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def comparisons(rows: Sequence[RowResult]) -> list[Comparison]:
    """Returns the comparisons that the table exists for, those whose rows are there.

    The random rows enter as the mean of their answers to each item.
    """
    answers: dict[str, Answers] = {row.name: answers_of(row) for row in rows}
    random_names = [name for name in answers if name.startswith(RANDOM_PREFIX)]
    if random_names:
        answers["random weights"] = {
            task: np.mean([answers[name][task] for name in random_names], axis=0)
            for task in answers[random_names[0]]
        }
    wanted = (
        (PAIR_ROW, "random weights"),
        (PAIR_ROW, "bag_of_words_projected"),
        (PAIR_ROW, BAG_OF_WORDS),
        ("pair_and_bag_of_words", BAG_OF_WORDS),
        ("pair_and_bag_of_words", PAIR_ROW),
    )
    return [
        Comparison(
            first,
            second,
            paired_difference(answers[first], answers[second]),
            {
                task: paired_difference({task: answers[first][task]}, {task: answers[second][task]})
                for task in answers[first]
            },
        )
        for first, second in wanted
        if first in answers and second in answers
    ]
