"""The probing table and what follows from it, computed from results on derived tasks.

Its rows, what their seeds vary, how they compare, and which figures differ from random weights.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from treeviews.models.config.held_out import HELD_OUT_REMEDY
from treeviews.models.encoding.encoder_names import BAG_OF_WORDS, READY, SIF
from treeviews.models.evaluation.averages import average_over_tasks
from treeviews.models.evaluation.comparison import Comparison, ComparisonConfig, compare
from treeviews.models.evaluation.probing_tasks import TASKS
from treeviews.models.evaluation.resampling import CONFIDENCE, Interval, over_seeds
from treeviews.models.evaluation.task_result import TaskResult, read_result, scored_results
from treeviews.models.report.sections import Mark
from treeviews.pipeline.base.bundled import BUNDLED_MODELS

TRAINED = "trained"
RANDOM_SEEDS = (0, 1, 2)
PAIR_ROW = "pair"
PROJECTED_ROW = "bag_of_words_projected"
PAIR_AND_WORDS_ROW = "pair_and_bag_of_words"
RANDOM_AND_WORDS_ROW = "random_and_bag_of_words"
RANDOM_WEIGHTS = "random weights"
"""Stands for the rows of all random seeds together."""
TRAINED_SEEDS = "trained pair"
"""Likewise for the rows of all training seeds, where there are several."""
AVERAGE = "average"
"""Stands beside the tasks for the mean over them."""

# The rows, declared.


@dataclass(frozen=True, slots=True)
class RowDeclaration:
    """One row of the probing table."""

    name: str
    description: str
    encoder: str
    """As ``EvaluateEncoder`` takes it."""
    representation: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Fields of ``Representation`` that differ from the plain one."""


SPREADS = {TRAINED: re.compile("pair(_seed_.*)?"), RANDOM_WEIGHTS: re.compile("random_weights_.*")}
"""Which rows differ in their seed alone, by what the table calls them together."""


def declare_rows(
    views: Sequence[str], seeds: Sequence[int] = (0,), *, embedding_width: int
) -> tuple[RowDeclaration, ...]:
    """Returns the rows that stand beside trained views, in the table's order.

    Args:
        views: those of the finished model, as in ("DEP", "CONST").
        seeds: of training, one row each; the first one's views are also scored alone and joined
            with the words.
        embedding_width: width to which the bag of words is projected; its row needs no trained
            model.
    """
    pair, first = ",".join(views), f", seed {seeds[0]}" if len(seeds) > 1 else ""
    words, beside = "mean of the same word vectors", "joined with the mean of the word vectors"
    trained = [RowDeclaration(PAIR_ROW, f"{pair}, trained{first}", TRAINED)]
    trained += [
        RowDeclaration(f"{PAIR_ROW}_seed_{k}", f"{pair}, trained, seed {k}", f"{TRAINED}-{k}")
        for k in seeds[1:]
    ]
    # Equal views are told apart by their place; a single view has that row already.
    alone = [
        RowDeclaration(
            f"view_{place}-{view}",
            f"{view if len({*views}) == len(views) else f'view {place} ({view})'} alone, trained",
            TRAINED,
            {"views": [f"{place}-{view}"]},
        )
        for place, view in enumerate(views if len(views) > 1 else ())
    ]
    untrained = [
        RowDeclaration(f"random_weights_{k}", f"{pair}, random weights, seed {k}", f"random-{k}")
        for k in RANDOM_SEEDS
    ]
    projected = f"{words}, randomly projected to {embedding_width} dimensions"
    width = {"project_to_width": embedding_width}
    joined = {PAIR_AND_WORDS_ROW: trained[0], RANDOM_AND_WORDS_ROW: untrained[0]}
    return (
        *trained,
        *alone,
        *untrained,
        RowDeclaration(BAG_OF_WORDS, words, BAG_OF_WORDS),
        RowDeclaration(PROJECTED_ROW, projected, BAG_OF_WORDS, width),
        RowDeclaration(SIF, f"{words}, SIF weights", SIF),
        *(RowDeclaration(name, f"{name}, which ships", name) for name in BUNDLED_MODELS),
        *(
            RowDeclaration(name, f"{row.description}, {beside}", row.encoder, {"join_words": True})
            for name, row in joined.items()
        ),
    )


# The rows, scored.


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
        """Dimensions of the embeddings."""
        return next(iter(self.results.values())).outcome.width

    def accuracy(self, task: str) -> Interval:
        """Returns the accuracy on a task."""
        return self.results[task].scores["accuracy"]


def read_rows(rows: Mapping[RowDeclaration, Sequence[Path]]) -> tuple[ProbingRow, ...]:
    """Returns the rows of result files, one a task; those of absent tasks are passed over.

    Raises:
        FileNotFoundError: a result is missing.
        ValueError: nothing was scored, or rows were scored on different tasks or data; names the
            row and the remedy.
    """
    read = tuple(_read_row(row, files) for row, files in rows.items())
    data = [{task: result.data.digest for task, result in row.results.items()} for row in read]
    for row, of_row in zip(read, data, strict=True):
        if not of_row:
            raise ValueError(
                f"row {row.name}: no probing task could be scored, for want of held-out sentences; "
                f"give more text or a higher --limit, {HELD_OUT_REMEDY}"
            )
        if of_row != data[0]:
            raise ValueError(
                f"row {row.name}: scored on other probing tasks or sentences than {read[0].name}; "
                "evaluate all rows on the same probing data"
            )
    return read


def _read_row(row: RowDeclaration, files: Sequence[Path]) -> ProbingRow:
    results = {result.task.name: result for result in map(read_result, files)}
    by_probe = {
        task.name: results[task.evaluation_task]
        for task in TASKS
        if task.evaluation_task in results
    }
    return ProbingRow(row.name, row.description, scored_results(by_probe))


# What follows from them.


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


@dataclass(frozen=True)
class ProbingTable:
    """The rows, what their seeds vary, and how they compare."""

    rows: tuple[ProbingRow, ...]

    @property
    def tasks(self) -> list[str]:
        """The tasks that all rows were scored on."""
        return list(self.rows[0].results)

    def of_spread(self, name: str) -> list[ProbingRow]:
        """Returns the rows that are taken together under a name of `SPREADS`."""
        return [row for row in self.rows if SPREADS[name].fullmatch(row.name)]

    @cached_property
    def random(self) -> SeedSpread | None:
        """None without rows of random weights."""
        return _spread(self.of_spread(RANDOM_WEIGHTS))

    @cached_property
    def trained(self) -> SeedSpread | None:
        """None without a trained row."""
        return _spread(self.of_spread(TRAINED))

    @property
    def spreads(self) -> dict[str, SeedSpread]:
        """What the table gives over seeds, by name: random weights always, trained pairs if any."""
        several = self.trained if self.trained and self.trained.num_seeds > 1 else None
        spreads = {TRAINED: several, RANDOM_WEIGHTS: self.random}
        return {name: spread for name, spread in spreads.items() if spread is not None}

    @cached_property
    def comparisons(self) -> tuple[RowComparison, ...]:
        """The comparisons that the table exists for, of rows that are there."""
        sides = {row.name: [row] for row in self.rows}
        trained = self.of_spread(TRAINED)
        pair = TRAINED_SEEDS if len(trained) > 1 else PAIR_ROW
        sides |= {RANDOM_WEIGHTS: self.of_spread(RANDOM_WEIGHTS), pair: trained}
        wanted = (
            *((pair, name) for name in (RANDOM_WEIGHTS, PROJECTED_ROW, *READY)),
            *(
                (PAIR_AND_WORDS_ROW, name)
                for name in (RANDOM_AND_WORDS_ROW, BAG_OF_WORDS, PAIR_ROW)
            ),
        )
        return tuple(
            _comparison(first, second, sides[first], sides[second])
            for first, second in wanted
            if sides.get(first) and sides.get(second)
        )

    @property
    def baseline(self) -> str:
        """Random weights in words; empty where there are none."""
        num_seeds = 0 if self.random is None else self.random.num_seeds
        seeds = f"{num_seeds} seeds" if num_seeds > 1 else "one seed"
        return f"{RANDOM_WEIGHTS} ({seeds})" if num_seeds else ""

    @cached_property
    def marks(self) -> dict[str, dict[str, Mark]]:
        """Which figures differ from random weights on the same test items, by row and task.

        By paired bootstrap; p values of tasks are corrected for their number (Holm 1979), the mark
        of `AVERAGE` says that the interval of its difference excludes 0. Rows that are taken
        together stand under their name; random weights have none.
        """
        baseline = self.of_spread(RANDOM_WEIGHTS)
        sides = {row.name: [row] for row in self.rows if row not in baseline}
        sides |= {name: self.of_spread(name) for name in self.spreads if name != RANDOM_WEIGHTS}
        return {name: _marks(rows, baseline) for name, rows in sides.items() if baseline}

    def mark(self, row: str, task: str) -> Mark:
        """Returns the mark of a figure."""
        return self.marks.get(row, {}).get(task, "")


def _spread(rows: Sequence[ProbingRow]) -> SeedSpread | None:
    if not rows:
        return None

    tasks = {task: _over([row.accuracy(task) for row in rows]) for task in rows[0].results}
    return SeedSpread(len(rows), *_over([row.average for row in rows]), tasks)


def _over(seeds: Sequence[Interval]) -> tuple[float, float]:
    """Returns mean and deviation over seeds."""
    spread = over_seeds([seed.value for seed in seeds])
    return spread.mean, spread.deviation or 0.0


def _compared(rows: Sequence[ProbingRow], others: Sequence[ProbingRow]) -> Comparison:
    how = ComparisonConfig(test="bootstrap", correction="holm")
    return compare([row.results for row in rows], [row.results for row in others], how)


def _comparison(
    first: str, second: str, rows: Sequence[ProbingRow], others: Sequence[ProbingRow]
) -> RowComparison:
    compared = _compared(rows, others)
    assert compared.average is not None
    differences = (task.difference for task in compared.tasks)
    of_tasks = dict(zip(rows[0].results, differences, strict=True))
    return RowComparison(first, second, compared.average, of_tasks)


def _marks(rows: Sequence[ProbingRow], baseline: Sequence[ProbingRow]) -> dict[str, Mark]:
    compared = _compared(rows, baseline)
    marks = {
        task: _mark(row.difference, is_sure=row.corrected_p < 1 - CONFIDENCE)
        for task, row in zip(rows[0].results, compared.tasks, strict=True)
    }
    assert compared.average is not None
    return {**marks, AVERAGE: _mark(compared.average, is_sure=compared.average.excludes_zero)}


def _mark(difference: Interval, *, is_sure: bool) -> Mark:
    if not is_sure:
        return ""
    return "better" if difference.value > 0 else "worse"
