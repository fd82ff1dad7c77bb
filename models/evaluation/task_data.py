"""Reads a declared task from SentEval's data folder, as published or as derived from a corpus.

Derived tasks have the published ones' names, files and format, so that any encoder can be scored
on them. Beside them stand a note and a table. Without the note nothing in a result would say that
these are other sentences. The table holds each text of all tasks once, with the document it comes
from, by which intervals draw, and the parses it was labelled by, so that encoders over trees read
these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from treeviews.models.evaluation.senteval_format import (
    DATASETS,
    RESTORE,
    Example,
    Examples,
    Tokens,
    read_lines,
    sort_key,
)
from treeviews.models.evaluation.task_registry import (
    DERIVED,
    DISCOURSE,
    SENTENCES_OF,
    EvaluationTask,
    Items,
    TaskData,
    tasks_named,
)
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.base.settings import Settings
from treeviews.pipeline.shards.schema import schema_for

NOTE_NAME = "derived.json"
SENTENCES_NAME = "sentences.parquet"

SENTENCES = pa.schema(
    [
        schema_for("sentences").field("tokens"),
        # The document, or the held-out block of it, that the sentence belongs to.
        pa.field("unit", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        # Row of the corpus, counted over its shards.
        pa.field("dataset_row", pa.int64(), nullable=False),
        schema_for("dependencies").field("heads"),
        schema_for("dependencies").field("deprels"),
        schema_for("constituents").field("binary_left"),
        schema_for("constituents").field("binary_right"),
    ]
)

_REMEDY = "build the probing data again, or keep published files in a folder of their own"


class DerivedNote(Settings):
    """Which files of a folder hold derived tasks."""

    called: ClassVar[str] = "note field"

    format: Literal["treeviews derived tasks"] = "treeviews derived tasks"
    format_version: Literal[4] = 4
    corpus: str
    """The text that the tasks were derived from."""
    files: Mapping[str, str]
    """Name of each file -> its sha256."""
    absent: Mapping[str, str] = {}
    """Name of each file that the corpus was too small for -> the reason."""
    protocol: Mapping[str, Any] = {}
    """Fields of ``ProtocolConfig`` that the tasks ask for; a user's own choice goes before."""
    parsers: Mapping[str, str] = {}
    """Parse stage -> checksum of the weights by which the sentences were parsed, where known."""

    def check(self, path: Path, sha256: str) -> None:
        """Raises ValueError unless this file is one of the derived ones, as it was written."""
        if self.files.get(path.name) != sha256:
            raise ValueError(
                f"{path}: not as {NOTE_NAME} beside it says of the tasks that are derived from "
                f"{self.corpus}; {_REMEDY}"
            )

    def why_missing(self, path: Path) -> str:
        """Returns why a file is not there."""
        reason = self.absent.get(path.name)
        if reason is None:
            return f"no {path} among the tasks derived from {self.corpus}; {_REMEDY}"
        return f"not derived from {self.corpus}: {reason}"


@dataclass(frozen=True, slots=True, eq=False)
class DerivedSentences:
    """The sentences of all derived tasks of a folder, in the order of the corpus."""

    texts: tuple[str, ...]
    """Tokens joined by single spaces; they differ."""
    units: npt.NDArray[np.int64]
    """[sentences]; number of the document, or held-out block, of each."""
    table: pa.Table
    """See `SENTENCES`."""


def read_sentences(folder: Path, note: DerivedNote) -> DerivedSentences:
    """Returns the sentences of a folder of derived tasks.

    Raises:
        ValueError: the file is not there, or not the one that the note names.
    """
    path = folder / SENTENCES_NAME
    if not path.is_file():
        raise ValueError(note.why_missing(path))
    sha256 = sha256_of_file(path)
    note.check(path, sha256)
    return _read_sentences(path, sha256)


@lru_cache(maxsize=1)  # all tasks of a folder read the same file
def _read_sentences(path: Path, sha256: str) -> DerivedSentences:
    """Returns what stands in the file of this checksum, which is part of the cache's key only."""
    table = pq.read_table(path, schema=SENTENCES)
    texts = tuple(" ".join(tokens) for tokens in table.column("tokens").to_pylist())
    names = np.array(table.column("unit").to_pylist(), dtype=object)
    units = np.unique(names, return_inverse=True)[1].astype(np.int64)
    return DerivedSentences(texts, units, table)


class AbsentDataError(FileNotFoundError):
    """A task's files are not there."""


def missing_files(task: EvaluationTask, data_folder: Path) -> list[Path]:
    """Returns the files of a task that the data folder does not hold."""
    paths = (data_folder / name for name in DATASETS[task.dataset].files.values())
    return [path for path in paths if not path.is_file()]


def why_absent(task: EvaluationTask, data_folder: Path) -> str:
    """Returns what a data folder lacks of a task and what to do; empty where it lacks nothing.

    Raises:
        ValueError: a damaged note.
    """
    missing = missing_files(task, data_folder)
    if not missing:
        return ""
    note = derived_note(task, data_folder)
    if note is not None:
        return f"{task.name}: {note.why_missing(missing[0])}"
    if task in DISCOURSE:
        return (
            f"{task.name}: no {missing[0]}; SentEval's data do not hold this task, which "
            "BuildProbing derives from a corpus: name the folder senteval/ that it wrote"
        )
    return (
        f"{task.name}: no {missing[0]}; download SentEval's data, or name the folder that "
        "holds its downstream/ and probing/"
    )


def tasks_of_data(names: str, data_folder: Path) -> tuple[EvaluationTask, ...]:
    """Returns the tasks of a list of names; all of derived data are others than of SentEval's.

    Raises:
        ValueError: see `tasks_named`, or a damaged note.
    """
    return tasks_named(names, derived=derived_note(DERIVED[0], data_folder) is not None)


def task_folder(task: EvaluationTask, data_folder: Path) -> Path:
    """Returns the folder in which a task's files stand."""
    return (data_folder / next(iter(DATASETS[task.dataset].files.values()))).parent


def derived_note(task: EvaluationTask, data_folder: Path) -> DerivedNote | None:
    """Returns the note that this folder's data of a task are derived, None for published ones.

    Raises:
        ValueError: a damaged note, or one of another version.
    """
    path = task_folder(task, data_folder) / NOTE_NAME
    return DerivedNote.read(path, remedy=_REMEDY) if path.exists() else None


def load_task(task: EvaluationTask, data_folder: Path) -> TaskData:
    """Returns a task's sentences and answers, as published or as derived from a corpus.

    Published ones are in the order in which SentEval hands them to the classifier, derived ones in
    that of their file, with the sentences of the whole folder.

    Args:
        data_folder: SentEval's ``data`` folder, the one that holds ``downstream`` and ``probing``.

    Raises:
        AbsentDataError: some or all of the task's files are not there.
        ValueError: a file is malformed; names file and line. Or a file among derived tasks is not
            the one that was written.
    """
    dataset, folder = DATASETS[task.dataset], task_folder(task, data_folder)
    note = derived_note(task, data_folder)
    if reason := why_absent(task, data_folder):
        raise AbsentDataError(reason)
    files, digests = {}, {}
    for role, name in dataset.files.items():
        files[role], digests[name] = read_lines(data_folder / name, dataset.encoding)
        if note is not None:
            note.check(data_folder / name, digests[name])
    examples = dataset.read(task, files)
    if empty := [name for name, split in examples.splits.items() if not split]:
        raise ValueError(
            f"{task.name}: the files in {folder} hold no item of {', '.join(empty)}; {RESTORE}"
        )
    if note is not None:
        sentences = read_sentences(folder, note)
        place = (folder / SENTENCES_NAME).relative_to(data_folder)
        positions = {text: place for place, text in enumerate(sentences.texts)}
        return TaskData(
            sentences=sentences.texts,
            splits={
                name: _items(task, split, positions) for name, split in examples.splits.items()
            },
            class_names=examples.class_names,
            files={**digests, str(place): note.files[SENTENCES_NAME]},
            derived_from=note.corpus,
            units=sentences.units,
            protocol=note.protocol,
        )
    return _published(task, examples, digests)


def _published(task: EvaluationTask, examples: Examples, digests: Mapping[str, str]) -> TaskData:
    """Returns the data of a task in the order in which SentEval hands them to the classifier."""
    splits, left_out = dict(examples.splits), dict(examples.left_out)
    every = [s for split in splits.values() for each in split for s in each.sentences]
    positions: dict[str, int] = {}
    for tokens in every:
        positions.setdefault(_as_text(tokens), len(positions))
    if task.protocol == "similarity" and "test" in splits:
        # Where nothing is learnt, the other splits of a learnt task serve no purpose.
        for name in [name for name in splits if name != "test"]:
            left_out[f"pair of the {name} split"] = len(splits.pop(name))
    num_empty = sum(not tokens for tokens in every)
    ordered = {name: sorted(split, key=sort_key) for name, split in splits.items()}
    return TaskData(
        sentences=tuple(positions),
        splits={name: _items(task, split, positions) for name, split in ordered.items()},
        class_names=examples.class_names or task.classes,
        left_out=left_out,
        replaced={"empty sentence, given as a period": num_empty} if num_empty else {},
        files=digests,
    )


def _as_text(tokens: Tokens) -> str:
    """Returns the sentence as it is encoded.

    One without tokens is a period: so SentEval's own examples (bow.py and others) have it.
    """
    return " ".join(tokens) or "."


def _items(
    task: EvaluationTask, examples: Sequence[Example], positions: Mapping[str, int]
) -> Items:
    """Returns the items of examples, in their order.

    Args:
        positions: of each sentence among those of the dataset.
    """
    is_score = task.protocol in ("relatedness", "similarity")
    labels = np.array([example.label for example in examples], dtype=np.float64)
    rows = [[positions[_as_text(tokens)] for tokens in e.sentences] for e in examples]
    sentences = np.array(rows, dtype=np.int64).reshape(len(rows), SENTENCES_OF[task.features])
    return Items(
        tuple(np.ascontiguousarray(sentences.T)), labels if is_score else labels.astype(np.int64)
    )
