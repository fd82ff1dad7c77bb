"""Tables of experiments as a page: sections, from which Markdown and HTML are made."""

from __future__ import annotations

from collections.abc import Sequence

from models.experiments.exports.grid import NOTHING, figure, grid
from models.experiments.exports.outcome import headline, headline_of_all
from models.experiments.result_table import Heading, ResultTable, TrainingLine
from models.report.html.sections import (
    Bullets,
    Folded,
    Group,
    Page,
    Paragraph,
    Part,
    Section,
    Table,
)
from models.report.markdown import count, percent
from models.training.logs import duration


def table_page(table: ResultTable) -> Page:
    """Returns the page of one table: its scores with notes, and how its trainings went."""
    trainings = _trainings(table.trainings)
    sections = [Section.of("Scores", *_scores(table))]
    if trainings:
        sections.append(Section.of("Trainings", *trainings))
    return Page(table.title, headline(table), sections)


def tables_page(title: str, tables: Sequence[ResultTable]) -> Page:
    """Returns the page of several tables, a section each."""
    sections = [
        Section.of(
            table.title,
            *(Paragraph.of(sentence) for sentence in headline(table)),
            *_scores(table),
            Folded("How the trainings went", tuple(trainings)) if trainings else None,
        )
        for table in tables
        for trainings in [_trainings(table.trainings)]
    ]
    return Page(title, [headline_of_all(tables)], sections)


def _scores(table: ResultTable) -> list[Part]:
    shown = grid(table)
    rows = [Group(row.heading) if row.heading else row.cells for row in shown.rows]
    return [
        Table.of(table.title, shown.header, rows, shown.num_text_columns, shown.further_text),
        Bullets(table.notes),
    ]


def _trainings(trainings: Sequence[TrainingLine]) -> list[Part]:
    if not trainings:
        return []
    header = ["training", "views", "objective", "parameters", "sentences", "words", "known"]
    header += ["epochs", "steps", "held-out accuracy", "time"]
    rows = [_training_row(one) for one in trainings]
    return [Table.of("Trainings, over their seeds", header, rows, 3)]


def _training_row(one: TrainingLine) -> list[str]:
    chance = "" if one.chance is None else f" (chance {one.chance:.1f})"
    return [
        one.name,
        ", ".join(one.views),
        one.objective,
        count(one.num_parameters),
        count(one.sentences),
        count(one.words),
        f"{percent(one.known_share)} %",
        str(one.epochs),
        count(one.steps),
        NOTHING if one.chance is None else figure(one.held_out, Heading("")) + chance,
        duration(one.seconds, digits=1),
    ]
