"""A table as rows of text: which columns stand there, and how a figure is written.

Nothing is escaped here; each format escapes for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from models.experiments.declaration import Scale
from models.experiments.result_table import Cell, Heading, Line, ResultTable, TableRow
from models.report.html.sections import Cell as ShownCell

NOTHING = "–"
ABSENT = "absent"
_MILLION, _THOUSAND = 1e6, 1e3
_MOST_IN_FULL = 1e5
_SMALL_FACT = 0.1


@dataclass(frozen=True, slots=True)
class GridRow:
    """A row of text: a line of the table, or a heading that stands over several."""

    cells: tuple[str | ShownCell, ...]
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
    shared: str = ""
    """The scale that all lines measured here share, in a sentence; empty where they share none."""


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
    """Returns the table as text: model, source, its columns, then the scale of lines.

    What all that is measured here has in common is said once; it stands in a column, too, only
    where published lines say something of theirs.
    """
    lines = [line for row in table.rows for line in row.lines]
    shared = _shared(lines)
    scales = [
        name
        for name in _SCALE
        if _values(lines, name, measured=False)
        or (name not in shared and _values(lines, name, measured=True))
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
    return Grid(header, tuple(rows), len(leading), worded, _in_words(shared))


def beside(table: ResultTable) -> str:
    """Returns in a sentence or two which tables of the papers give figures, and which none."""
    sources = [
        source
        for row in table.rows
        for line in row.lines
        if not line.measured
        for source in line.source.split("; ")
    ]
    giving = [
        one for one in table.tables if any(f"{source},".startswith(f"{one},") for source in sources)
    ]
    silent = [one for one in table.tables if one not in giving]
    said = [f"Beside {'; '.join(giving)}."] if giving else []
    if silent:
        verb = "gives" if len(silent) == 1 else "give"
        said.append(f"{'; '.join(silent)} {verb} none of these figures.")
    return " ".join(said)


def _values(lines: Sequence[Line], name: str, *, measured: bool) -> list[str]:
    """Returns what lines say of one part of their scale, each value once."""
    said = (_SCALE[name](line.scale) for line in lines if line.measured == measured)
    return list(dict.fromkeys(one for one in said if one != NOTHING))


def _shared(lines: Sequence[Line]) -> dict[str, str]:
    """Returns the parts of the scale in which no two measured lines differ."""
    found = {name: _values(lines, name, measured=True) for name in _SCALE}
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _in_words(shared: Mapping[str, str]) -> str:
    said = "; ".join(f"{name}: {value}" for name, value in shared.items())
    return f"All that is measured here shares, where it applies: {said}." if said else ""


def _rows(table: ResultTable, row: TableRow, scales: list[str]) -> list[GridRow]:
    named = _named(row)
    made = []
    for place, line in enumerate(row.lines or (_nothing(table, row),)):
        cells: tuple[str | ShownCell, ...] = (
            named if place == 0 else "",
            line.source,
            *(
                shown_figure(cell, heading, measured=line.measured)
                for cell, heading in zip(line.cells, table.columns, strict=True)
            ),
            *(_SCALE[name](line.scale) for name in scales),
        )
        made.append(GridRow(cells, begins=place == 0))
    return made


def _named(row: TableRow) -> ShownCell:
    """Returns the model, and in small print what of it is scored or why it is not here."""
    best = f"best by {row.chosen_by}" if row.chosen_by else ""
    reason = f"not here: {row.not_here}" if row.not_here else ""
    said = "; ".join(filter(None, (row.taken, best, reason)))
    return ShownCell(f"{row.title}," if said else row.title, small=said)


def _nothing(table: ResultTable, row: TableRow) -> Line:
    """Returns the line of a row of which nothing is known."""
    reasons = ("" if heading.is_fact else row.not_here for heading in table.columns)
    return Line(NOTHING, True, Scale(), tuple(Cell(reason=reason) for reason in reasons))


def figure(cell: Cell, heading: Heading, *, measured: bool = True) -> str:
    """Returns a figure as one line of text, see `shown_figure`."""
    return shown_figure(cell, heading, measured=measured).plain


def shown_figure(cell: Cell, heading: Heading, *, measured: bool = True) -> ShownCell:
    """Returns a figure with what is known of its uncertainty, ``absent``, or a dash."""
    if cell.value is None:
        return ShownCell(ABSENT if measured and cell.reason else NOTHING)
    digits = _digits(cell.value, heading) if measured else _published_digits(cell.value, heading)
    said = f"{cell.value:,.{digits}f}"
    if cell.deviation is not None:
        said += f" ± {cell.deviation:.{digits}f} ({cell.num_seeds})"
    elif cell.low is not None and cell.high is not None:
        said += f" [{cell.low:.{digits}f}, {cell.high:.{digits}f}]"
    return ShownCell(said, cell.against_baseline)


def _digits(value: float, heading: Heading) -> int:
    """Returns how many decimals; a few seconds are still some part of an hour."""
    is_small = heading.is_fact and 0 < abs(value) < _SMALL_FACT
    return heading.digits + 2 if is_small else heading.digits


def _published_digits(value: float, heading: Heading) -> int:
    """Returns as many decimals as the paper prints: hours may be whole."""
    if not heading.is_fact:
        return heading.digits
    return 0 if value == int(value) else 1
