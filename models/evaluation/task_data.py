"""Reads a declared task from SentEval's data folder, as published or as derived from a corpus.

Derived tasks have the published ones' names, files and format, so that any encoder can be scored
on them. Beside them stand a note and a table. Without the note nothing in a result would say that
these are other sentences. The table holds each text of all tasks once, with the document it comes
from, by which intervals draw, and the parses it was labelled by, so that encoders over trees read
these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

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
    read_text_file,
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
from treeviews.pipeline.base.json_files import read_object, write_sealed_json
from treeviews.pipeline.shards.schema import schema_for

NOTE_NAME = "derived.json"
SENTENCES_NAME = "sentences.parquet"
FORMAT = "treeviews derived tasks"
FORMAT_VERSION = 4

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


@dataclass(frozen=True, slots=True)
class DerivedNote:
    """Which files of a folder hold derived tasks."""

    corpus: str
    """The text that the tasks were derived from."""
    files: Mapping[str, str]
    """Name of each file -> its sha256."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Name of each file that the corpus was too small for -> the reason."""
    protocol: Mapping[str, Any] = field(default_factory=dict)
    """Fields of ``ProtocolConfig`` that the tasks ask for; a user's own choice goes before."""
    parsers: Mapping[str, str] = field(default_factory=dict)
    """Parse stage -> checksum of the weights by which the sentences were parsed, where known."""

    def check(self, path: Path, sha256: str) -> None:
        """Raises ValueError unless this file is one of the derived ones, as it was written."""
        expected = self.files.get(path.name)
        if expected is None:
            raise ValueError(
                f"{path}: stands among tasks derived from {self.corpus} but {NOTE_NAME} does not "
                f"name it; {_REMEDY}"
            )
        if expected != sha256:
            raise ValueError(f"{path}: not the file that {NOTE_NAME} beside it names; {_REMEDY}")

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
    parsers: Mapping[str, str]
    """As in the note."""
    sha256: str


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
    return DerivedSentences(*_texts_units_table(path, sha256), note.parsers, sha256)


@lru_cache(maxsize=1)  # all tasks of a folder read the same file
def _texts_units_table(
    path: Path, sha256: str
) -> tuple[tuple[str, ...], npt.NDArray[np.int64], pa.Table]:
    """Returns what stands in the file of this checksum, which is part of the cache's key only."""
    table = pq.read_table(path, schema=SENTENCES)
    texts = tuple(" ".join(tokens) for tokens in table.column("tokens").to_pylist())
    names = np.array(table.column("unit").to_pylist(), dtype=object)
    return texts, np.unique(names, return_inverse=True)[1].astype(np.int64), table


def write_note(folder: Path, note: DerivedNote) -> None:
    """Writes the note of a folder."""
    header = {"format": FORMAT, "format_version": FORMAT_VERSION}
    write_sealed_json(folder / NOTE_NAME, header | asdict(note))


def read_note(folder: Path) -> DerivedNote | None:
    """Returns the note of a folder, None where the folder holds none: its tasks are published.

    Raises:
        ValueError: a damaged note, or one of another version.
    """
    path = folder / NOTE_NAME
    if not path.exists():
        return None
    names = [entry.name for entry in fields(DerivedNote)]
    value = read_object(path, ("format", "format_version", "corpus", "files"), remedy=_REMEDY)
    written, version = value["format"], value["format_version"]
    if (written, version) != (FORMAT, FORMAT_VERSION):
        raise ValueError(
            f"{path}: {written!r} of version {version}, this release reads {FORMAT!r} of "
            f"version {FORMAT_VERSION}; {_REMEDY}"
        )
    return DerivedNote(**{name: value[name] for name in names if name in value})


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
    others = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
    return (
        f"{task.name}: no {missing[0]}{others}; download SentEval's data, or name the folder that "
        "holds its downstream/ and probing/"
    )


def tasks_of_data(names: str, data_folder: Path) -> tuple[EvaluationTask, ...]:
    """Returns the tasks of a list of names; all of derived data are others than of SentEval's.

    Raises:
        ValueError: see `tasks_named`, or a damaged note.
    """
    return tasks_named(names, derived=derived_note(DERIVED[0], data_folder) is not None)


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
    dataset = DATASETS[task.dataset]
    note = derived_note(task, data_folder)
    if reason := why_absent(task, data_folder):
        raise AbsentDataError(reason)
    files = {
        role: read_text_file(data_folder / path, dataset.encoding)
        for role, path in dataset.files.items()
    }
    if note is not None:
        for file in files.values():
            note.check(file.path, file.sha256)
    examples = dataset.read(task, files)
    folder = _folder_of(task, data_folder)
    if empty := [name for name, split in examples.splits.items() if not split]:
        raise ValueError(
            f"{task.name}: the files in {folder} hold no item of {', '.join(empty)}; {RESTORE}"
        )
    digests = {path: files[role].sha256 for role, path in dataset.files.items()}
    if note is None:
        return _published(task, examples, digests)
    sentences = read_sentences(folder, note)
    digests[str((folder / SENTENCES_NAME).relative_to(data_folder))] = sentences.sha256
    return _derived(task, examples, digests, note, sentences)


def _derived(
    task: EvaluationTask,
    examples: Examples,
    digests: Mapping[str, str],
    note: DerivedNote,
    sentences: DerivedSentences,
) -> TaskData:
    """Returns the data of a derived task: in the order of its file, with the folder's sentences."""
    positions = {text: place for place, text in enumerate(sentences.texts)}
    return TaskData(
        sentences=sentences.texts,
        splits={name: _items(task, split, positions) for name, split in examples.splits.items()},
        class_names=examples.class_names,
        files=digests,
        derived_from=note.corpus,
        units=sentences.units,
        protocol=note.protocol,
    )


def _published(task: EvaluationTask, examples: Examples, digests: Mapping[str, str]) -> TaskData:
    """Returns the data of a task in the order in which SentEval hands them to the classifier."""
    splits, left_out = dict(examples.splits), dict(examples.left_out)
    if task.protocol == "similarity" and "test" in splits:
        # Where nothing is learnt, the other splits of a learnt task serve no purpose.
        for name in [name for name in splits if name != "test"]:
            left_out[f"pair of the {name} split"] = len(splits.pop(name))
    every = [s for split in examples.splits.values() for each in split for s in each.sentences]
    positions: dict[str, int] = {}
    for tokens in every:
        positions.setdefault(_as_text(tokens), len(positions))
    num_empty = sum(not tokens for tokens in every)
    ordered = {name: sorted(split, key=Example.sort_key) for name, split in splits.items()}
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
