"""One table of cells as plain data, and its exports: HTML, Markdown, CSV and LaTeX.

A row of ours has a measured line and, below it, a line for each corpus that a paper gives figures
of; a model that is not here has these alone. Every export draws this and nothing else.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from treeviews.models.evaluation.task_result import validated
from treeviews.models.report.figures import NOTHING, Figure, number_of
from treeviews.models.report.sections import (
    Folded,
    Page,
    Row,
    Section,
    Table,
    html_page,
    latex_table,
    markdown_page,
)
from treeviews.pipeline.base.json_files import read_json

ABSENT = "absent"
HERE = "here"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of figures of a row: measured here, or published. Those of a row are neighbours."""

    title: str
    taken: str
    group: str
    source: str
    """Where it stands: `HERE`, ``B, table 3, G1``, or `NOTHING` where there are no figures."""
    cells: tuple[Figure, ...]
    """One a column."""
    scale: str = ""
    """On what the encoder was trained, in words."""
    best_by: str = ""
    """The fact by which its row is the best one; empty where it is not."""
    not_here: str = ""
    """Why nothing of its row is measured; empty where something is."""
    folders: tuple[str, ...] = ()
    """Of its results, one a seed, within the table's folder."""

    @property
    def full_title(self) -> str:
        """The row in one line."""
        return f"{self.title}, {self.taken}" if self.taken else self.title

    @property
    def is_measured(self) -> bool:
        """Whether it has no paper's figures."""
        return self.source in (HERE, NOTHING)


@dataclass(frozen=True, slots=True)
class Heading:
    """What a column is."""

    name: str
    digits: int = 1
    is_fact: bool = False
    """Of the model, and not a score."""


TRAININGS = (
    *("training", "views", "objective", "parameters", "sentences", "words", "known"),
    *("epochs", "steps", "held-out accuracy", "time"),
)
"""What is said of each training."""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table, assembled."""

    name: str
    title: str
    tables: tuple[str, ...]
    """Of the papers."""
    columns: tuple[Heading, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    """Sentences: what figures are, what is absent and why, how ours differ from the papers'."""
    trainings: tuple[tuple[str, ...], ...] = ()
    """How each training went, over its seeds, in the columns of `TRAININGS`."""


def read_table(path: Path) -> ResultTable:
    """Returns the table of a ``table.json``.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no table of this release; names the file and the remedy.
    """
    remedy = "delete it and make the table again"
    return validated(ResultTable, path, read_json(path, remedy=remedy), remedy)


# Files.


def table_files(table: ResultTable) -> dict[str, str]:
    """Returns what a table is written as, by the ending of its file."""
    sections = [Section.of("Scores", scores_table(table), [*table.notes])]
    sections += [Section.of("Trainings", _trainings(table))] if table.trainings else []
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
    folded = Folded("How the trainings went", (_trainings(table),)) if table.trainings else None
    parts = (*headline(table), scores_table(table), [*table.notes], folded)
    return Section.of(table.title, *parts)


def _trainings(table: ResultTable) -> Table:
    return Table("Trainings, over their seeds", TRAININGS, table.trainings, range(3))


def _files(page: Page, tables: Sequence[ResultTable]) -> dict[str, str]:
    return {
        "md": markdown_page(page),
        "html": html_page(page),
        "csv": csv_lines(tables),
        "tex": "\n".join(latex_table(scores_table(t), t.name, t.notes) for t in tables),
    }


# Figures.


def figure_text(figure: Figure, heading: Heading, *, measured: bool = True) -> str:
    """Returns a figure with what is known of its uncertainty, ``absent``, or a dash."""
    if figure.value is None:
        return ABSENT if measured and figure.reason else NOTHING
    digits = heading.digits
    if heading.is_fact and not measured:  # as the paper prints it: hours may be whole
        digits = 0 if figure.value == int(figure.value) else 1
    elif heading.is_fact and 0 < abs(figure.value) < 0.1:  # seconds are some part of an hour
        digits += 2
    return figure.text(digits)


def scores_table(table: ResultTable) -> Table:
    """Returns the table as text: model, source, its columns, then the scale of lines."""
    rows: list[Row] = []
    group = title = ""
    for line in table.lines:
        if line.group != group:
            rows.append(line.group or "Others")
            group, title = line.group, ""
        best = f"best by {line.best_by}" if line.best_by else ""
        reason = f"not here: {line.not_here}" if line.not_here else ""
        called = ", ".join(filter(None, (line.full_title, best, reason)))
        pairs = zip(line.cells, table.columns, strict=True)
        figures = (figure_text(cell, heading, measured=line.is_measured) for cell, heading in pairs)
        model = "" if line.full_title == title else called
        rows.append([model, line.source, *figures, line.scale or NOTHING])
        title = line.full_title
    header = ("model", "figures from", *(column.name for column in table.columns), "trained on")
    return Table(table.title, header, rows, {0, 1, len(header) - 1})


CSV_HEADER = (
    *("table", "group", "model", "representation", "source", "measured", "scale", "column"),
    *(field.name for field in fields(Figure)),
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
    for line in table.lines:
        named = {
            "table": table.name,
            "group": line.group,
            "model": line.title,
            "representation": line.taken,
            "source": line.source,
            "measured": line.is_measured,
            "scale": line.scale,
            "best_by": line.best_by,
        }
        for cell, heading in zip(line.cells, table.columns, strict=True):
            if cell.value is not None or (line.is_measured and cell.reason):
                yield {**named, "column": heading.name, **asdict(cell)}


# What a table says first.


def headline(table: ResultTable) -> list[str]:
    """Returns how much was measured here, and which row is best."""
    rows, scores, absent = _tally(table)
    of = number_of(len({line.full_title for line in table.lines}), "row")
    best = {line.full_title: line.best_by for line in table.lines if line.best_by}
    return [
        f"{table.title}: {rows} of {of} measured here, {number_of(scores, 'score')}, {absent} "
        "absent.",
        *(f"Best by {fact}: {title}." for title, fact in best.items()),
    ]


def _tally(table: ResultTable) -> tuple[int, int, int]:
    """Returns how many rows have a score of ours, how many scores there are, and are absent.

    Widths, hours and other facts of models are no scores.
    """
    scores = [
        (line.full_title, cell)
        for line in table.lines
        if line.is_measured
        for cell, heading in zip(line.cells, table.columns, strict=True)
        if not heading.is_fact
    ]
    present = [title for title, cell in scores if cell.value is not None]
    absent = sum(cell.value is None and bool(cell.reason) for _, cell in scores)
    return len({*present}), len(present), absent
