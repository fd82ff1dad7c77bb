"""From what was measured to a table of cells: ours, the papers' beside them, and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean
from typing import Any, Literal

from treeviews.models.evaluation.averages import (
    AverageDeclaration,
    average_value,
    lacking,
    published_average,
)
from treeviews.models.evaluation.representation import described
from treeviews.models.evaluation.resampling import Interval, over_seeds
from treeviews.models.evaluation.task_result import (
    AbsentResult,
    Result,
    Setup,
    TaskResult,
    corpora_of,
    scored_results,
    shown_setup,
)
from treeviews.models.report.evaluation_table import EncoderColumn, absence_notes, intervals_note
from treeviews.models.report.experiment import Experiment, NotHere, Row, Scale, Trained, Training
from treeviews.models.report.result_table import (
    Cell,
    Heading,
    Line,
    ResultTable,
    TableRow,
)
from treeviews.models.report.score_text import SCORES_OF_ERRORS, derived_notes, doubts
from treeviews.models.report.table_columns import (
    PAPERS,
    Column,
    Fact,
    PublishedRow,
    published_beside,
)

# What was measured.

Summary = Mapping[str, Any]
"""What a training says of itself, its ``summary.json``."""


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A row with the results of its encoders."""

    row: Row
    seeds: tuple[Mapping[str, Result], ...]
    """By the name of the task, one mapping a seed."""
    derived: tuple[Mapping[str, Result], ...] = ()
    """The same of tasks that are derived from the corpus."""
    scale: Scale = field(default_factory=Scale)
    summaries: tuple[tuple[Summary, ...], ...] = ()
    """Of what was trained for it, one tuple a seed; joined models have several."""
    folders: tuple[str, ...] = ()
    """Of the results, one a seed, within the table's folder."""


@dataclass(frozen=True, slots=True)
class TrainingRecord:
    """How a training of the table went."""

    training: Training
    summaries: tuple[Summary, ...]
    """One a seed."""
    changed: Mapping[str, tuple[Any, Any]]
    """Fields that differ from the preset: its value, and ours."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that a table is assembled from."""

    experiment: Experiment
    """With the columns that were asked for."""
    rows: tuple[ScoredRow, ...]
    """One a row of the experiment that an encoder stands behind, in its order."""
    trainings: tuple[TrainingRecord, ...]
    corpus: str
    """The text that all of them were trained on, in words."""
    held_out: str
    """What of it was not trained on, in words."""
    vectors: str
    """The run's word vectors, in words."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Rows whose encoder is not there, by full title, with the reason."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """SentEval's tasks whose data are not there, with the reason; no row has a result of them."""


def assembled(measured: Measured) -> ResultTable:
    """Returns the table of what was measured."""
    experiment = measured.experiment
    rows = _with_best(experiment, [_table_row(row, measured) for row in experiment.rows])
    letters = {line.source[:1] for row in rows for line in row.lines if not line.measured}
    papers = [f"{letter}: {paper}" for letter, paper in PAPERS.items() if letter in letters]
    return ResultTable(
        name=experiment.name,
        title=experiment.title,
        tables=experiment.tables,
        columns=tuple(map(_heading, experiment.columns)),
        rows=tuple(rows),
        notes=(*([f"{'; '.join(papers)}."] if papers else []), *_notes(measured)),
        trainings=tuple(map(_training_line, measured.trainings)),
    )


def _heading(column: Column) -> Heading:
    digits = {"dimensions": 0, "parameters": 0, "hours": 2}.get(column.fact or "", 1)
    return Heading(column.name, digits, column.lower_is_better, column.fact is not None)


def _table_row(row: Row, measured: Measured) -> TableRow:
    columns = measured.experiment.columns
    scored = next((one for one in measured.rows if one.row.full_title == row.full_title), None)
    reason = row.encoder.reason if isinstance(row.encoder, NotHere) else ""
    lines = []
    if scored is not None:
        cells = tuple(measured_cell(scored, column, measured.absent) for column in columns)
        lines = [Line("here", True, scored.scale, cells)]
    return TableRow(
        row.title,
        row.taken,
        row.group,
        (*lines, *_published_lines(measured.experiment, row)),
        not_here=reason or measured.missing.get(row.full_title, ""),
        folders=() if scored is None else scored.folders,
    )


def _published_lines(experiment: Experiment, row: Row) -> list[Line]:
    """Returns a line for each corpus of which a paper gives any of the columns."""
    if row.published is None:
        return []
    return [
        Line(
            published.source,
            False,
            _published_scale(experiment, row, published),
            tuple(Cell(published.figure(column)) for column in experiment.columns),
        )
        for published in published_beside(row.published, experiment.tables)
        if any(column.name in published.figures for column in experiment.columns)
    ]


def _published_scale(experiment: Experiment, row: Row, published: PublishedRow) -> Scale:
    """Returns on what the published model was trained, as far as the paper says it.

    Width, vectors and epochs are those of the paper's own models, and not of others' or of words.
    """
    scales = [one.scale for one in experiment.scales if one.paper == published.paper]
    known = next((scale for scale in scales if scale.corpus == published.corpus), None)
    is_of_others = isinstance(row.encoder, NotHere)
    if known is None:
        own = next(iter(scales), Scale())
        return Scale(published.corpus, vectors="" if is_of_others else own.vectors)
    return Scale(known.corpus, known.sentences, known.words) if is_of_others else known


def _with_best(experiment: Experiment, rows: Sequence[TableRow]) -> list[TableRow]:
    """Returns the rows, of which the best trained one says so, if all of these have the fact."""
    facts = [column.fact for column in experiment.columns]
    if experiment.best_by is None or experiment.best_by not in facts:
        return list(rows)
    pairs = zip(experiment.rows, rows, strict=True)
    trained = [row for declared, row in pairs if isinstance(declared.encoder, Trained)]
    place = facts.index(experiment.best_by)
    values = [line.cells[place].value for row in trained for line in row.lines if line.measured]
    known = [value for value in values if value is not None]
    best = trained[values.index(max(known))] if len(known) == len(trained) else None
    return [replace(row, chosen_by=experiment.best_by) if row is best else row for row in rows]


def _training_line(record: TrainingRecord) -> dict[str, Any]:
    """Returns how a training went: shares in percent, seconds of all seeds together."""
    summary = record.summaries[0]
    final = summary["held_out"]["final"]
    return {
        "name": record.training.name,
        "views": list(summary["views"]),
        "objective": summary["objective"],
        "num_parameters": summary["num_parameters"],
        "sentences": summary["train_sentences"],
        "words": num_words(summary),
        "known_share": 100.0 * summary["coverage"]["known_share"],
        "epochs": summary["epochs"],
        "steps": summary["steps"],
        "held_out": asdict(_held_out_accuracy(record.summaries)),
        "chance": 100.0 * final["chance"] if final["num_sentences"] else None,
        "seconds": sum(one["seconds"] for one in record.summaries),
    }


def num_words(summary: Summary) -> int:
    """Returns the words of the text that was trained on."""
    return sum(int(summary["coverage"][kind]) for kind in ("exact", "lower_cased", "unknown"))


# Cells.

NOT_SCORED = "not scored"


def measured_cell(row: ScoredRow, column: Column, absent: Mapping[str, str] | None = None) -> Cell:
    """Returns what a row has in a column, over its seeds.

    Args:
        row: what was measured of it.
        column: the column.
        absent: tasks whose data are not there, with the reason.
    """
    if column.fact is not None:
        return _fact(row, column.fact)
    seeds = row.derived if column.derived else row.seeds
    if column.average is not None:
        return _average(column.average, seeds)
    (task,) = column.tasks
    results = [seed.get(task) for seed in seeds]
    scored = [result for result in results if isinstance(result, TaskResult)]
    if not scored or len(scored) < len(results):
        absences = (one.reason for one in results if isinstance(one, AbsentResult))
        reason = next(absences, NOT_SCORED)
        return Cell(reason=reason if column.derived else (absent or {}).get(task, reason))
    if any(column.score not in result.scores for result in scored):
        return Cell(reason=f"{task} has no score {column.score}")
    return _over_cells([result.scores[column.score] for result in scored], times=column.times)


def _over_cells(seeds: Sequence[Interval], *, times: float = 1.0) -> Cell:
    """Returns one figure a seed as a cell: a single one with its interval."""
    if len(seeds) > 1:
        return _over_values([times * seed.value for seed in seeds])
    (seed,) = seeds
    return Cell(times * seed.value, None, 1, times * seed.low, times * seed.high)


def _over_values(values: Sequence[float]) -> Cell:
    """Returns figures without intervals, one a seed, as a cell; without any, an empty one."""
    if not values:
        return Cell()
    mean = over_seeds(values)
    return Cell(mean.mean, mean.deviation, mean.num_seeds)


def _average(declared: AverageDeclaration, seeds: Sequence[Mapping[str, Result]]) -> Cell:
    missing = sorted({task for results in seeds or ({},) for task in lacking(declared, results)})
    if missing:
        return Cell(reason=f"without {', '.join(missing)} it would be another figure")
    if len(seeds) == 1:
        return _over_cells([published_average(declared, seeds[0])])
    return _over_values([average_value(declared, results) for results in seeds])


def _fact(row: ScoredRow, fact: Fact) -> Cell:
    single = [seed[0] for seed in row.summaries if len(seed) == 1]
    match fact:
        case "dimensions":
            return _dimensions(row)
        case "development score":
            return _development(row)
        case "hours":
            spent = [sum(part["seconds"] for part in seed) for seed in row.summaries]
            return _over_values([seconds / 3600 for seconds in spent])
        case "parameters":
            return _over_values([float(summary["num_parameters"]) for summary in single[:1]])
    return _held_out_accuracy(single)


def _held_out_accuracy(summaries: Sequence[Summary]) -> Cell:
    """Returns the accuracy on held-out sentences over seeds, in percent."""
    final = [summary["held_out"]["final"] for summary in summaries]
    if not all(held_out["num_sentences"] for held_out in final):
        return Cell(reason="nothing is held out")
    return _over_values([100.0 * held_out["accuracy"] for held_out in final])


def _dimensions(row: ScoredRow) -> Cell:
    """Returns the width of a sentence's vector, where a classifier reads it if one does.

    A classifier reads two parts as wide as a sentence of a pair or a passage, side by side.
    """
    seeds, widths = (*row.seeds, *row.derived), []
    for result in (result for seed in seeds for result in scored_results(seed).values()):
        learns = result.setup.learns
        parts = 2 if learns and result.task.features != "sentence" else 1
        widths.append((learns, result.outcome.width // parts))
    return _over_values([float(max(widths)[1])]) if widths else Cell(reason=NOT_SCORED)


def _development(row: ScoredRow) -> Cell:
    """Returns the mean development score of all tasks that learn."""
    seeds = []
    for place in range(max(len(row.seeds), len(row.derived))):
        scores = [
            result.outcome.dev_score
            for results in (*row.seeds[place : place + 1], *row.derived[place : place + 1])
            for result in scored_results(results).values()
            if result.outcome.dev_score is not None
        ]
        if not scores:
            return Cell(reason="no task of the table learns")
        seeds.append(fmean(scores))
    return _over_values(seeds)


# Notes: how figures came about, what is absent, how ours differ.

NAMED_BY_ROWS = ("views", "remove_components")
"""Fields of a representation in which rows of one model differ."""


def _notes(measured: Measured) -> list[str]:
    columns = measured.experiment.columns
    names = {column.name for column in columns}
    published, derived = _encoders(measured, "seeds"), _encoders(measured, "derived")
    has_errors = any(column.score in SCORES_OF_ERRORS for column in columns)
    declared = measured.experiment.notes
    return [
        intervals_note([*published, *derived], has_errors=has_errors),
        *(note.text for note in declared if not note.columns or names & {*note.columns}),
        *(f"{task}: absent ({reason})" for task, reason in measured.absent.items()),
        *_of_tasks(published),
        *_of_tasks(derived),
        *_of_scoring(measured),
        *_of_training(measured),
    ]


def _encoders(measured: Measured, kind: Literal["seeds", "derived"]) -> list[EncoderColumn]:
    """Returns the rows as the notes of evaluations know encoders."""
    rows = ((row.row.full_title, getattr(row, kind)) for row in measured.rows)
    return [EncoderColumn(title, seeds) for title, seeds in rows if seeds]


def _of_tasks(columns: Sequence[EncoderColumn]) -> list[str]:
    tasks = list(dict.fromkeys(task for column in columns for one in column.seeds for task in one))
    by_task = {task: [one for column in columns for one in column.of_task(task)] for task in tasks}
    by_task = {task: results for task, results in by_task.items() if results}
    results = [result for scored in by_task.values() for result in scored]
    return [
        *absence_notes(columns, tasks),
        *doubts("All rows together", by_task),
        *derived_notes(corpora_of(results)),
    ]


def _of_scoring(measured: Measured) -> list[str]:
    """Returns the classifiers, and the representations but for what each row says of its own."""
    setups = [(row, shown_setup(seed)) for row in measured.rows for seed in row.seeds[:1] if seed]
    settings = dict.fromkeys(
        ", ".join(f"{name} {value}" for name, value in setup.classifier.items())
        for _, setup in setups
        if setup.learns
    )
    represented: dict[str, dict[str, None]] = {}
    for row, setup in setups:
        represented.setdefault(_representation(setup), {})[row.row.title] = None
    notes = [
        *(f"Where something is learnt: {setting}." for setting in settings),
        *(f"Represented as {how}: {'; '.join(titles)}." for how, titles in represented.items()),
    ]
    classifiers = {setup.classifier.get("classifier") for _, setup in setups}
    if measured.experiment.scales and "logistic_regression" in classifiers:
        notes.append(
            "Classifier: an exact logistic regression; the papers used SentEval's package, whose "
            "own is trained by Adam and stops early (--classifier compatibility)."
        )
    return notes


def _representation(setup: Setup) -> str:
    return described({k: v for k, v in setup.representation.items() if k not in NAMED_BY_ROWS})


def _of_training(measured: Measured) -> list[str]:
    """Returns what sets our trainings apart from the papers': text, vectors, settings."""
    about = f"Text: {measured.corpus}. Held out, and so not trained on: {measured.held_out}."
    notes = [about] if measured.trainings else []
    notes.append(f"Word vectors: {measured.vectors}.")
    for record in measured.trainings:
        if record.changed:
            changed = record.changed.items()
            fields = ", ".join(f"{name} {ours} ({preset})" for name, (preset, ours) in changed)
            notes.append(f"{record.training.name}, in parentheses the preset: {fields}.")
    return notes
