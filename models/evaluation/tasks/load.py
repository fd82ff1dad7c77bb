"""Reads a declared task from SentEval's data folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from models.evaluation.tasks.derived import DerivedNote, read_note
from models.evaluation.tasks.examples import arranged
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
    path = next(iter(DATASETS[task.dataset].files.values()))
    return read_note((data_folder / path).parent)


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
        folder = (data_folder / next(iter(dataset.files.values()))).parent
        raise ValueError(
            f"{task.name}: the files in {folder} hold no item of {', '.join(empty)}; restore them "
            f"from the published data"
        )
    digests = {path: files[role].sha256 for role, path in dataset.files.items()}
    data = arranged(task, examples, digests)
    return data if note is None else replace(data, derived_from=note.corpus)
