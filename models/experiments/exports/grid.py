"""A table as rows of text: which columns stand there, and how a figure is written.

Nothing is escaped here; each format escapes for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from models.experiments.declaration import Scale
from models.experiments.result_table import Cell, Heading, Line, ResultTable, TableRow

NOTHING = "–"
ABSENT = "absent"
_MILLION, _THOUSAND = 1e6, 1e3
_MOST_IN_FULL = 1e5
_SMALL_FACT = 0.1


@dataclass(frozen=True, slots=True)
class GridRow:
    """A row of text: a line of the table, or a heading that stands over several."""

    cells: tuple[str, ...]
    heading: str = ""
    """Where it is not empty, the row is this and has no cells."""
    begins: bool = False
    """Whether it is the first line of an encoder."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as text."""

    header: tuple[str, ...]
    rows: tuple[GridRow, ...]
    num_text_columns: int
    """So many columns at the left are words; the others are figures, but for `further_text`."""
    further_text: tuple[int, ...] = ()
    """Places of the other columns of words."""


def amount(value: float | None) -> str:
    """Returns how many there are, short where they are many: ``9,399``, ``144.9 k``, ``74 M``."""
    if value is None:
        return NOTHING
    if value < _MOST_IN_FULL:
        return f"{value:,.0f}"
    unit, name = (_MILLION, "M") if value >= _MILLION else (_THOUSAND, "k")
    return f"{value / unit:,.1f}".removesuffix(".0") + f" {name}"


_SCALE: dict[str, Callable[[Scale], str]] = {
    "corpus": lambda scale: scale.corpus or NOTHING,
    "vectors": lambda scale: scale.vectors or NOTHING,
    "sentences": lambda scale: amount(scale.sentences),
    "words": lambda scale: amount(scale.words),
    "width": lambda scale: NOTHING if scale.width is None else f"{scale.width:,}",
    "epochs": lambda scale: NOTHING if scale.epochs is None else f"{scale.epochs:g}",
}
_WORDED = ("corpus", "vectors")


def grid(table: ResultTable) -> Grid:
    """Returns the table as text: model, source, its columns, then the scale of lines."""
    lines = [line for row in table.rows for line in row.lines]
    scales = [
        name for name, said in _SCALE.items() if any(said(line.scale) != NOTHING for line in lines)
    ]
    leading = ("model", "figures from")
    rows: list[GridRow] = []
    group = ""
    for row in table.rows:
        if row.group != group:
            rows.append(GridRow((), heading=row.group or "Others"))
            group = row.group
        rows += _rows(table, row, scales)
    header = (*leading, *(heading.name for heading in table.columns), *scales)
    before = len(leading) + len(table.columns)
    worded = tuple(before + place for place, name in enumerate(scales) if name in _WORDED)
    return Grid(header, tuple(rows), len(leading), worded)


def _rows(table: ResultTable, row: TableRow, scales: list[str]) -> list[GridRow]:
    reasons = ("" if heading.is_fact else row.not_here for heading in table.columns)
    nothing = Line(NOTHING, True, Scale(), tuple(Cell(reason=reason) for reason in reasons))
    made = []
    for place, line in enumerate(row.lines or (nothing,)):
        cells = (
            "" if place else _named(row),
            line.source,
            *(
                figure(cell, heading, measured=line.measured)
                for cell, heading in zip(line.cells, table.columns, strict=True)
            ),
            *(_SCALE[name](line.scale) for name in scales),
        )
        made.append(GridRow(cells, begins=place == 0))
    return made


def _named(row: TableRow) -> str:
    """Returns the model, what of it is scored, and why it is not here."""
    best = f"best by {row.chosen_by}" if row.chosen_by else ""
    reason = f"not here: {row.not_here}" if row.not_here else ""
    return ", ".join(filter(None, (row.title, row.taken, best, reason)))


def figure(cell: Cell, heading: Heading, *, measured: bool = True) -> str:
    """Returns a figure with what is known of its uncertainty, ``absent``, or a dash."""
    if cell.value is None:
        return ABSENT if measured and cell.reason else NOTHING
    digits = _digits(cell.value, heading) if measured else _published_digits(cell.value, heading)
    said = f"{cell.value:,.{digits}f}"
    if cell.deviation is not None:
        said += f" ± {cell.deviation:.{digits}f} ({cell.num_seeds})"
    elif cell.low is not None and cell.high is not None:
        said += f" [{cell.low:.{digits}f}, {cell.high:.{digits}f}]"
    return said


def _digits(value: float, heading: Heading) -> int:
    """Returns how many decimals; a few seconds are still some part of an hour."""
    is_small = heading.is_fact and 0 < abs(value) < _SMALL_FACT
    return heading.digits + 2 if is_small else heading.digits


def _published_digits(value: float, heading: Heading) -> int:
    """Returns as many decimals as the paper prints: hours may be whole."""
    if not heading.is_fact:
        return heading.digits
    return 0 if value == int(value) else 1
