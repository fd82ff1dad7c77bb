"""What a table says first: what came out, and how much of it was measured here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from models.experiments.exports.grid import ABSENT, figure, grid
from models.experiments.result_table import Cell, Heading, ResultTable, TableRow

_NAMED = 4
"""So many columns are named where all are absent; the others are counted."""
_UNTRAINED = ", random weights"
"""What sets the row of an untrained model apart from that of the same model trained."""


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
        f"{found.rows} of {_counted(len(table.rows), 'row')} measured here, "
        f"{_counted(found.scores, 'score')}, {found.absent} absent.",
    ]
    return said + [
        f"Best by {row.chosen_by}: {row.full_title}." for row in table.rows if row.chosen_by
    ]


def headline_of_all(tables: Sequence[ResultTable]) -> str:
    """Returns what a page of several tables says first: how much was measured in how many."""
    found = [tally(table) for table in tables]
    filled = sum(one.scores > 0 for one in found)
    return (
        f"{_counted(sum(one.scores for one in found), 'score')} measured here in {filled} of "
        f"{_counted(len(tables), 'table')}, {sum(one.absent for one in found)} absent."
    )


def tally(table: ResultTable) -> Tally:
    """Returns how much was measured; widths, hours and other facts of models are no scores."""
    scored = [
        sum(
            cell.value is not None
            for line in row.lines
            if line.measured
            for cell, heading in zip(line.cells, table.columns, strict=True)
            if not heading.is_fact
        )
        for row in table.rows
    ]
    places = [place for place, heading in enumerate(table.columns) if not heading.is_fact]
    shown = grid(table)
    cells = (
        row.cells[shown.num_text_columns + place]
        for row in shown.rows
        for place in places
        if row.cells
    )
    absent = sum(cell.text == ABSENT for cell in cells if not isinstance(cell, str))
    return Tally(sum(n > 0 for n in scored), sum(scored), absent)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else f'{noun}s'}"


def _result(table: ResultTable) -> str:
    """Returns the best row of the first column with scores, beside the baseline; or why none is."""
    for place, heading in enumerate(table.columns):
        found = {} if heading.is_fact else _measured(table, place)
        others = {row: cell for row, cell in found.items() if row.full_title != table.baseline}
        trained = {row: cell for row, cell in others.items() if row.is_trained}
        if candidates := trained or others:
            return f", {heading.name}: {_best(table, heading, found, candidates)}"
    return f": {_nothing(table)}"


def _best(
    table: ResultTable,
    heading: Heading,
    found: Mapping[TableRow, Cell],
    candidates: Mapping[TableRow, Cell],
) -> str:
    """Returns the best of some rows in words, beside the baseline and its own random weights."""
    sign = -1 if heading.lower_is_better else 1
    best = max(candidates, key=lambda row: sign * (candidates[row].value or 0.0))
    kind = "trained row" if best.is_trained else "row"
    many = len(candidates) > 1
    named = f"best of {len(candidates)} {kind}s is" if many else f"the one {kind} is"
    by_title = {row.full_title: cell for row, cell in found.items()}
    said = f"{named} “{best.full_title}” with {_alone(candidates[best], heading)}"
    if table.baseline in by_title:
        said += _beside(candidates[best], heading, table.baseline, by_title[table.baseline])
    twins = [one for one in by_title if one.replace(_UNTRAINED, "") == best.full_title != one]
    return f"{said}." + "".join(
        f" Its random weights have {_alone(by_title[twin], heading)}." for twin in twins[:1]
    )


def _measured(table: ResultTable, place: int) -> dict[TableRow, Cell]:
    """Returns the rows with a figure of ours in a column, and that figure."""
    return {
        row: line.cells[place]
        for row in table.rows
        for line in row.lines
        if line.measured and line.cells[place].value is not None
    }


def _alone(cell: Cell, heading: Heading) -> str:
    """Returns a figure with its uncertainty, without the sign of a test."""
    return figure(replace(cell, against_baseline=""), heading)


def _beside(cell: Cell, heading: Heading, name: str, baseline: Cell) -> str:
    """Returns how the best row stands to the baseline, as far as the test tells."""
    theirs = f"“{name}” with {_alone(baseline, heading)}"
    if cell.against_baseline:
        return f", {cell.against_baseline} than {theirs} (p = {cell.p:.2g})"
    if cell.p is not None:
        return f"; the test does not tell it from {theirs} (p = {cell.p:.2g})"
    return f"; not tested against {theirs}"


def _nothing(table: ResultTable) -> str:
    """Returns why there is no score."""
    absent = [
        heading.name
        for place, heading in enumerate(table.columns)
        if not heading.is_fact
        and any(
            line.measured and line.cells[place].reason for row in table.rows for line in row.lines
        )
    ]
    if not absent:
        return "no score was measured here."
    more = len(absent) - _NAMED
    named = ", ".join(absent[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"no score; absent: {named} (the notes say why)."
