"""SentEval's data: where each file comes from, and what is there of it.

``senteval_files.tsv``, a line a file, is the one declaration. Nothing in it is guessed: the sha256
of a file is that in a copy of SentEval's folder (MRPC's two are confirmed by a public catalogue of
data sets). Where none is known, the set is taken only for a user who accepts it unverified
(``--accept-unverified``): CR, SST5, STS15, STS-B and the ten probing files. All but the probing
files come from one archive, SentEval's ``downstream`` folder as its script left it and SimCSE (Gao
et al. 2021) publishes it. Files have the names that are declared, whatever an archive calls its
members.

A folder of the data is laid out as SentEval's ``data``, and ``manifest.json`` says of each set what
is there of it, from where and why it is believed.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

from treeviews.pipeline.base.atomic_files import (
    write_json_atomically,
)
from treeviews.pipeline.base.digest import digest_of, remembered_sha256
from treeviews.pipeline.base.json_files import read_object
from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.base.settings import Settings

DATA_PARTS = ("downstream", "probing")
"""The folders within SentEval's ``data``."""
MANIFEST_NAME = "manifest.json"
MANIFEST_VERSION = 1
EXAMINATION_VERSION = 1
"""Raised when the same folder of a user's own would be described otherwise."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of SentEval's ``data`` folder."""

    path: str
    num_lines: int | None = None
    """In SentEval's file or as its authors count them; None where neither is known."""
    sha256: str | None = None
    """Of the file that SentEval's own script makes, where it is known."""
    member: str = ""
    """The archive's member, or the end of its path; empty: the download is the file."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """One set, all files of which are in one download."""

    name: str
    licence: str
    address: str
    files: tuple[DataFile, ...]

    @property
    def download_name(self) -> str:
        """The name of the download, under which it is kept and asked for at a mirror."""
        return self.address.rpartition("/")[2]


def _read_declaration(path: Path) -> tuple[Dataset, ...]:
    datasets: dict[str, Dataset] = {}
    for row in csv.DictReader(path.read_text("utf-8").splitlines(), delimiter="\t"):
        lines = int(row["lines"]) if row["lines"] else None
        file = DataFile(row["path"], lines, row["sha256"] or None, row["member"])
        empty = Dataset(row["set"], row["licence"], row["address"], ())
        dataset = datasets.get(row["set"], empty)
        datasets[row["set"]] = replace(dataset, files=(*dataset.files, file))
    return tuple(datasets.values())


SENTEVAL_SETS = _read_declaration(Path(__file__).with_name("senteval_files.tsv"))


def datasets_named(names: str) -> tuple[Dataset, ...]:
    """Returns the sets of a comma-separated list, or those of ``all``, in the declaration's order.

    Raises:
        ValueError: a name is unknown; the message lists the known ones.
    """
    wanted = {name.strip().lower() for name in names.split(",") if name.strip()}
    known = [dataset.name for dataset in SENTEVAL_SETS]
    unknown = sorted(wanted - {name.lower() for name in known} - {"all"})
    if unknown or not wanted:
        meant = did_you_mean(*unknown, known=known)
        raise ValueError(f"datasets is {names!r}{meant}; give 'all' or some of {', '.join(known)}")
    return tuple(item for item in SENTEVAL_SETS if wanted & {"all", item.name.lower()})


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
    """Of making the files and, of the first set of a download, of downloading it."""
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
        entries = [self.datasets.get(name) for name in names]
        return all(e and e.state == "absent" and e.tried_at >= since for e in entries)

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
    if not path.exists():
        return DataManifest()
    remedy = f"delete {folder} and run the download again"
    value = read_object(path, ("version", "datasets", "trusted"), remedy=remedy)
    if value["version"] != MANIFEST_VERSION:
        raise ValueError(f"{path}: not a manifest of version {MANIFEST_VERSION}; {remedy}")
    return DataManifest.from_json(value, path, remedy=remedy)


def check_data_folder(folder: Path) -> None:
    """Refuses a folder that is not laid out as SentEval's.

    Raises:
        FileNotFoundError: there is no such folder.
        ValueError: it holds none of `DATA_PARTS`; names the folder that is wanted.
    """
    if not folder.exists():
        raise FileNotFoundError(f"{folder}: no such folder; check the path")
    if not any((folder / part).is_dir() for part in DATA_PARTS):
        raise ValueError(
            f"{folder}: holds none of {', '.join(DATA_PARTS)}; give the folder that SentEval calls "
            "data (`treeviews data download senteval` brings one)"
        )


def examine_folder(datasets: Sequence[Dataset], folder: Path) -> DataManifest:
    """Returns what is there of these sets in a folder of the user's own, laid out as SentEval's.

    Nothing is changed or copied. A set whose files are all there is present, whatever they hold:
    it is the user's. How a file departs from SentEval's is remarked. A set that lacks files is
    absent, and its reason names them.

    Raises:
        ValueError: the folder holds none of `DATA_PARTS`.
    """
    check_data_folder(folder)
    return DataManifest(datasets={dataset.name: _examine(dataset, folder) for dataset in datasets})


def _examine(dataset: Dataset, folder: Path) -> DatasetEntry:
    missing = [file.path for file in dataset.files if not (folder / file.path).is_file()]
    if missing:
        reason = f"{folder} lacks {', '.join(missing)}"
        return DatasetEntry(state="absent", reason=reason, licence=dataset.licence)
    files = {}
    for file in dataset.files:
        content = (folder / file.path).read_bytes()
        entry = describe_file(file, content, str(folder), otherwise="none")
        remark = "as many lines as SentEval's, other bytes" if entry.as_senteval is False else ""
        if file.num_lines not in (None, entry.num_lines):
            remark = f"{entry.num_lines:,} lines, published {file.num_lines:,}"
        files[file.path] = entry.changed(remark=remark)
    return DatasetEntry(state="present", licence=dataset.licence, files=files)


def describe_file(file: DataFile, content: bytes, source: str, *, otherwise: Proof) -> FileEntry:
    """Returns what is known of a file that is here; ``otherwise`` it has this proof."""
    sha256 = hashlib.sha256(content).hexdigest()
    num_lines = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    as_senteval = None if file.sha256 is None else sha256 == file.sha256
    proof: Proof = "finished" if as_senteval else otherwise
    return FileEntry(
        sha256=sha256,
        num_bytes=len(content),
        num_lines=num_lines,
        proof=proof,
        as_senteval=as_senteval,
        source=source,
    )
