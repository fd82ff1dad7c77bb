"""What a table says first: what came out, and how much of it was measured here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.experiments.exports.grid import figure
from models.experiments.result_table import ResultTable
from models.report.markdown import number_of


@dataclass(frozen=True, slots=True)
class Tally:
    """How much of a table was measured here."""

    rows: int
    """With a score."""
    scores: int
    absent: int
    """Scores in whose place the table says so."""


def headline(table: ResultTable) -> list[str]:
    """Returns what a table says first: its result, how much was measured, which row is best."""
    found = tally(table)
    said = [
        f"{table.title}{_result(table)}",
        f"{found.rows} of {number_of(len(table.rows), 'row')} measured here, "
        f"{number_of(found.scores, 'score')}, {found.absent} absent.",
    ]
    return said + [
        f"Best by {row.chosen_by}: {row.full_title}." for row in table.rows if row.chosen_by
    ]


def headline_of_all(tables: Sequence[ResultTable]) -> str:
    """Returns what a page of several tables says first: how much was measured in how many."""
    found = [tally(table) for table in tables]
    filled = sum(one.scores > 0 for one in found)
    return (
        f"{number_of(sum(one.scores for one in found), 'score')} measured here in {filled} of "
        f"{number_of(len(tables), 'table')}, {sum(one.absent for one in found)} absent."
    )


def tally(table: ResultTable) -> Tally:
    """Returns how much was measured; widths, hours and other facts of models are no scores."""
    cells = [
        [
            cell
            for line in row.lines
            if line.measured
            for cell, heading in zip(line.cells, table.columns, strict=True)
            if not heading.is_fact
        ]
        for row in table.rows
    ]
    scored = [sum(cell.value is not None for cell in row) for row in cells]
    absent = sum(cell.value is None and bool(cell.reason) for row in cells for cell in row)
    empty = sum(bool(row.not_here) and not row.lines for row in table.rows)
    absent += empty * sum(not heading.is_fact for heading in table.columns)
    return Tally(sum(n > 0 for n in scored), sum(scored), absent)


def _result(table: ResultTable) -> str:
    """Returns the best trained row of the first column with scores; of any row where none is."""
    for place, heading in enumerate(table.columns):
        found = {
            row: line.cells[place]
            for row in table.rows
            for line in row.lines
            if line.measured and line.cells[place].value is not None
        }
        if heading.is_fact or not found:
            continue
        rows = [row for row in found if row.is_trained] or list(found)
        sign = -1 if heading.lower_is_better else 1
        best = max(rows, key=lambda row: sign * (found[row].value or 0.0))
        kind = "trained row" if best.is_trained else "row"
        return (
            f", {heading.name}: best of {number_of(len(rows), kind)} is “{best.full_title}” with "
            f"{figure(found[best], heading)}."
        )
    return ": no score was measured here (the notes say why)."
