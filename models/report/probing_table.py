"""The probing table and what follows from it, computed from results on derived tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from models.encoding.encoder_names import BAG_OF_WORDS, READY, SIF
from models.evaluation.averages import average_over_tasks
from models.evaluation.comparison import ComparisonConfig, compare
from models.evaluation.probing_tasks import TASKS
from models.evaluation.resampling import Interval, over_seeds
from models.evaluation.scores import Outcome
from models.evaluation.task_result import (
    EncoderIdentity,
    Setup,
    TaskResult,
    read_result,
    scored,
    scored_results,
)
from pipeline.base.bundled import BUNDLED_MODELS

TRAINED = "trained"
RANDOM_SEEDS = (0, 1, 2)

_PLACES = ("first", "second", "third")

PAIR_ROW = "pair"
MAJORITY_ROW = "majority_class"
"""The one row that is no encoder; the report makes it of the classes' counts."""
PROJECTED_ROW = "bag_of_words_projected"
PAIR_AND_WORDS_ROW = "pair_and_bag_of_words"
RANDOM_AND_WORDS_ROW = "random_and_bag_of_words"


@dataclass(frozen=True, slots=True)
class RowDeclaration:
    """One row of the probing table."""

    name: str
    description: str
    encoder: str
    """As ``EvaluateEncoder`` takes it."""
    representation: Mapping[str, Any] = field(default_factory=dict)
    """Fields of ``Representation`` that differ from the plain one."""


def random_row(seed: int) -> str:
    """Returns the name of the row of an untrained encoder."""
    return f"random_weights_{seed}"


def is_random_row(name: str) -> bool:
    """Returns whether a row is an untrained encoder, of whichever seed, by itself."""
    return name.startswith(random_row(0)[:-1])


def is_trained_row(name: str) -> bool:
    """Returns whether a row is a trained pair, of whichever seed, by itself."""
    return name == PAIR_ROW or name.startswith(f"{PAIR_ROW}_seed_")


def declare_rows(
    views: Sequence[str],
    random_seeds: Sequence[int] = RANDOM_SEEDS,
    trained_seeds: Sequence[int] = (0,),
    *,
    embedding_width: int,
) -> tuple[RowDeclaration, ...]:
    """Returns the rows that stand beside trained views, in the table's order.

    Args:
        views: those of the finished model, as in ("DEP", "CONST").
        random_seeds: one row each for the same architecture with random weights.
        trained_seeds: one row each for a pair trained with that seed; the first one's views are
            also scored alone and joined with the words.
        embedding_width: width to which the bag of words is projected; its row needs no trained
            model.

    Raises:
        ValueError: no seed of training, or one given twice.
    """
    _check_seeds(trained_seeds, random_seeds)
    joined = ",".join(views)
    words, beside = "mean of the same word vectors", "joined with the mean of the word vectors"
    untrained = [
        RowDeclaration(random_row(seed), f"{joined}, random weights, seed {seed}", f"random-{seed}")
        for seed in random_seeds
    ]
    projected = f"{words}, randomly projected to {embedding_width} dimensions"
    return (
        *_trained_rows(joined, trained_seeds),
        *_view_rows(views),
        *untrained,
        RowDeclaration(BAG_OF_WORDS, words, BAG_OF_WORDS),
        RowDeclaration(
            PROJECTED_ROW, projected, BAG_OF_WORDS, {"project_to_width": embedding_width}
        ),
        RowDeclaration(SIF, f"{words}, SIF weights", SIF),
        *(RowDeclaration(name, f"{name}, which ships", name) for name in BUNDLED_MODELS),
        *(
            RowDeclaration(name, f"{said}, {beside}", encoder, {"join_words": True})
            for name, said, encoder in (
                (PAIR_AND_WORDS_ROW, f"{joined}, trained", TRAINED),
                *((RANDOM_AND_WORDS_ROW, row.description, row.encoder) for row in untrained[:1]),
            )
        ),
    )


def _check_seeds(trained_seeds: Sequence[int], random_seeds: Sequence[int]) -> None:
    if not trained_seeds or any(len({*s}) < len(s) for s in (trained_seeds, random_seeds)):
        raise ValueError(
            f"seeds must differ and one of training be given, got trained_seeds "
            f"{list(trained_seeds)} and random_seeds {list(random_seeds)}"
        )


def _trained_rows(joined: str, seeds: Sequence[int]) -> Iterator[RowDeclaration]:
    for seed in seeds:
        which = "" if len(seeds) == 1 else f", seed {seed}"
        is_first = seed == seeds[0]
        yield RowDeclaration(
            PAIR_ROW if is_first else f"{PAIR_ROW}_seed_{seed}",
            f"{joined}, trained{which}",
            TRAINED if is_first else f"{TRAINED}-{seed}",
        )


def _view_rows(views: Sequence[str]) -> Iterator[RowDeclaration]:
    """Yields each view by itself; equal ones are told apart by their place.

    A single view has that row already.
    """
    for number, view in enumerate(views if len(views) > 1 else ()):
        alone = f"{view} alone"
        if len(set(views)) < len(views):
            alone = f"{_PLACES[number]} view ({view}) alone"
        name = f"{number}-{view}"
        yield RowDeclaration(f"view_{name}", f"{alone}, trained", TRAINED, {"views": [name]})


RANDOM_WEIGHTS = "random weights"
"""Stands for the rows of all random seeds together."""
TRAINED_SEEDS = "trained pair"
"""Likewise for the rows of all training seeds, where there are several."""

ROWS_OF_SPREAD = {"trained": is_trained_row, RANDOM_WEIGHTS: is_random_row}
"""Which rows are taken together, by what table and plot call them."""

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
        return average_over_tasks(self.results)

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

    @property
    def spreads(self) -> dict[str, SeedSpread]:
        """What is shown for several seeds, by name: random weights always, trained pairs if any."""
        trained = {} if self.trained is None else {"trained": self.trained}
        several = {name: spread for name, spread in trained.items() if spread.num_seeds > 1}
        return several if self.random is None else {**several, RANDOM_WEIGHTS: self.random}

    def of_spread(self, name: str) -> list[ProbingRow]:
        """Returns the rows that are taken together under a name."""
        return [row for row in self.rows if ROWS_OF_SPREAD[name](row.name)]


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
    there = {name: found for name, found in named.items() if found is not None}
    return ProbingRow(row.name, row.description, scored_results(there))


def majority_row(row: ProbingRow, probing: Mapping[str, Any]) -> ProbingRow:
    """Returns the row of one constant answer, on the items of another row.

    Args:
        probing: the summary of the probing data.
    """
    counts = {task: probing["tasks"][task]["counts"]["train"] for task in row.results}
    results = {task: _majority(result, counts[task]) for task, result in row.results.items()}
    return ProbingRow(MAJORITY_ROW, MAJORITY, results)


def _majority(of: TaskResult, counts: Mapping[str, int]) -> TaskResult:
    classes = sorted(counts)
    commonest = classes.index(min(classes, key=lambda label: (-counts[label], label)))
    predicted = np.full(len(of.outcome.predictions.gold), float(commonest))
    outcome = Outcome(of.outcome.predictions.answered(predicted), of.outcome.counts, width=0)
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
    if random := [row.results for row in rows if is_random_row(row.name)]:
        sides[RANDOM_WEIGHTS] = random
    trained = [row.results for row in rows if is_trained_row(row.name)]
    pair = TRAINED_SEEDS if len(trained) > 1 else PAIR_ROW
    if trained:
        sides[pair] = trained
    wanted = (
        (pair, RANDOM_WEIGHTS),
        (pair, PROJECTED_ROW),
        *((pair, name) for name in READY),
        (PAIR_AND_WORDS_ROW, RANDOM_AND_WORDS_ROW),
        (PAIR_AND_WORDS_ROW, BAG_OF_WORDS),
        (PAIR_AND_WORDS_ROW, PAIR_ROW),
    )
    how = ComparisonConfig(test="bootstrap", correction="none")
    made = []
    for first, second in wanted:
        if first in sides and second in sides:
            found = compare(sides[first], sides[second], how)
            assert found.average is not None
            of_tasks = zip(rows[0].results, (one.difference for one in found.tasks), strict=True)
            made.append(RowComparison(first, second, found.average, dict(of_tasks)))
    return made
