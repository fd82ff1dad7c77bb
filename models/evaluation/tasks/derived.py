"""What stands beside tasks that were derived from a corpus: a note, and their sentences.

Derived tasks have the published ones' names, files and format, so that any encoder can be scored
on them. Without the note nothing in a result would say that these are other sentences. The table of
sentences holds each text of all tasks once, with the document it comes from, by which intervals
draw, and the parses it was labelled by, so that encoders over trees read these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.base.atomic_files import write_json_atomically
from pipeline.base.digest import sha256_of_file
from pipeline.shards.schema import schema_for

NOTE_NAME = "derived.json"
SENTENCES_NAME = "sentences.parquet"
FORMAT = "treeviews derived tasks"
FORMAT_VERSION = 2

_NAME = pa.dictionary(pa.int32(), pa.string())
SENTENCES = pa.schema(
    [
        schema_for("sentences").field("tokens"),
        # The document, or the held-out block of it, that the sentence belongs to.
        pa.field("unit", _NAME, nullable=False),
        # corpus or altered.
        pa.field("part", _NAME, nullable=False),
        # Row of that dataset, counted over its shards.
        pa.field("dataset_row", pa.int64(), nullable=False),
        schema_for("dependencies").field("heads"),
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

    def __post_init__(self) -> None:
        if not self.corpus:
            raise ValueError("a note of derived tasks must name the corpus")

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
            return f"no {path}; the tasks derived from {self.corpus} are not complete; {_REMEDY}"
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


def sentence_file(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Returns the content of the file of sentences, rows of `SENTENCES`."""
    stream = pa.BufferOutputStream()
    table = pa.Table.from_pylist(list(rows), schema=SENTENCES)
    pq.write_table(table, stream, compression="zstd")
    content: bytes = stream.getvalue().to_pybytes()
    return content


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
    table, texts, units = _table_texts_units(path, sha256)
    return DerivedSentences(texts, units, table, note.parsers, sha256)


@lru_cache(maxsize=1)  # all tasks of a folder read the same file
def _table_texts_units(
    path: Path, sha256: str
) -> tuple[pa.Table, tuple[str, ...], npt.NDArray[np.int64]]:
    del sha256  # part of the cache's key only
    table = pq.read_table(path, schema=SENTENCES)
    texts = tuple(" ".join(tokens) for tokens in table.column("tokens").to_pylist())
    names = np.array(table.column("unit").to_pylist(), dtype=object)
    return table, texts, np.unique(names, return_inverse=True)[1].astype(np.int64)


def write_note(folder: Path, note: DerivedNote) -> None:
    """Writes the note of a folder."""
    header = {"format": FORMAT, "format_version": FORMAT_VERSION}
    write_json_atomically(folder / NOTE_NAME, header | asdict(note))


def read_note(folder: Path) -> DerivedNote | None:
    """Returns the note of a folder, None where the folder holds none: its tasks are published.

    Raises:
        ValueError: a damaged note, or one of another version.
    """
    path = folder / NOTE_NAME
    if not path.exists():
        return None
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        found = (value.pop("format"), value.pop("format_version"))
        note = DerivedNote(**value)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path}: no note of derived tasks ({type(error).__name__}: {error}); {_REMEDY}"
        ) from error
    if found != (FORMAT, FORMAT_VERSION):
        raise ValueError(
            f"{path}: {found[0]!r} of version {found[1]}, this release reads {FORMAT!r} of version "
            f"{FORMAT_VERSION}; {_REMEDY}"
        )
    return note
