"""MTEB's tasks by name, with local data in place of the hub's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from models.evaluation.task_result import DataRecord
from models.evaluation.tasks.task import MTEB_TASK, EvaluationTask
from models.mteb.library import import_mteb
from models.mteb.local_data import DEFAULT, has_data, local_data
from models.mteb.predictions import protocol_of, score_of
from pipeline.base.digest import DIGEST_CHARACTERS

ROWS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class LoadedTask:
    """One of MTEB's tasks with local data, and what we call it."""

    task: Any
    declared: EvaluationTask
    data: DataRecord


def mteb_task_names(names: Sequence[str], data: Path) -> list[str]:
    """Returns MTEB's names of tasks, of which ``all`` are those that the folder has data of.

    Args:
        names: MTEB's, also with the ``mteb-`` of our tables before them.
        data: the folder that has a folder a task.

    Raises:
        FileNotFoundError: no such folder, or it holds no data of any task.
        ValueError: an unknown name, or mteb is not installed; names similar ones.
    """
    mteb = import_mteb()
    if not data.is_dir():
        raise FileNotFoundError(f"{data}: no such folder; give one that holds a folder a task")
    wanted = list(dict.fromkeys(name.removeprefix(MTEB_TASK) for name in names))
    if wanted == ["all"]:
        known = mteb.get_tasks(
            modalities=["text"], exclusive_modality_filter=True, exclude_superseded=False
        )
        wanted = [one.metadata.name for one in known if has_data(one.metadata, data)]
        if not wanted:
            raise FileNotFoundError(
                f"{data}: holds no folder of the name of an MTEB task, such as STSBenchmark"
            )
    for name in wanted:
        _task(name)
    return wanted


def _task(name: str, **chosen: Any) -> Any:
    """Returns a new task of MTEB's.

    Raises:
        ValueError: an unknown name.
    """
    try:
        return import_mteb().get_task(name, **chosen)
    except KeyError as error:
        hint = " ".join(str(error.args[0]).split()).partition("not found. ")[2]
        raise ValueError(f"MTEB has no task {name!r}; {hint or 'see its list of tasks'}") from error


def load_mteb_task(name: str, data: Path, temporary: Path) -> LoadedTask:
    """Returns a task with its data, read by MTEB's own loader.

    Args:
        name: MTEB's.
        data: the folder that has a folder a task.
        temporary: where data are laid out as MTEB's loader expects them.

    Raises:
        FileNotFoundError: data are not there.
        ValueError: an unknown task, or data that MTEB cannot read; names the folder.
    """
    place = local_data(_task(name), data, temporary)
    chosen: dict[str, Any] = {"eval_splits": list(place.splits)}
    if place.subsets != (DEFAULT,):
        chosen["hf_subsets"] = list(place.subsets)
    task = _task(name, **chosen)
    own = {**task.metadata.dataset, "path": str(place.folder), "revision": "local"}
    task.metadata = task.metadata.model_copy(update={"dataset": own})
    task.fast_loading = False  # which asks for one part of all subsets; each is read by itself
    try:
        task.load_data()
        convert = getattr(task, "convert_v1_dataset_format_to_v2", None)
        if convert is not None:
            convert(num_proc=None)
        digest, num_items = _digest(task.dataset)
    except Exception as error:  # whatever a reader or a task's own code meets in the user's files
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        said = " ".join(str(cause).split())[:300]
        raise ValueError(
            f"{data}: MTEB cannot read its data of {name} ({type(error).__name__}: {said}); "
            "compare the columns with those of the data set on the hub"
        ) from error
    if not num_items:
        raise ValueError(f"{data}: the data of {name} have no row")
    _check_columns(task, data)
    return LoadedTask(task, _declared(task), DataRecord(digest, digest))


def _check_columns(task: Any, data: Path) -> None:
    """Refuses columns that MTEB would miss when it scores.

    Raises:
        ValueError: names the task, the split and the columns.
    """
    named = [getattr(task, name, None) for name in ("input_column_name", "label_column_name")]
    needed = [name for name in (*getattr(task, "column_names", ()), *named) if name]
    pieces: list[tuple[str, Any]] = [("", task.dataset)]
    while pieces:
        where, piece = pieces.pop()
        if isinstance(piece, Mapping):
            pieces += [(f"{where}{key} ", one) for key, one in piece.items()]
        elif missing := [name for name in needed if name not in getattr(piece, "column_names", ())]:
            raise ValueError(
                f"{data}: the data of {task.metadata.name} ({where.strip()}) have no column "
                f"{', '.join(missing)}, only {', '.join(piece.column_names)}; rename them"
            )


def _declared(task: Any) -> EvaluationTask:
    metadata = task.metadata
    return EvaluationTask(
        name=f"{MTEB_TASK}{metadata.name}",
        dataset=f"{MTEB_TASK}{metadata.name}",
        protocol=protocol_of(task),
        description=" ".join(str(metadata.description).split()),
        citation=str(metadata.bibtex_citation or metadata.reference or ""),
        score=score_of(task),
    )


def _digest(dataset: Any) -> tuple[str, int]:
    """Returns a digest of all that MTEB has loaded, and the number of rows."""
    digest, rows = hashlib.sha256(), 0
    for piece, size in _pieces(dataset):
        digest.update(piece)
        rows += size
    return digest.hexdigest()[:DIGEST_CHARACTERS], rows


def _pieces(found: Any) -> Iterator[tuple[bytes, int]]:
    if isinstance(found, Mapping):
        for key in sorted(found, key=str):
            yield f"{key}:".encode(), 0
            yield from _pieces(found[key])
    elif hasattr(found, "select_columns"):  # a table
        columns = found.select_columns(sorted(found.column_names))
        for start in range(0, len(columns), ROWS_AT_ONCE):
            rows = columns[start : start + ROWS_AT_ONCE]
            size = min(ROWS_AT_ONCE, len(columns) - start)
            yield json.dumps(rows, sort_keys=True, default=str).encode(), size
    else:
        if isinstance(found, np.ndarray):
            found = found.tolist()
        yield json.dumps(found, sort_keys=True, default=str).encode(), 0
