"""Writes the report of a run: a page, Markdown, JSON, and the drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from models.evaluation.build_probing import read_summary
from models.report.evaluation_table import evaluation_sections
from models.report.html.drawing import svg_file
from models.report.html.page import html_page
from models.report.html.sections import Folded, Page, Paragraph, Section
from models.report.markdown import markdown_page
from models.report.probing_table import (
    ProbingRow,
    ProbingTable,
    majority_row,
    probing_table,
    read_rows,
)
from models.report.run import probing_sections, run_sections
from models.report.run.inputs import ReportInputs
from models.report.run.training_section import chance_ratio, training_section
from models.report.significance import Marks, marks_of_table
from models.report.training_effect import TrainingEffect, effect_of_training, headline
from models.training.logs import METRICS_FILE, SUMMARY_FILE, read_metrics
from pipeline.base.atomic_files import write_json_atomically, write_text_atomically
from pipeline.base.json_files import check_file, read_object

REPORT_VERSION = 14
"""Raised when the same results would give another report."""
PAGE_NAME = "report.html"
REPORT_NAME = "report.md"
MARKER_NAME = "report.json"
_TRAIN_AGAIN = "delete the training's folder and run it again"
_READ_OF_SUMMARY = (
    *("train_sentences", "held_out_measured", "steps", "epochs", "seconds", "num_parameters"),
    *("sentences_per_second", "coverage", "first_loss", "final_loss", "objective", "held_out"),
    *("skipped", "seed", "views"),
)


@dataclass(frozen=True, slots=True)
class _Found:
    """What was read of the run, and follows from it."""

    trainings: Sequence[Mapping[str, Any]]
    metrics: Sequence[Sequence[Mapping[str, Any]]]
    rows: Sequence[ProbingRow]
    probing: Mapping[str, Any]
    table: ProbingTable
    marks: Marks
    effect: TrainingEffect

    @property
    def headline(self) -> list[str]:
        """The result in plain sentences, what training is made for first."""
        return [
            headline(self.effect),
            probing_sections.statement(self.table, self.probing, self.marks),
        ]


def write_report(out: Path, inputs: ReportInputs) -> Path:
    """Writes the report; ``report.json`` comes last and marks it complete.

    Args:
        out: folder to write.
        inputs: what it is made of.

    Returns:
        Path of ``report.html``.

    Raises:
        FileNotFoundError: the training, the probing data or a row is missing.
        ValueError: no row was given, or rows were scored on different tasks.
    """
    found = _read(inputs)
    page = Page(inputs.title, found.headline, _sections(inputs, found))
    out.mkdir(parents=True, exist_ok=True)
    for section in page.sections:
        for drawing in section.drawings:
            write_text_atomically(out / f"{drawing.name}.svg", svg_file(drawing))
    write_text_atomically(out / REPORT_NAME, markdown_page(page))
    write_text_atomically(out / PAGE_NAME, html_page(page))
    write_json_atomically(out / MARKER_NAME, _as_json(inputs, found))
    return out / PAGE_NAME


def _read(inputs: ReportInputs) -> _Found:
    folders = (inputs.training_folder, *inputs.further_training_folders)
    trainings = [_read_training(folder) for folder in folders]
    metrics = [
        _read_metrics(folder / METRICS_FILE, training)
        for folder, training in zip(folders, trainings, strict=True)
    ]
    probing = read_summary(inputs.probing_folder)
    rows = read_rows(inputs.rows)
    table = probing_table([*rows, majority_row(rows[0], probing)])
    effect = effect_of_training(trainings)
    return _Found(trainings, metrics, rows, probing, table, marks_of_table(table), effect)


def _sections(inputs: ReportInputs, found: _Found) -> list[Section]:
    """Returns the sections in the order in which a reader asks for them."""
    sections = [
        run_sections.run_section(inputs, found.trainings),
        run_sections.stages_section(inputs.stages),
        training_section(found.trainings, found.metrics),
        probing_sections.probing_section(found.table, found.probing, found.marks),
    ]
    if inputs.senteval:
        sections.append(_published_section(inputs))
    return [
        *sections,
        probing_sections.notes_section(found.table, found.probing),
        run_sections.vectors_section(inputs.training_folder),
        run_sections.configuration_section(inputs),
    ]


def _published_section(inputs: ReportInputs) -> Section:
    """Returns the scores on SentEval's tasks, with papers' figures behind them where given."""
    first, *further = evaluation_sections(inputs.senteval, published=inputs.published)
    title = "Published beside measured" if inputs.published else "SentEval"
    about = (
        "SentEval's tasks, scored as published; a paper's figures are of another corpus and size, "
        "as the notes say, and no test compares them with ours."
        if inputs.published
        else "SentEval's tasks, scored as published."
    )
    table, *notes = first.parts
    folded = [Folded(section.title, section.parts) for section in further]
    return Section(title, (Paragraph.of(about), table, *notes, *folded))


def _read_training(folder: Path) -> dict[str, Any]:
    path = folder / SUMMARY_FILE
    if not path.exists():
        raise FileNotFoundError(f"{path}: this training is not complete; run it again")
    return read_object(path, _READ_OF_SUMMARY, remedy=_TRAIN_AGAIN)


def _read_metrics(path: Path, training: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not path.exists():
        raise FileNotFoundError(f"{path}: the training left no metrics; run it again")
    check_file(path, training, _TRAIN_AGAIN)
    return read_metrics(path)


def _as_json(inputs: ReportInputs, found: _Found) -> dict[str, Any]:
    table = found.table
    given = ("config", "corpus", "command", "commit", "machine", "versions", "parsers")
    return {
        "headline": found.headline,
        **{name: getattr(inputs, name) for name in given},
        "stages": [asdict(stage) for stage in inputs.stages],
        "report_version": REPORT_VERSION,
        "training": found.trainings[0],
        "further_trainings": found.trainings[1:],
        "effect_of_training": asdict(found.effect),
        "probing": found.probing,
        "held_out_accuracy_over_chance": chance_ratio(found.trainings[0]["held_out"]["final"]),
        "rows": [_row_as_json(row) for row in table.rows],
        "random_weights": table.random and asdict(table.random),
        "trained_seeds": table.trained and asdict(table.trained),
        "comparisons": [asdict(c) for c in table.comparisons],
        "marks": asdict(found.marks),
    }


def _row_as_json(row: ProbingRow) -> dict[str, Any]:
    """Returns a row without its answers to single items, which stand in the result files."""
    tasks = {
        task: {
            "accuracy": asdict(result.scores["accuracy"]),
            "counts": dict(result.outcome.counts),
            "dev_accuracy": result.outcome.dev_score,
            "regularisers": list(result.outcome.regularisers),
            "at_grid_edge": result.outcome.at_grid_edge,
            "not_converged": result.outcome.not_converged,
            **result.outcome.details,
            "seconds": dict(result.seconds),
        }
        for task, result in row.results.items()
    }
    result = {"tasks": tasks, "average": asdict(row.average), "width": row.width}
    first = next(iter(row.results.values()))
    used = {
        "representation": first.setup.representation,
        "classifier": first.setup.classifier,
        "declared_by_data": dict(first.data.protocol),
    }
    return {"name": row.name, "description": row.description, "result": result, "config": used}
