"""The note beside tasks that were derived from a corpus: it tells them from the published ones.

Derived tasks have the published ones' names, files and format, so that any encoder can be scored
on them. Without the note nothing in a result would say that these are other sentences.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pipeline.atomic_files import write_json_atomically

NOTE_NAME = "derived.json"
FORMAT = "treeviews derived tasks"
FORMAT_VERSION = 1

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
