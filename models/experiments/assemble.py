"""From what was measured to the table: our figures, and the papers' on lines of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from models.experiments.cells import held_out_accuracy, measured_cell
from models.experiments.columns import Column, Fact
from models.experiments.declaration import Experiment, NotHere, Row, Scale, Trained
from models.experiments.published import PAPERS, PublishedRow, published_beside
from models.experiments.remarks import remarks
from models.experiments.result_table import (
    Cell,
    Heading,
    Line,
    ResultTable,
    TableRow,
    TrainingLine,
)
from models.experiments.scored_rows import Measured, ScoredRow, TrainingRecord, num_words

HERE = "here"
_DIGITS: dict[Fact, int] = {"dimensions": 0, "parameters": 0, "hours": 2}


def assembled(measured: Measured) -> ResultTable:
    """Returns the table."""
    experiment = measured.experiment
    by_title = {one.row.full_title: one for one in measured.rows}
    rows = tuple(
        _table_row(experiment, row, by_title.get(row.full_title), measured)
        for row in experiment.rows
    )
    return ResultTable(
        name=experiment.name,
        title=experiment.title,
        tables=experiment.tables,
        columns=tuple(map(_heading, experiment.columns)),
        rows=_with_best(measured, rows),
        notes=(*_papers(rows), *remarks(measured)),
        trainings=tuple(map(_training_line, measured.trainings)),
    )


def _papers(rows: Sequence[TableRow]) -> list[str]:
    """Returns which papers the letters of sources stand for."""
    letters = {line.source[:1] for row in rows for line in row.lines if not line.measured}
    said = [f"{letter}: {paper}" for letter, paper in PAPERS.items() if letter in letters]
    return [f"{'; '.join(said)}."] if said else []


def _heading(column: Column) -> Heading:
    digits = 1 if column.fact is None else _DIGITS.get(column.fact, 1)
    return Heading(column.name, digits, column.lower_is_better, column.fact is not None)


def _table_row(
    experiment: Experiment, row: Row, scored: ScoredRow | None, measured: Measured
) -> TableRow:
    not_here = row.encoder.reason if isinstance(row.encoder, NotHere) else ""
    not_here = not_here or measured.missing.get(row.full_title, "")
    lines = [] if scored is None else [_measured_line(measured, scored)]
    lines += _published_lines(experiment, row)
    return TableRow(
        row.title,
        row.taken,
        row.group,
        tuple(lines),
        not_here=not_here,
        folders=() if scored is None else scored.folders,
    )


def _measured_line(measured: Measured, row: ScoredRow) -> Line:
    columns = measured.experiment.columns
    cells = tuple(measured_cell(row, column, measured.absent) for column in columns)
    return Line(HERE, True, row.scale, cells)


def _published_lines(experiment: Experiment, row: Row) -> list[Line]:
    """Returns a line for each corpus of which a paper gives any of the columns."""
    if row.published is None:
        return []
    return [
        Line(
            found.source,
            False,
            _published_scale(experiment, row, found),
            tuple(Cell(found.figure(column)) for column in experiment.columns),
        )
        for found in published_beside(row.published, experiment.tables)
        if any(column.name in found.figures for column in experiment.columns)
    ]


def _published_scale(experiment: Experiment, row: Row, found: PublishedRow) -> Scale:
    """Returns on what the published model was trained, as far as the paper says it.

    Width, vectors and epochs are those of the paper's own models, and not of others' or of words.
    """
    scales = [one.scale for one in experiment.scales if one.paper == found.paper]
    known = next((one for one in scales if one.corpus == found.corpus), None)
    if known is None:
        own = next(iter(scales), Scale())
        return Scale(found.corpus, vectors="" if isinstance(row.encoder, NotHere) else own.vectors)
    if isinstance(row.encoder, NotHere):
        return Scale(known.corpus, known.sentences, known.words)
    return known


def _with_best(measured: Measured, rows: Sequence[TableRow]) -> tuple[TableRow, ...]:
    """Returns the rows, of which the best trained one says so, if all of these have the fact."""
    fact = measured.experiment.best_by
    trained = {
        row.full_title for row in measured.experiment.rows if isinstance(row.encoder, Trained)
    }
    values = {
        one.row.full_title: measured_cell(one, Column("", fact=fact)).value
        for one in measured.rows
        if fact is not None and one.row.full_title in trained
    }
    known = {title: value for title, value in values.items() if value is not None}
    if not known or known.keys() != trained:
        return tuple(rows)
    best = max(known, key=known.__getitem__)
    return tuple(
        replace(row, chosen_by=str(fact)) if row.full_title == best else row for row in rows
    )


def _training_line(record: TrainingRecord) -> TrainingLine:
    summary = record.summaries[0]
    final = summary["held_out"]["final"]
    return TrainingLine(
        name=record.training.name,
        views=tuple(summary["views"]),
        objective=summary["objective"],
        num_parameters=summary["num_parameters"],
        sentences=summary["train_sentences"],
        words=num_words(summary),
        known_share=100.0 * summary["coverage"]["known_share"],
        epochs=summary["epochs"],
        steps=summary["steps"],
        held_out=held_out_accuracy(record.summaries),
        chance=100.0 * final["chance"] if final["num_sentences"] else None,
        seconds=sum(one["seconds"] for one in record.summaries),
    )
