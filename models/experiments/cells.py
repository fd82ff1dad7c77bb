"""The cell of a row and a column, from results and summaries of trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from models.evaluation.averages import average_value, lacking, published_averages
from models.evaluation.evaluation_task import Features
from models.evaluation.resampling import Interval, over_seeds
from models.evaluation.task_result import AbsentResult, Result, TaskResult, scored_results
from models.experiments.columns import Column, Fact
from models.experiments.declaration import NotHere
from models.experiments.result_table import Cell
from models.experiments.scored_rows import ScoredRow, Summary

NOT_SCORED = "not scored"
SECONDS_PER_HOUR = 3600.0
_PARTS: Mapping[Features, int] = {
    "sentence": 1,
    "pair": 2,
    "passage": 2,
}
"""So many parts as wide as a sentence's vector stand side by side for a classifier."""


def measured_cell(row: ScoredRow, column: Column, absent: Mapping[str, str] | None = None) -> Cell:
    """Returns what a row has in a column, over its seeds.

    Args:
        absent: tasks whose data are not there, with the reason.
    """
    if isinstance(row.row.encoder, NotHere):
        return Cell(reason=row.row.encoder.reason)
    if column.fact is not None:
        return _fact(row, column.fact)
    seeds = row.of_column(column)
    if column.average is not None:
        return _average(column, seeds)
    name = column.task.name if column.task else ""
    found = [results.get(name) for results in seeds]
    scored = [scored_results(results).get(name) for results in seeds]
    if not scored or None in scored:
        said = next((one.reason for one in found if isinstance(one, AbsentResult)), NOT_SCORED)
        return Cell(reason=said if column.derived else (absent or {}).get(name, said))
    intervals = [one.scores.get(column.score) for one in scored if one is not None]
    if None in intervals:
        return Cell(reason=f"{name} has no score {column.score}")
    return over_cells([one for one in intervals if one is not None], times=column.times)


def over_cells(seeds: Sequence[Interval], *, times: float = 1.0) -> Cell:
    """Returns one figure a seed as a cell: a single one with its interval."""
    if len(seeds) == 1:
        one = seeds[0]
        return Cell(times * one.value, None, 1, times * one.low, times * one.high)
    return over_values([times * one.value for one in seeds])


def over_values(values: Sequence[float]) -> Cell:
    """Returns figures without intervals, one a seed, as a cell; without any, an empty one."""
    if not values:
        return Cell()
    mean = over_seeds(values)
    return Cell(mean.mean, mean.deviation, mean.num_seeds)


def _average(column: Column, seeds: Sequence[Mapping[str, Result]]) -> Cell:
    declared = column.average
    if declared is None:
        return Cell(reason=NOT_SCORED)
    found = seeds or ({},)
    if missing := sorted({task for results in found for task in lacking(declared, results)}):
        return Cell(reason=f"without {', '.join(missing)} it would be another figure")
    if len(seeds) == 1:
        return over_cells(published_averages([declared], seeds[0]))
    return over_values([average_value(declared, results) for results in seeds])


def _fact(row: ScoredRow, fact: Fact) -> Cell:
    if fact == "dimensions":
        return _dimensions(row)
    if fact == "development score":
        return _development(row)
    if fact == "hours":
        spent = [sum(part["seconds"] for part in seed) for seed in row.summaries]
        return over_values([seconds / SECONDS_PER_HOUR for seconds in spent])
    single = [seed[0] for seed in row.summaries if len(seed) == 1]
    if fact == "parameters":
        return over_values([float(one["num_parameters"]) for one in single[:1]])
    return held_out_accuracy(single)


def held_out_accuracy(summaries: Sequence[Summary]) -> Cell:
    """Returns the accuracy on held-out sentences over seeds, in percent."""
    final = [one["held_out"]["final"] for one in summaries]
    if any(not one["num_sentences"] for one in final):
        return Cell(reason="nothing is held out")
    return over_values([100.0 * one["accuracy"] for one in final])


def _dimensions(row: ScoredRow) -> Cell:
    """Returns the width of a sentence's vector, where a classifier reads it if one does."""
    widths = [(one.setup.learns, _sentence_width(one)) for one in row.scored]
    return over_values([float(max(widths)[1])]) if widths else Cell(reason=NOT_SCORED)


def _sentence_width(result: TaskResult) -> int:
    """Returns the width of one sentence's vector, of which features may have several parts."""
    parts = _PARTS[result.task.features] if result.setup.learns else 1
    return result.outcome.width // parts


def _development(row: ScoredRow) -> Cell:
    """Returns the mean development score of all tasks that learn."""
    seeds = []
    for place in range(max(len(row.seeds), len(row.derived))):
        results = [*row.seeds[place : place + 1], *row.derived[place : place + 1]]
        scores = [
            one.outcome.dev_score
            for by_task in results
            for one in scored_results(by_task).values()
            if one.outcome.dev_score is not None
        ]
        if not scores:
            return Cell(reason="no task of the table learns")
        seeds.append(fmean(scores))
    return over_values(seeds)
