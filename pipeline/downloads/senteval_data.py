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
import gzip
import hashlib
import logging
import tarfile
import time
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

from treeviews.pipeline.base.atomic_files import (
    sweep_unfinished,
    write_bytes_atomically,
    write_json_atomically,
)
from treeviews.pipeline.base.digest import digest_of, remembered_sha256, sha256_of_file
from treeviews.pipeline.base.foreign_text import without_secrets
from treeviews.pipeline.base.job import Progress, in_part
from treeviews.pipeline.base.json_files import read_object
from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.base.settings import Settings
from treeviews.pipeline.downloads.download import DownloadConfig, DownloadError, download

logger = logging.getLogger(__name__)

DATA_PARTS = ("downstream", "probing")
"""The folders within SentEval's ``data``."""
MANIFEST_NAME = "manifest.json"
MANIFEST_VERSION = 1
_TRUST_REMEDY = (
    "; a file of this name was accepted with this sha256 before: to accept another, delete it from "
    f"trusted in {MANIFEST_NAME}"
)
PATIENCE = DownloadConfig(attempts=3, max_bytes=1 << 30)


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
    unknown = sorted(wanted - {"all", *map(str.lower, known)})
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
        reasons: dict[str, str] = {}
        for name in names:
            entry = self.datasets.get(
                name, DatasetEntry(state="absent", reason="not asked for yet")
            )
            changed = [
                path
                for path, file in entry.files.items()
                if not (folder / path).is_file() or remembered_sha256(folder / path) != file.sha256
            ]
            if changed:
                reasons[name] = f"{', '.join(changed)} removed or changed since"
            elif entry.state == "absent":
                reasons[name] = entry.reason
        return reasons

    def tried_in_vain(self, names: Sequence[str], since: float) -> bool:
        """Returns whether all of these sets were asked for since a moment, and were absent.

        Args:
            since: in seconds since 1970.
        """
        entries = [self.datasets.get(name) for name in names]
        return all(e and e.state == "absent" and e.tried_at >= since for e in entries)


def write_manifest(folder: Path, manifest: DataManifest) -> None:
    """Writes the folder's manifest, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {"version": MANIFEST_VERSION, **manifest.to_dict()}
    write_json_atomically(folder / MANIFEST_NAME, values)


def read_manifest(folder: Path) -> DataManifest:
    """Returns the folder's manifest; an empty one where none has been written.

    Raises:
        ValueError: the file is damaged.
    """
    path = folder / MANIFEST_NAME
    if not path.exists():
        return DataManifest()
    remedy = f"delete {folder} and run the download again"
    value = read_object(path, ("version", "datasets", "trusted"), remedy=remedy)
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


def collect_datasets(
    datasets: Sequence[Dataset],
    folder: Path,
    downloads: Path,
    *,
    mirror: str = "",
    accept_unverified: bool = False,
    patience: DownloadConfig = PATIENCE,
    on_progress: Progress = lambda fraction, status: None,
) -> DataManifest:
    """Downloads what is missing of these sets, and returns what is there of all so far.

    A set whose files all stand with the sha256 of the manifest is not touched. The manifest is
    written after each set, so that a run that ends early is gone on with. The caller sees to it
    that no second run fills the same folders.

    Args:
        folder: becomes SentEval's ``data`` folder: ``downstream/``, ``probing/`` and the manifest.
        downloads: keeps what was downloaded.
        mirror: address under which every download stands by its name; empty: the declared ones.
        accept_unverified: takes sets that nothing declared can verify, and notes their downloads'
            sha256: later runs ask for the same bytes.

    Returns:
        The manifest. A set that could not be had is in it as absent, with the reason, and has no
        file in the folder: what stood there, damaged or of unknown origin, is set aside.

    Raises:
        OSError: the folder cannot be written.
        ValueError: the folder's manifest is damaged.
    """
    manifest = read_manifest(folder)
    lacking = manifest.lacking([dataset.name for dataset in datasets], folder)
    groups: dict[str, list[Dataset]] = {}
    for dataset in datasets:
        if dataset.name in lacking:
            groups.setdefault(dataset.address, []).append(dataset)
    for number, (declared, group) in enumerate(groups.items()):
        started, path = time.monotonic(), downloads / declared.rpartition("/")[2]
        address = f"{mirror.rstrip('/')}/{path.name}" if mirror else declared
        trusted = manifest.trusted.get(path.name)
        report = in_part(on_progress, number, len(groups))
        contents, fault = dict[str, bytes](), ""
        try:
            download(address, path, trusted, config=patience, on_progress=report)
            contents = _read_download(path, {file.member for d in group for file in d.files})
        except (DownloadError, ValueError) as error:
            fault = str(error)
            if trusted and isinstance(error, ValueError):
                fault += _TRUST_REMEDY
        for dataset in group:
            files, reason = dict[str, FileEntry](), fault
            if not fault:
                is_trusted = accept_unverified or trusted is not None
                files, reason = _verified(dataset, contents, path, address, is_trusted=is_trusted)
            _place_files(dataset, folder, contents, reason)
            entry = DatasetEntry(
                state="absent" if reason else "present",
                reason=reason,
                licence=dataset.licence,
                files=files,
                seconds=round(time.monotonic() - started, 3),
                tried_at=time.time(),
            )
            manifest = manifest.changed(datasets={**manifest.datasets, dataset.name: entry})
            if any(file.proof == "first use" for file in files.values()):
                noted = {**manifest.trusted, path.name: sha256_of_file(path)}
                manifest = manifest.changed(trusted=noted)
            write_manifest(folder, manifest)
            started = time.monotonic()
    return manifest


def _read_download(path: Path, members: Collection[str]) -> dict[str, bytes]:
    """Returns the wanted members of a tar archive; ``""`` is all of a download that is none.

    Args:
        members: each the end of a path, from a folder's name on: ``MR/rt-polarity.pos`` finds
            ``./data/MR/rt-polarity.pos``. One that is not there is left out.

    Raises:
        ValueError: the archive is damaged or none.
    """
    if "" in members:
        return {"": path.read_bytes()}
    contents: dict[str, bytes] = {}
    try:
        with tarfile.open(path) as archive:
            for info in archive:
                wanted = (name for name in members if f"/{info.name}".endswith(f"/{name}"))
                name = next(wanted, "")
                if name and (stream := archive.extractfile(info)):
                    contents[name] = stream.read()
    except (tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError) as error:
        path.unlink()
        raise ValueError(f"{path.name}: not a whole archive ({error})") from error
    return contents


def _verified(
    dataset: Dataset, contents: Mapping[str, bytes], path: Path, address: str, *, is_trusted: bool
) -> tuple[dict[str, FileEntry], str]:
    """Returns what is known of the files of a set that came, or why they are not taken.

    Of a file that has not the declared number of lines, or another sha256, the download is removed,
    so that a later run asks for it again.
    """
    files: dict[str, FileEntry] = {}
    for file in dataset.files:
        content = contents.get(file.member)
        if content is None:
            missing = f"no member named {file.member} (delete {path} to fetch it anew)"
            return {}, f"{path.name}: {missing}"
        sha256 = hashlib.sha256(content).hexdigest()
        num_lines = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
        wrong = ""
        if num_lines == 0 or num_lines != (file.num_lines or num_lines):
            wrong = f"{num_lines:,} lines, expected {file.num_lines or 'some'}"
        elif file.sha256 not in (None, sha256):
            wrong = f"sha256 is {sha256}, SentEval's file has {file.sha256}"
        if wrong:
            path.unlink(missing_ok=True)
            return {}, f"{file.path} from {path.name}: {wrong}"
        files[file.path] = FileEntry(
            sha256=sha256,
            num_bytes=len(content),
            num_lines=num_lines,
            proof="finished" if file.sha256 else "first use",
            as_senteval=True if file.sha256 else None,
            source=without_secrets(address),
        )
    if not is_trusted and any(entry.proof == "first use" for entry in files.values()):
        return {}, (
            f"no sha256 is known to verify {path.name} ({sha256_of_file(path)}) with; pass "
            "--accept-unverified to take it as it came"
        )
    return files, ""


def _place_files(
    dataset: Dataset, folder: Path, contents: Mapping[str, bytes], reason: str
) -> None:
    """Writes the files of a set; of an absent one, sets aside what stands there."""
    if reason:
        logger.warning("%s is absent: %s", dataset.name, reason)
    for file in dataset.files:
        target = folder / file.path
        if not reason:
            target.parent.mkdir(parents=True, exist_ok=True)
            sweep_unfinished(target.parent)
            write_bytes_atomically(target, contents[file.member])
        elif target.is_file():
            logger.warning("%s: what stood there is kept as %s.refused", target, target.name)
            target.replace(target.with_name(f"{target.name}.refused"))
