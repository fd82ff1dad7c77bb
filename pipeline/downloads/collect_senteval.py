"""Brings SentEval's data together in one folder, set by set; what fails loses nothing else.

Files have the names that are declared, whatever an archive calls its members.
"""

from __future__ import annotations

import gzip
import logging
import tarfile
import time
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from treeviews.pipeline.base.atomic_files import sweep_unfinished, write_bytes_atomically
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.base.foreign_text import without_secrets
from treeviews.pipeline.base.job import Progress
from treeviews.pipeline.downloads.download import (
    DownloadConfig,
    DownloadError,
    UnreachableError,
    download,
)
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
PATIENCE = DownloadConfig(attempts=4, max_bytes=1 << 30)


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
    groups = list(dict.fromkeys(dataset.addresses for dataset in missing))
    for number, addresses in enumerate(groups):
        group = [dataset for dataset in missing if dataset.addresses == addresses]
        collection.bring(group, _scaled(report, group[0].download_name, number, len(groups)))
    return collection.manifest


def _scaled(report: Progress, name: str, number: int, num_downloads: int) -> Progress:
    """Returns what reports a download's progress as its share of all."""
    report(number / num_downloads, name)
    return lambda share, status: report((number + share) / num_downloads, f"{name}: {status}")


@dataclass(slots=True)
class _Collection:
    """The folder that a run fills, and how patient the run still is."""

    folder: Path
    downloads: Path
    mirror: str
    accept_unverified: bool
    patience: DownloadConfig
    """Once a server never answered, every download is asked for once, so that a run without a
    network ends soon."""
    manifest: DataManifest = field(init=False)

    def __post_init__(self) -> None:
        self.manifest = read_manifest(self.folder)

    def bring(self, group: Sequence[Dataset], report: Progress) -> None:
        """Brings the sets of one download; each that cannot be had is noted with the reason."""
        start = time.monotonic()
        path = self.downloads / group[0].download_name
        try:
            source = self._fetch(group[0], path, report)
            sha256 = sha256_of_file(path)
            members = {file.member for dataset in group for file in dataset.files}
            contents = _read_download(path, members)
        except (DownloadError, ValueError) as error:
            for dataset in group:
                self._note(dataset, start, reason=str(error))
            return
        for dataset in group:
            try:
                files = {
                    file.path: _verified(file, contents, path, source) for file in dataset.files
                }
                if any(file.proof == "first use" for file in files.values()):
                    self._trust(path.name, sha256)
            except ValueError as error:
                self._note(dataset, start, reason=str(error))
                continue
            for file in dataset.files:
                target = self.folder / file.path
                target.parent.mkdir(parents=True, exist_ok=True)
                sweep_unfinished(target.parent)
                write_bytes_atomically(target, contents[file.member])
            self._note(dataset, start, files=files)
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
        """Downloads what a set is in, from the first address that gives it, which is returned.

        Raises:
            DownloadError: none gives it, with the sha256 that was accepted before if any.
        """
        sha256, faults = self.manifest.trusted.get(path.name), []
        for address in (f"{self.mirror}/{path.name}",) if self.mirror else dataset.addresses:
            try:
                download(address, path, sha256, config=self.patience, on_progress=report)
                return without_secrets(address)
            except (DownloadError, ValueError) as error:
                faults.append(str(error))
                if isinstance(error, UnreachableError):
                    self.patience = replace(self.patience, attempts=1)
        if sha256 is not None:
            faults.append(
                f"{path.name} was accepted with this sha256 before: to accept another, delete it "
                f"from trusted in {MANIFEST_NAME}"
            )
        raise DownloadError("; ".join(faults))

    def _note(
        self,
        dataset: Dataset,
        start: float,
        *,
        reason: str = "",
        files: Mapping[str, FileEntry] | None = None,
    ) -> None:
        """Writes down what is there of a set; renames what stands of an absent one."""
        if reason:
            first, *others = reason.split("; ")
            more = f" (and {len(others)} more, in the data's manifest)" if others else ""
            logger.warning("%s is absent: %s%s", dataset.name, first, more)
            for path in (self.folder / file.path for file in dataset.files):
                if path.is_file():
                    path.replace(path.with_name(f"{path.name}.refused"))
                    reason += f"; what stood there is kept as {path}.refused"
        seconds = round(time.monotonic() - start, 3)
        logger.info("%s: %d files, %.1f s", dataset.name, len(files or {}), seconds)
        entry = DatasetEntry(
            state="absent" if reason else "present",
            reason=reason,
            licence=dataset.licence,
            files=files or {},
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
