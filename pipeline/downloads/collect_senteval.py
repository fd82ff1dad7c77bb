"""Brings SentEval's data together in one folder, set by set; what fails loses nothing else."""

from __future__ import annotations

import gzip
import logging
import tarfile
import time
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from treeviews.pipeline.base.atomic_files import sweep_unfinished, write_bytes_atomically
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.base.foreign_text import without_secrets
from treeviews.pipeline.base.job import Progress, in_part
from treeviews.pipeline.downloads.download import DownloadConfig, DownloadError, download
from treeviews.pipeline.downloads.senteval_data import (
    MANIFEST_NAME,
    DataFile,
    DataManifest,
    Dataset,
    DatasetEntry,
    FileEntry,
    describe_file,
    read_manifest,
    write_manifest,
)

logger = logging.getLogger(__name__)

MAX_MEMBER_BYTES = 256 << 20
"""Far above any file of SentEval's."""
PATIENCE = DownloadConfig(attempts=3, max_bytes=1 << 30)


def collect_datasets(
    datasets: Sequence[Dataset],
    folder: Path,
    downloads: Path,
    *,
    mirror: str = "",
    accept_unverified: bool = False,
    patience: DownloadConfig = PATIENCE,
    on_progress: Progress | None = None,
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
    report = on_progress or (lambda fraction, status: None)
    collection = _Collection(folder, downloads, mirror.rstrip("/"), accept_unverified, patience)
    lacking = collection.manifest.lacking([dataset.name for dataset in datasets], folder)
    missing = [dataset for dataset in datasets if dataset.name in lacking]
    groups = list(dict.fromkeys(dataset.address for dataset in missing))
    for number, address in enumerate(groups):
        group = [dataset for dataset in missing if dataset.address == address]
        collection.bring(group, in_part(report, number, len(groups)))
    return collection.manifest


@dataclass(slots=True)
class _Collection:
    """The folder that a run fills."""

    folder: Path
    downloads: Path
    mirror: str
    accept_unverified: bool
    patience: DownloadConfig
    manifest: DataManifest = field(init=False)

    def __post_init__(self) -> None:
        self.manifest = read_manifest(self.folder)

    def bring(self, group: Sequence[Dataset], report: Progress) -> None:
        """Brings the sets of one download; each that cannot be had is noted with the reason."""
        start = time.monotonic()
        path = self.downloads / group[0].download_name
        contents: dict[str, bytes] = {}
        source = sha256 = fault = ""
        try:
            source = self._fetch(group[0], path, report)
            sha256 = sha256_of_file(path)
            members = {file.member for dataset in group for file in dataset.files}
            contents = _read_download(path, members)
        except (DownloadError, ValueError) as error:
            fault = str(error)
        for dataset in group:
            files: dict[str, FileEntry] = {}
            reason = fault
            try:
                for file in () if fault else dataset.files:
                    files[file.path] = _verified(file, contents, path, source)
                if any(file.proof == "first use" for file in files.values()):
                    self._trust(path.name, sha256)
            except ValueError as error:
                files, reason = {}, str(error)
            for file in dataset.files if files else ():
                target = self.folder / file.path
                target.parent.mkdir(parents=True, exist_ok=True)
                sweep_unfinished(target.parent)
                write_bytes_atomically(target, contents[file.member])
            self._note(dataset, start, reason, files)
            start = time.monotonic()

    def _trust(self, name: str, sha256: str) -> None:
        """Notes a download that nothing can verify, for later runs to ask for the same.

        Raises:
            ValueError: nobody accepted that.
        """
        if not self.accept_unverified and name not in self.manifest.trusted:
            raise ValueError(
                f"no sha256 is known to verify {name} ({sha256}) with; pass --accept-unverified to "
                "take it as it came"
            )
        self.manifest = self.manifest.changed(trusted={**self.manifest.trusted, name: sha256})

    def _fetch(self, dataset: Dataset, path: Path, report: Progress) -> str:
        """Downloads what a set is in; returns the address that gave it.

        Raises:
            DownloadError, ValueError: it gives nothing, or not the sha256 that was accepted before.
        """
        sha256 = self.manifest.trusted.get(path.name)
        address = f"{self.mirror}/{path.name}" if self.mirror else dataset.address
        try:
            download(address, path, sha256, config=self.patience, on_progress=report)
        except ValueError as error:
            if sha256 is None:
                raise
            raise ValueError(
                f"{error}; {path.name} was accepted with this sha256 before: to accept another, "
                f"delete it from trusted in {MANIFEST_NAME}"
            ) from error
        return without_secrets(address)

    def _note(
        self, dataset: Dataset, start: float, reason: str, files: Mapping[str, FileEntry]
    ) -> None:
        """Writes down what is there of a set; renames what stands of an absent one."""
        if reason:
            logger.warning("%s is absent: %s", dataset.name, reason)
            for path in (self.folder / file.path for file in dataset.files):
                if path.is_file():
                    path.replace(path.with_name(f"{path.name}.refused"))
                    reason += f"; what stood there is kept as {path}.refused"
        seconds = round(time.monotonic() - start, 3)
        logger.info("%s: %d files, %.1f s", dataset.name, len(files), seconds)
        entry = DatasetEntry(
            state="absent" if reason else "present",
            reason=reason,
            licence=dataset.licence,
            files=files,
            seconds=seconds,
            tried_at=time.time(),
        )
        entries = {**self.manifest.datasets, dataset.name: entry}
        self.manifest = self.manifest.changed(datasets=entries)
        write_manifest(self.folder, self.manifest)


def _read_download(path: Path, members: Collection[str]) -> dict[str, bytes]:
    """Returns the wanted members of a tar archive; ``""`` is all of a download that is none.

    Args:
        members: each the end of a path, from a folder's name on: ``MR/rt-polarity.pos`` finds
            ``./data/MR/rt-polarity.pos``. One that is not there is left out.

    Raises:
        ValueError: the archive is damaged or none, or a member is too large or there twice.
    """
    if "" in members:
        return {"": path.read_bytes()}
    contents: dict[str, bytes] = {}
    try:
        with tarfile.open(path) as archive:
            for info in archive:
                wanted = next(
                    (name for name in members if f"/{info.name}".endswith(f"/{name}")), ""
                )
                stream = archive.extractfile(info) if wanted else None
                if stream is None:
                    continue
                if wanted in contents or info.size > MAX_MEMBER_BYTES:
                    wrong = "there twice" if wanted in contents else "too large"
                    raise tarfile.TarError(f"{wanted} is {wrong}")
                contents[wanted] = stream.read()
    except (tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError) as error:
        path.unlink()
        raise ValueError(f"{path.name}: not a whole archive ({error})") from error
    return contents


def _verified(
    file: DataFile, contents: Mapping[str, bytes], download_path: Path, source: str
) -> FileEntry:
    """Returns what is known of a file that came.

    Raises:
        ValueError: it is not there, has not the declared number of lines, or another sha256. Of
            the latter two the download is removed, so that a later run asks for it again.
    """
    if file.member not in contents:
        raise ValueError(
            f"{download_path.name}: no member named {file.member} (delete {download_path} to have "
            "it fetched again)"
        )
    entry = describe_file(file, contents[file.member], source, otherwise="first use")
    if entry.num_lines == 0 or entry.num_lines != (file.num_lines or entry.num_lines):
        wrong = f"{entry.num_lines:,} lines, expected {file.num_lines or 'some'}"
    elif entry.as_senteval is False:
        wrong = f"sha256 is {entry.sha256}, SentEval's file has {file.sha256}"
    else:
        return entry
    download_path.unlink(missing_ok=True)
    raise ValueError(f"{file.path} from {download_path.name}: {wrong}")
