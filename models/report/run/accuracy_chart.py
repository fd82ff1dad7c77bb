"""The figures of the probing table as a drawing: a column a task, a row an encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.report.html.row_chart import Dot, RowChart, row_chart
from models.report.html.sections import Figure
from models.report.probing_table import MAJORITY_ROW, ProbingRow, ProbingTable
from models.report.significance import Marks


def accuracy_figure(
    name: str, table: ProbingTable, titles: Sequence[str], probing: Mapping[str, Any], marks: Marks
) -> Figure:
    """Returns each row's accuracy with its interval, and seeds of one encoder as one row.

    Args:
        name: of the drawing.
        table: the rows.
        titles: of its tasks.
        probing: what the summary of the probing data says of these.
        marks: which figures differ from the baseline's.
    """
    majority = next((row for row in table.rows if row.name == MAJORITY_ROW), None)
    chances = [probing["tasks"][task]["chance"] for task in table.tasks]
    chart = RowChart(
        name,
        "Accuracy by task",
        "Test accuracy in percent of every encoder on each task; the table below has the figures.",
        (*titles, "average"),
        tuple(_rows(table, marks)),
        (*chances, None if majority is None else majority.average.value),
        "test accuracy, %",
        marks.baseline,
    )
    bars = meaning_of_bars(table)
    caption = f"Each column has an axis of its own. {bars[0].upper()}{bars[1:]}."
    return Figure(caption, (row_chart(chart),))


def _rows(table: ProbingTable, marks: Marks) -> list[tuple[str, tuple[Dot, ...]]]:
    together = {row.name for name in table.spreads for row in table.of_spread(name)}
    shown: list[tuple[str, tuple[Dot, ...]]] = []
    for row in table.rows:
        if row.name not in together and row.name != MAJORITY_ROW:
            shown.append((row.description, _dots_of_row(table, row, marks)))
        for name in table.spreads:
            if row is table.of_spread(name)[-1]:
                shown.append((table.spreads[name].title(name), _dots_of_seeds(table, name, marks)))
    return shown


def _dots_of_row(table: ProbingTable, row: ProbingRow, marks: Marks) -> tuple[Dot, ...]:
    own = row.name == marks.key
    figures = [(row.accuracy(task), marks.of_task(row.name, task)) for task in table.tasks]
    figures.append((row.average, marks.of_average(row.name)))
    return tuple(Dot(one.value, one.low, one.high, mark, own) for one, mark in figures)


def _dots_of_seeds(table: ProbingTable, name: str, marks: Marks) -> tuple[Dot, ...]:
    spread, own = table.spreads[name], name == marks.key
    figures = [(*spread.tasks[task], marks.of_task(name, task)) for task in table.tasks]
    figures.append((spread.average, spread.deviation, marks.of_average(name)))
    return tuple(Dot(mean, mean - sd, mean + sd, mark, own) for mean, sd, mark in figures)


def meaning_of_bars(table: ProbingTable) -> str:
    """Returns what the bars are: of marks over seeds others than of single rows."""
    of_rows = "bars: 95 % bootstrap interval"
    over_seeds = " and ".join(table.spreads)
    if not over_seeds:
        return of_rows
    return f"bars of {over_seeds}: ± standard deviation over seeds; other {of_rows}"
