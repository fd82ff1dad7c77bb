"""One table of cells as plain data, and its exports: HTML, Markdown, CSV and LaTeX.

A row of ours has a measured line and, below it, a line for each corpus that a paper gives figures
of; a model that is not here has these alone. Every export draws this and nothing else.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from treeviews.models.evaluation.task_result import validated
from treeviews.models.report.experiment import Scale
from treeviews.models.report.score_text import count, number_of, percent
from treeviews.models.report.sections import (
    Folded,
    Page,
    Part,
    Row,
    Section,
    Table,
    html_page,
    latex_table,
    markdown_page,
)
from treeviews.models.training.training_records import duration
from treeviews.pipeline.base.json_files import read_json, write_sealed_json

FORMAT = "treeviews table"
FORMAT_VERSION = 2
_REMEDY = "delete it and make the table again"
NOTHING = "–"
ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure, or why there is none."""

    value: float | None = None
    """Mean over seeds, or as published."""
    deviation: float | None = None
    """Sample standard deviation over seeds; None of a single one."""
    num_seeds: int = 0
    """0 of a published figure."""
    low: float | None = None
    """Of the bootstrap interval of a single seed; None over several, and of facts."""
    high: float | None = None
    reason: str = ""
    """Why there is no figure; empty where none belongs here, as a baseline has no hours."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of figures: measured here, or published."""

    source: str
    """Where it stands: ``here``, or ``B, table 3, G1``."""
    measured: bool
    scale: Scale
    cells: tuple[Cell, ...]
    """One a column."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """One encoder, and what of it is scored."""

    title: str
    taken: str
    group: str
    lines: tuple[Line, ...]
    """The measured one first, if there is one."""
    not_here: str = ""
    """Why nothing is measured; empty where something is."""
    chosen_by: str = ""
    """The fact by which it is the best row; empty where it is not."""
    folders: tuple[str, ...] = ()
    """Of its results, one a seed, within the table's folder."""

    @property
    def full_title(self) -> str:
        """The row in one line."""
        return f"{self.title}, {self.taken}" if self.taken else self.title

    @property
    def is_trained(self) -> bool:
        """Whether it was measured here, of an encoder that was trained on sentences."""
        return any(line.measured and line.scale.sentences is not None for line in self.lines)


@dataclass(frozen=True, slots=True)
class Heading:
    """What a column is."""

    name: str
    digits: int = 1
    lower_is_better: bool = False
    is_fact: bool = False
    """Of the model, and not a score."""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table, assembled."""

    name: str
    title: str
    tables: tuple[str, ...]
    """Of the papers."""
    columns: tuple[Heading, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()
    """Sentences: what figures are, what is absent and why, how ours differ from the papers'."""
    trainings: tuple[dict[str, Any], ...] = ()
    """How each training went, over its seeds; see `models.report.measured_table`."""


def write_table(path: Path, table: ResultTable) -> None:
    """Writes a table as JSON; the file appears whole or not at all."""
    header = {"format": FORMAT, "format_version": FORMAT_VERSION}
    write_sealed_json(path, {**header, **asdict(table)})


def read_table(path: Path) -> ResultTable:
    """Returns the table that `write_table` wrote.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no table of this version; names the file and the remedy.
    """
    value = read_json(path, remedy=_REMEDY)
    known = (value.get("format"), value.get("format_version")) if isinstance(value, dict) else ()
    if known != (FORMAT, FORMAT_VERSION):
        raise ValueError(f"{path}: no table of this release; {_REMEDY}")
    return validated(ResultTable, path, value, _REMEDY)


# Files.


def table_files(table: ResultTable) -> dict[str, str]:
    """Returns what a table is written as, by the ending of its file."""
    trainings = _trainings(table.trainings)
    sections = [Section.of("Scores", scores_table(table), [*table.notes])]
    sections += [Section.of("Trainings", trainings)] if trainings else []
    return _files(Page(table.title, headline(table), sections), [table])


def tables_files(title: str, tables: Sequence[ResultTable]) -> dict[str, str]:
    """Returns the same of several tables, a section each."""
    tallies = [_tally(table) for table in tables]
    filled = sum(scores > 0 for _, scores, _ in tallies)
    measured = number_of(sum(scores for _, scores, _ in tallies), "score")
    first = (
        f"{measured} measured here in {filled} of {number_of(len(tables), 'table')}, "
        f"{sum(absent for _, _, absent in tallies)} absent."
    )
    return _files(Page(title, [first], list(map(_section, tables))), tables)


def _section(table: ResultTable) -> Section:
    trainings = _trainings(table.trainings)
    folded = Folded("How the trainings went", (trainings,)) if trainings else None
    parts = (*headline(table), scores_table(table), [*table.notes], folded)
    return Section.of(table.title, *parts)


def _files(page: Page, tables: Sequence[ResultTable]) -> dict[str, str]:
    return {
        "md": markdown_page(page),
        "html": html_page(page),
        "csv": csv_lines(tables),
        "tex": "\n".join(latex_table(scores_table(t), t.name, t.notes) for t in tables),
    }


# Figures.


def amount(value: float | None) -> str:
    """Returns how many there are, short where they are many: ``9,399``, ``144.9 k``, ``74 M``."""
    if value is None:
        return NOTHING
    if value < 1e5:
        return f"{value:,.0f}"
    unit, name = (1e6, "M") if value >= 1e6 else (1e3, "k")
    return f"{value / unit:,.1f}".removesuffix(".0") + f" {name}"


def figure(cell: Cell, heading: Heading, *, measured: bool = True) -> str:
    """Returns a figure with what is known of its uncertainty, ``absent``, or a dash."""
    if cell.value is None:
        return ABSENT if measured and cell.reason else NOTHING
    digits = heading.digits
    if heading.is_fact and not measured:  # as the paper prints it: hours may be whole
        digits = 0 if cell.value == int(cell.value) else 1
    elif heading.is_fact and 0 < abs(cell.value) < 0.1:  # seconds are some part of an hour
        digits += 2
    text = f"{cell.value:,.{digits}f}"
    if cell.deviation is not None:
        text += f" ± {cell.deviation:.{digits}f} ({cell.num_seeds})"
    elif cell.low is not None and cell.high is not None:
        text += f" [{cell.low:.{digits}f}, {cell.high:.{digits}f}]"
    return text


SCALE = ("corpus", "vectors", "sentences", "words", "width", "epochs")
"""Fields of a scale in the order of their columns."""


def _scale(scale: Scale, name: str) -> str:
    value = getattr(scale, name)
    if name in ("sentences", "words"):
        return amount(value)
    return NOTHING if value in (None, "") else value if isinstance(value, str) else f"{value:,g}"


def scores_table(table: ResultTable) -> Table:
    """Returns the table as text: model, source, its columns, then the scale of lines."""
    lines = [line for row in table.rows for line in row.lines]
    scales = [name for name in SCALE if any(_scale(line.scale, name) != NOTHING for line in lines)]
    rows: list[Row] = []
    group = ""
    for row in table.rows:
        if row.group != group:
            rows.append(row.group or "Others")
            group = row.group
        rows += _lines(table, row, scales)
    header = ("model", "figures from", *(column.name for column in table.columns), *scales)
    words = {0, 1} | {header.index(name, 2) for name in ("corpus", "vectors") if name in scales}
    return Table(table.title, header, rows, words)


def _lines(table: ResultTable, row: TableRow, scales: Sequence[str]) -> Iterator[list[str]]:
    reasons = ("" if column.is_fact else row.not_here for column in table.columns)
    nothing = Line(NOTHING, True, Scale(), tuple(Cell(reason=reason) for reason in reasons))
    best = f"best by {row.chosen_by}" if row.chosen_by else ""
    reason = f"not here: {row.not_here}" if row.not_here else ""
    title = ", ".join(filter(None, (row.title, row.taken, best, reason)))
    for line in row.lines or (nothing,):
        pairs = zip(line.cells, table.columns, strict=True)
        figures = (figure(cell, heading, measured=line.measured) for cell, heading in pairs)
        yield [title, line.source, *figures, *(_scale(line.scale, name) for name in scales)]
        title = ""


def _trainings(trainings: Sequence[Mapping[str, Any]]) -> Part | None:
    if not trainings:
        return None
    header = (
        *("training", "views", "objective", "parameters", "sentences", "words", "known"),
        *("epochs", "steps", "held-out accuracy", "time"),
    )
    rows = [
        [
            line["name"],
            ", ".join(line["views"]),
            line["objective"],
            *(count(line[name]) for name in ("num_parameters", "sentences", "words")),
            f"{percent(line['known_share'])} %",
            str(line["epochs"]),
            count(line["steps"]),
            NOTHING
            if line["chance"] is None
            else f"{figure(Cell(**line['held_out']), Heading(''))} (chance {line['chance']:.1f})",
            duration(line["seconds"], digits=1),
        ]
        for line in trainings
    ]
    return Table("Trainings, over their seeds", header, rows, range(3))


CSV_HEADER = (
    *("table", "group", "model", "representation", "source", "measured"),
    *(field.name for field in fields(Scale)),
    "column",
    *(field.name for field in fields(Cell)),
    "best_by",
)


def csv_lines(tables: Sequence[ResultTable]) -> str:
    """Returns a line a figure, so that any program can pivot them; what is unknown is empty."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, CSV_HEADER, lineterminator="\n")
    writer.writeheader()
    for table in tables:
        writer.writerows(_csv_lines(table))
    return stream.getvalue()


def _csv_lines(table: ResultTable) -> Iterator[dict[str, Any]]:
    for row in table.rows:
        named = {
            "table": table.name,
            "group": row.group,
            "model": row.title,
            "representation": row.taken,
            "best_by": row.chosen_by,
        }
        if row.not_here and not row.lines:
            yield {**named, "reason": row.not_here}
        for line in row.lines:
            of_line = {"source": line.source, "measured": line.measured, **asdict(line.scale)}
            for cell, heading in zip(line.cells, table.columns, strict=True):
                if cell.value is not None or (line.measured and cell.reason):
                    yield {**named, **of_line, "column": heading.name, **asdict(cell)}


# What a table says first.


def headline(table: ResultTable) -> list[str]:
    """Returns its result, how much was measured here, and which row is best."""
    rows, scores, absent = _tally(table)
    return [
        f"{table.title}{_result(table)}",
        f"{rows} of {number_of(len(table.rows), 'row')} measured here, "
        f"{number_of(scores, 'score')}, {absent} absent.",
        *(f"Best by {row.chosen_by}: {row.full_title}." for row in table.rows if row.chosen_by),
    ]


def _tally(table: ResultTable) -> tuple[int, int, int]:
    """Returns how many rows have a score of ours, how many scores there are, and are absent.

    Widths, hours and other facts of models are no scores.
    """
    scores = [
        (row, cell)
        for row in table.rows
        for line in row.lines
        if line.measured
        for cell, heading in zip(line.cells, table.columns, strict=True)
        if not heading.is_fact
    ]
    present = [row.full_title for row, cell in scores if cell.value is not None]
    absent = sum(cell.value is None and bool(cell.reason) for _, cell in scores)
    empty = sum(bool(row.not_here) and not row.lines for row in table.rows)
    of_each = sum(not heading.is_fact for heading in table.columns)
    return len({*present}), len(present), absent + empty * of_each


def _result(table: ResultTable) -> str:
    """Returns the best trained row of the first column with scores; of any row where none is."""
    for place, heading in enumerate(table.columns):
        cells = {
            row: line.cells[place]
            for row in table.rows
            for line in row.lines
            if line.measured and line.cells[place].value is not None
        }
        if heading.is_fact or not cells:
            continue
        rows = [row for row in cells if row.is_trained] or list(cells)
        sign = -1 if heading.lower_is_better else 1
        best = max(rows, key=lambda row: sign * (cells[row].value or 0.0))
        kind = "trained row" if best.is_trained else "row"
        return (
            f", {heading.name}: best of {number_of(len(rows), kind)} is “{best.full_title}” with "
            f"{figure(cells[best], heading)}."
        )
    return ": no score was measured here (the notes say why)."
