"""Which figures differ from the baseline's, by `models.evaluation.comparison`'s paired test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from models.evaluation.comparison import ComparisonConfig, MainDifference, main_differences
from models.evaluation.scores import main_metric
from models.evaluation.statistics.significance import corrected
from models.evaluation.task_result import Result, scored_results
from models.experiments.columns import Column
from models.experiments.result_table import Cell
from models.experiments.scored_rows import ScoredRow

LEVEL = 0.05
"""Corrected p below which a difference is marked."""
CONFIG = ComparisonConfig()


def has_test(row: ScoredRow, baseline: ScoredRow) -> bool:
    """Returns whether a row is tested: not where seeds are those of a representation.

    The test takes seeds for trainings.
    """
    return not (row.row.seeded or baseline.row.seeded)


def is_main(column: Column) -> bool:
    """Returns whether a column holds a task's main score, which alone is tested."""
    return column.task is not None and column.score == main_metric(column.task)


def tested(row: ScoredRow, baseline: ScoredRow) -> dict[tuple[str, bool], MainDifference]:
    """Returns how a row differs from the baseline, by task and whether it is derived.

    p is corrected over all tasks of the row, published and derived ones together. Of rows that
    `has_test` denies one there is nothing.

    Raises:
        ValueError: the two were scored on different data.
    """
    if not has_test(row, baseline):
        return {}
    found = [
        (is_derived, one)
        for is_derived, first, second in (
            (False, row.seeds, baseline.seeds),
            (True, row.derived, baseline.derived),
        )
        for one in _compared(first, second)
    ]
    adjusted = corrected([one.p for _, one in found], CONFIG.correction)
    return {
        (one.task, is_derived): replace(one, p=p)
        for (is_derived, one), p in zip(found, adjusted, strict=True)
    }


def marked(cell: Cell, column: Column, found: Mapping[tuple[str, bool], MainDifference]) -> Cell:
    """Returns a cell with its test, where the column holds a task's main score."""
    if column.task is None or not is_main(column):
        return cell
    one = found.get((column.task.name, column.derived))
    if one is None or cell.value is None:
        return cell
    if one.p >= LEVEL:
        return replace(cell, p=one.p)
    is_better = (one.difference > 0) != column.lower_is_better
    return replace(cell, p=one.p, against_baseline="better" if is_better else "worse")


def _compared(
    first: Sequence[Mapping[str, Result]], second: Sequence[Mapping[str, Result]]
) -> Sequence[MainDifference]:
    """Returns the differences on the tasks that all seeds of both were scored on."""
    scored = [scored_results(results) for results in (*first, *second)]
    if not (first and second) or not scored:
        return ()
    shared = [task for task in scored[0] if all(task in results for results in scored)]
    if not shared:
        return ()
    sides = [
        [{task: results[task] for task in shared} for results in side] for side in (first, second)
    ]
    return main_differences(sides[0], sides[1], CONFIG.resampling)
