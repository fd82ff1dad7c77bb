"""What is said below a table: how figures came about, what is absent, how ours differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from models.evaluation.representation import described
from models.evaluation.task_result import Setup, corpora_of, shown_setup
from models.experiments.declaration import Experiment, Note
from models.experiments.scored_rows import Measured, ScoredRow
from models.report.evaluation_table import EncoderColumn, absence_notes, intervals_note
from models.report.markdown import SCORES_OF_ERRORS
from models.report.table_notes import derived_notes, doubts

SAID_BY_ROWS = ("views", "remove_components")
"""Fields of a representation in which rows of one model differ."""


def remarks(measured: Measured) -> list[str]:
    """Returns the notes of a table."""
    published = _encoder_columns(measured.rows, derived=False)
    derived = _encoder_columns(measured.rows, derived=True)
    has_errors = any(one.score in SCORES_OF_ERRORS for one in measured.experiment.columns)
    return [
        intervals_note([*published, *derived], has_errors=has_errors),
        *_declared(measured.experiment),
        *(f"{task}: absent ({reason})" for task, reason in measured.absent.items()),
        *_of_tasks(published),
        *_of_tasks(derived),
        *_scoring(measured),
        *_of_training(measured),
    ]


def _declared(experiment: Experiment) -> list[str]:
    """Returns the declared notes that speak of what stands in the table."""
    names = {column.name for column in experiment.columns}
    notes = (Note(one) if isinstance(one, str) else one for one in experiment.notes)
    return [note.text for note in notes if not note.columns or names & {*note.columns}]


def _encoder_columns(rows: Sequence[ScoredRow], *, derived: bool) -> list[EncoderColumn]:
    """Returns the rows as the notes of evaluations know encoders."""
    taken = [(row.row.full_title, row.derived if derived else row.seeds) for row in rows]
    return [
        EncoderColumn(title, tuple(map(shown_setup, seeds)), seeds)
        for title, seeds in taken
        if seeds
    ]


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


def _scoring(measured: Measured) -> list[str]:
    """Returns the classifiers, and the representations but for what each row says of its own."""
    setups = [(row, shown_setup(seed)) for row in measured.rows for seed in row.seeds[:1] if seed]
    settings = dict.fromkeys(
        ", ".join(f"{name} {value}" for name, value in setup.classifier.items())
        for _, setup in setups
        if setup.learns
    )
    represented = _grouped((row.row.title, _representation(setup)) for row, setup in setups)
    notes = [
        *(f"Where something is learnt: {one}." for one in settings),
        *(f"Represented as {how}: {names}." for how, names in represented.items()),
    ]
    classifiers = {setup.classifier.get("classifier") for _, setup in setups}
    if measured.experiment.scales and "logistic_regression" in classifiers:
        notes.append(
            "Classifier: an exact logistic regression; the papers used SentEval's package, whose "
            "own is trained by Adam and stops early (--classifier compatibility)."
        )
    return notes


def _representation(setup: Setup) -> str:
    return described({k: v for k, v in setup.representation.items() if k not in SAID_BY_ROWS})


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns the first of pairs by their second, each once, in one line."""
    groups: dict[str, dict[str, None]] = {}
    for name, said in pairs:
        groups.setdefault(said, {})[name] = None
    return {said: "; ".join(names) for said, names in groups.items()}


def _of_training(measured: Measured) -> list[str]:
    """Returns what sets our trainings apart from the papers': text, vectors, settings."""
    text, notes = measured.text, []
    if measured.trainings:
        notes.append(f"Text: {text.corpus}. Held out, and so not trained on: {text.held_out}.")
    notes.append(f"Word vectors: {text.vectors}.")
    for record in measured.trainings:
        if record.changed:
            said = (f"{name} {ours} ({preset})" for name, (preset, ours) in record.changed.items())
            notes.append(f"{record.training.name}, in parentheses the preset: {', '.join(said)}.")
    return notes
