"""Reads a declared task from SentEval's data folder."""

from __future__ import annotations

from pathlib import Path

from models.evaluation.tasks.derived import (
    SENTENCES_NAME,
    DerivedNote,
    DerivedSentences,
    read_note,
    read_sentences,
)
from models.evaluation.tasks.examples import Examples, arranged, items_of
from models.evaluation.tasks.layout import DATASETS
from models.evaluation.tasks.task import EvaluationTask, TaskData
from models.evaluation.tasks.text_file import read_text_file


class AbsentDataError(FileNotFoundError):
    """A task's files are not there."""


def missing_files(task: EvaluationTask, data_folder: Path) -> list[Path]:
    """Returns the files of a task that the data folder does not hold."""
    paths = (data_folder / name for name in DATASETS[task.dataset].files.values())
    return [path for path in paths if not path.is_file()]


def derived_note(task: EvaluationTask, data_folder: Path) -> DerivedNote | None:
    """Returns the note that this folder's data of a task are derived, None for published ones.

    Raises:
        ValueError: a damaged note.
    """
    return read_note(_folder_of(task, data_folder))


def derived_sentences(task: EvaluationTask, data_folder: Path) -> DerivedSentences | None:
    """Returns the sentences of the tasks that this one was derived with, None for a published one.

    Raises:
        ValueError: a damaged note, or sentences that are not those that it names.
    """
    note = derived_note(task, data_folder)
    return None if note is None else read_sentences(_folder_of(task, data_folder), note)


def _folder_of(task: EvaluationTask, data_folder: Path) -> Path:
    return (data_folder / next(iter(DATASETS[task.dataset].files.values()))).parent


def load_task(task: EvaluationTask, data_folder: Path) -> TaskData:
    """Returns a task's sentences and answers, as published or as derived from a corpus.

    Args:
        data_folder: SentEval's ``data`` folder, the one that holds ``downstream`` and ``probing``.

    Raises:
        AbsentDataError: some or all of the task's files are not there.
        ValueError: a file is malformed; names file and line. Or a file among derived tasks is not
            the one that was written.
    """
    note = derived_note(task, data_folder)
    missing = missing_files(task, data_folder)
    if missing and note is not None:
        raise AbsentDataError(f"{task.name}: {note.why_missing(missing[0])}")
    if missing:
        others = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise AbsentDataError(
            f"{task.name}: no {missing[0]}{others}; download SentEval's data, or name the folder "
            f"that holds its downstream/ and probing/"
        )
    dataset = DATASETS[task.dataset]
    files = {
        role: read_text_file(data_folder / path, dataset.encoding)
        for role, path in dataset.files.items()
    }
    if note is not None:
        for file in files.values():
            note.check(file.path, file.sha256)
    examples = dataset.load(task, files)
    empty = [name for name, split in examples.splits.items() if not split]
    if empty:
        raise ValueError(
            f"{task.name}: the files in {_folder_of(task, data_folder)} hold no item of "
            f"{', '.join(empty)}; restore them from the published data"
        )
    digests = {path: files[role].sha256 for role, path in dataset.files.items()}
    if note is None:
        return arranged(task, examples, digests)
    return _derived(task, data_folder, note, examples, digests)


def _derived(
    task: EvaluationTask,
    data_folder: Path,
    note: DerivedNote,
    examples: Examples,
    digests: dict[str, str],
) -> TaskData:
    """Returns the data of a derived task: in the order of its file, with the folder's sentences."""
    folder = _folder_of(task, data_folder)
    sentences = read_sentences(folder, note)
    positions = {text: place for place, text in enumerate(sentences.texts)}
    path = folder / SENTENCES_NAME
    return TaskData(
        sentences=sentences.texts,
        splits={name: items_of(task, split, positions) for name, split in examples.splits.items()},
        class_names=examples.class_names,
        files={**digests, str(path.relative_to(data_folder)): sentences.sha256},
        derived_from=note.corpus,
        units=sentences.units,
        protocol=note.protocol,
    )
