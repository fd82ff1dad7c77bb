"""What is declared of SentEval's data, and what is there of it, set by set.

A declaration says what is downloaded and which files are taken from it; the folder's
``manifest.json`` says which of these are there, from where and why they are believed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from pipeline.base.atomic_files import write_json_atomically
from pipeline.base.digest import digest_of, remembered_sha256
from pipeline.base.settings import Settings

MANIFEST_NAME = "manifest.json"
MANIFEST_VERSION = 1

DATA_PARTS = ("downstream", "probing")
"""The folders within SentEval's ``data``."""


@dataclass(frozen=True, slots=True)
class Download:
    """One file that is fetched; nobody has published its sha256, the files in it are checked."""

    name: str
    """Under which it is kept, and asked for at a mirror; unique."""
    addresses: tuple[str, ...]
    """Where the same bytes are to be had; tried in order."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of SentEval's ``data`` folder."""

    path: str
    download: Download
    member: str = ""
    """The archive's member, or the end of its path; empty: the download is the file."""
    num_lines: int | None = None
    """In SentEval's file or as its authors count them; None where neither is known."""
    sha256: str | None = None
    """Of the file that SentEval's own script makes, where it is known."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """One set and its files."""

    name: str
    licence: str
    files: tuple[DataFile, ...]


def digest_of_declaration(datasets: tuple[Dataset, ...]) -> str:
    """Returns one digest over what determines these sets' files."""
    described = [
        [dataset.name, *([file.path, file.num_lines, file.sha256] for file in dataset.files)]
        for dataset in datasets
    ]
    return digest_of({"datasets": described})


Proof = Literal["declared", "finished", "first use", "none"]
"""Why a file's bytes are believed. ``finished``: the file is SentEval's own, byte for byte; ``first
use``: the download has the sha256 that it had when a user first accepted it; ``none``: a user's own
folder; ``declared``: in manifests of earlier releases, the download has a published sha256."""


class FileEntry(Settings):
    """One file that is there."""

    called: ClassVar[str] = "file entry field"

    sha256: str
    num_bytes: int
    num_lines: int
    proof: Proof
    as_senteval: bool | None
    """Whether it is SentEval's own file byte for byte; None where that file's sha256 is unknown."""
    source: str
    """The address it came from, or the user's folder."""
    remark: str = ""
    """How it departs from SentEval's file, in words; empty where it does not as far as known."""


class DatasetEntry(Settings):
    """One set: all its files, or none and the reason."""

    called: ClassVar[str] = "set entry field"

    state: Literal["present", "absent"]
    reason: str = ""
    """Why it is absent."""
    licence: str = ""
    files: Mapping[str, FileEntry] = {}
    """By the path within the folder."""
    seconds: float = 0.0
    """Of downloading, unpacking and making the files."""
    tried_at: float = 0.0
    """When it was last asked for or looked at, in seconds since 1970."""


class DataManifest(Settings):
    """All sets that were asked for so far, and the downloads taken on trust."""

    called: ClassVar[str] = "manifest field"

    datasets: Mapping[str, DatasetEntry] = {}
    trusted: Mapping[str, str] = {}
    """sha256 of each undeclared download that a user accepted, by its name; later runs ask for
    the same."""

    def lacking(self, names: Sequence[str], folder: Path) -> dict[str, str]:
        """Returns which of these sets are not there as they were brought, with the reason.

        Args:
            folder: holds the files of those that are listed as present; one of the size and time
                that it had before is taken to have the sha256 that is remembered of it.
        """
        reasons = {name: self._why_absent(name, folder) for name in names}
        return {name: reason for name, reason in reasons.items() if reason}

    def tried_in_vain(self, names: Sequence[str], since: float) -> bool:
        """Returns whether all of these sets were asked for since a moment, and were absent.

        Args:
            since: in seconds since 1970.
        """
        entries = [self.datasets[name] for name in names if name in self.datasets]
        tried = [one for one in entries if one.state == "absent" and one.tried_at >= since]
        return len(tried) == len(names)

    def _why_absent(self, name: str, folder: Path) -> str:
        entry = self.datasets.get(name)
        if entry is None:
            return "not asked for yet"
        changed = [
            path
            for path, file in entry.files.items()
            if not (folder / path).is_file() or remembered_sha256(folder / path) != file.sha256
        ]
        if changed:
            return f"{', '.join(changed)} removed or changed since"
        return entry.reason or ("" if entry.state == "present" else "absent")


def write_manifest(folder: Path, manifest: DataManifest) -> None:
    """Writes the folder's manifest, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json_atomically(
        folder / MANIFEST_NAME, {"version": MANIFEST_VERSION, **manifest.to_dict()}
    )


def read_manifest(folder: Path) -> DataManifest:
    """Returns the folder's manifest; an empty one where none has been written.

    Raises:
        ValueError: the file is damaged or of another version.
    """
    path = folder / MANIFEST_NAME
    return read_manifest_file(path) if path.exists() else DataManifest()


def read_manifest_file(path: Path) -> DataManifest:
    """Returns the manifest in a file.

    Raises:
        FileNotFoundError: no such file.
        ValueError: the file is damaged or of another version.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        if value["version"] != MANIFEST_VERSION:
            raise ValueError(f"version {value['version']}, expected {MANIFEST_VERSION}")
        return DataManifest.from_dict({key: value[key] for key in ("datasets", "trusted")})
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path}: not a manifest of evaluation data ({error}); delete {path.parent} and "
            "run the download again"
        ) from error
