"""What is said below a table: how figures came about, what is absent, how ours differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from models.evaluation.protocols.config import Classifier
from models.evaluation.representations.representation import described
from models.evaluation.task_result import Setup, corpora_of, shown_setup
from models.experiments.declaration import Experiment, Note, NotHere
from models.experiments.marks import CONFIG, LEVEL, has_test, is_main
from models.experiments.published import published_beside
from models.experiments.scored_rows import Measured, ScoredRow
from models.report.evaluation_table import (
    EncoderColumn,
    absence_notes,
    check_same_data,
    intervals_note,
    undefined_notes,
)
from models.report.markdown import SCORES_OF_ERRORS
from models.report.table_notes import data_remarks, derived_notes, doubts
from models.report.training_effect import meaning_of_accuracy

EXACT: Classifier = "logistic_regression"
SAID_BY_ROWS = ("views", "remove_components")
"""Fields of a representation in which rows of one model differ."""
_SEEDED = "seeds are those of a projection, too, and the test takes them for trainings"


def remarks(measured: Measured) -> list[str]:
    """Returns the notes of a table.

    Raises:
        ValueError: rows were scored on different data of a task.
    """
    published = _encoder_columns(measured.rows, derived=False)
    derived = _encoder_columns(measured.rows, derived=True)
    return [
        intervals_note([*published, *derived], has_errors=_has_errors(measured.experiment)),
        *_of_baseline(measured),
        *_declared(measured.experiment),
        *(f"{task}: absent ({reason})" for task, reason in measured.absent.items()),
        *_of_tasks(published),
        *_of_tasks(derived),
        *_of_rows(measured),
        *_of_averages(measured.experiment),
        *_scoring(measured.rows),
        *_of_training(measured),
    ]


def _has_errors(experiment: Experiment) -> bool:
    return any(column.score in SCORES_OF_ERRORS for column in experiment.columns)


def _declared(experiment: Experiment) -> list[str]:
    """Returns the declared notes that speak of what stands in the table."""
    names = {column.name for column in experiment.columns}
    has_published = _has_published(experiment)
    notes = (Note(one) if isinstance(one, str) else one for one in experiment.notes)
    return [
        note.text
        for note in notes
        if (not note.columns or names & {*note.columns})
        and (has_published or not note.of_published)
    ]


def _has_published(experiment: Experiment) -> bool:
    """Returns whether a paper gives any figure of the rows and columns."""
    return any(
        column.name in found.figures
        for row in experiment.rows
        if row.published is not None
        for found in published_beside(row.published, experiment.tables)
        for column in experiment.columns
    )


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
    check_same_data(columns, tasks)
    by_task = {task: [one for column in columns for one in column.of_task(task)] for task in tasks}
    by_task = {task: results for task, results in by_task.items() if results}
    results = [result for scored in by_task.values() for result in scored]
    return [
        *absence_notes(columns, tasks),
        *undefined_notes(columns, tasks),
        *doubts("All rows together", by_task),
        *data_remarks(results),
        *derived_notes(corpora_of(results)),
    ]


def _of_baseline(measured: Measured) -> list[str]:
    baseline = next((one for one in measured.rows if one.row.full_title == measured.baseline), None)
    others = [one for one in measured.rows if one is not baseline and one.scored]
    if baseline is None or not baseline.scored or not others:
        return []
    untested = [one.row.full_title for one in others if not has_test(one, baseline)]
    if len(untested) == len(others):
        return [f"No row is tested against {measured.baseline}: {_SEEDED}."]
    columns = [one.name for one in measured.experiment.columns if not is_main(one)]
    rows = f" Rows not tested: {'; '.join(untested)} ({_SEEDED})." if untested else ""
    return [
        f"▲ and ▼: better and worse than {measured.baseline}, by a paired {CONFIG.test} test on "
        f"the same items, p below {LEVEL:g} after Holm's correction over the tasks of a row. It is "
        "about other test items and not about another training. Main scores of tasks alone are "
        f"tested{', not ' if columns else ''}{', '.join(columns)}.{rows}"
    ]


def _of_rows(measured: Measured) -> list[str]:
    """Returns why rows have published figures alone, said once of those with one reason."""
    reasons = [
        (row.full_title, row.encoder.reason)
        for row in measured.experiment.rows
        if isinstance(row.encoder, NotHere)
    ]
    reasons += measured.missing.items()
    return [f"Not here: {names} ({reason})." for reason, names in _grouped(reasons).items()]


def _of_averages(experiment: Experiment) -> list[str]:
    """Returns which averages of published lines no paper prints."""
    averages = [column for column in experiment.columns if column.average is not None]
    found = {
        column.name: None
        for row in experiment.rows
        if row.published is not None
        for line in published_beside(row.published, experiment.tables)
        for column in averages
        if line.is_computed(column)
    }
    if not found:
        return []
    return [
        f"Where a paper does not print {' or '.join(found)}, it is computed from the figures that "
        "the paper prints."
    ]


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns the first of pairs by their second, each once, in one line."""
    groups: dict[str, dict[str, None]] = {}
    for name, said in pairs:
        groups.setdefault(said, {})[name] = None
    return {said: "; ".join(names) for said, names in groups.items()}


def _setups(rows: Sequence[ScoredRow]) -> list[tuple[ScoredRow, Setup]]:
    return [(row, shown_setup(seed)) for row in rows for seed in row.seeds[:1] if seed]


def _scoring(rows: Sequence[ScoredRow]) -> list[str]:
    """Returns the classifiers, and the representations but for what each row says of its own."""
    setups = _setups(rows)
    settings = dict.fromkeys(
        ", ".join(f"{name} {value}" for name, value in setup.classifier.items())
        for _, setup in setups
        if setup.learns
    )
    represented = _grouped(
        (
            row.row.title,
            described({k: v for k, v in setup.representation.items() if k not in SAID_BY_ROWS}),
        )
        for row, setup in setups
    )
    return [
        *(f"Where something is learnt: {one}." for one in settings),
        *(f"Represented as {how}: {names}." for how, names in represented.items()),
    ]


def _of_training(measured: Measured) -> list[str]:
    """Returns what sets our trainings apart from the papers': text, vectors, settings."""
    text, notes = measured.text, []
    if measured.trainings:
        notes.append(f"Text: {text.corpus}. Held out, and so not trained on: {text.held_out}.")
    notes.append(f"Word vectors: {text.vectors}.")
    meant = _grouped(
        (one.training.name, meaning_of_accuracy(one.summaries[0]["objective"]))
        for one in measured.trainings
    )
    notes += [f"Held-out accuracy of {names}: {said}" for said, names in meant.items()]
    for record in measured.trainings:
        if record.changed:
            said = (f"{name} {ours} ({preset})" for name, (preset, ours) in record.changed.items())
            notes.append(f"{record.training.name}, in parentheses the preset: {', '.join(said)}.")
    exact = [setup for _, setup in _setups(measured.rows) if _is_exact(setup)]
    if exact and measured.experiment.scales:
        notes.append(
            "Classifier: an exact logistic regression; the papers used SentEval's package, whose "
            "own is trained by Adam and stops early (--classifier compatibility)."
        )
    return notes


def _is_exact(setup: Setup) -> bool:
    return setup.classifier.get("classifier") == EXACT
