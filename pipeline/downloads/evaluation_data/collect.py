"""Brings SentEval's data together in one folder, set by set; what fails loses nothing else."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Sequence
from pathlib import Path

from pipeline.base.atomic_files import locked, sweep_unfinished, write_bytes_atomically
from pipeline.base.job import Progress
from pipeline.downloads.download import DownloadError
from pipeline.downloads.evaluation_data.fetch import FetchConfig, Fetched, Fetcher
from pipeline.downloads.evaluation_data.manifest import (
    DATA_PARTS,
    DataFile,
    DataManifest,
    Dataset,
    DatasetEntry,
    FileEntry,
    Proof,
    read_manifest,
    write_manifest,
)

EXAMINATION_VERSION = 1
"""Raised when the same folder of a user's own would be described otherwise."""

Taken = tuple[dict[str, bytes], dict[str, FileEntry]]
"""All files of a set, not yet written, and what is known of them; both by path."""


def take_dataset(dataset: Dataset, fetcher: Fetcher) -> Taken:
    """Returns a set's files.

    What no known sha256 verifies may be taken on trust, which the fetcher knows and remembers.

    Raises:
        DownloadError, ValueError: a file cannot be had or is another, or nothing can verify it.
    """
    contents: dict[str, bytes] = {}
    entries: dict[str, FileEntry] = {}
    on_trust: dict[str, str] = {}
    for download in dict.fromkeys(file.download for file in dataset.files):
        files = [file for file in dataset.files if file.download == download]
        found = fetcher.read(download, [file.member for file in files])
        fetched = fetcher.fetch(download)
        for file in files:
            content = found[file.member]
            try:
                entry = _verified(content, file, fetched)
            except ValueError as error:
                fetcher.suspect(download)
                raise ValueError(f"{file.path} from {download.name}: {error}") from error
            contents[file.path], entries[file.path] = content, entry
            if entry.proof == "finished":
                fetcher.prove(download)
            elif fetcher.trusted.get(download.name) != fetched.sha256:
                on_trust[download.name] = fetched.sha256
    if on_trust and not fetcher.config.accept_unverified:
        named = ", ".join(f"{name} ({sha256})" for name, sha256 in on_trust.items())
        raise ValueError(
            f"no sha256 is known to verify {named} with; pass --accept-unverified to take it as it "
            "came"
        )
    fetcher.trusted.update(on_trust)
    return contents, entries


def _verified(content: bytes, file: DataFile, fetched: Fetched) -> FileEntry:
    """Returns what is known of a file that came.

    Raises:
        ValueError: it has not the declared number of lines, or none, or another sha256.
    """
    sha256 = hashlib.sha256(content).hexdigest()
    num_lines = _count_lines(content)
    if num_lines == 0 or num_lines != (file.num_lines or num_lines):
        expected = f"{file.num_lines:,}" if file.num_lines else "some"
        raise ValueError(f"{num_lines:,} lines, expected {expected}")
    as_senteval = _is_sentevals(sha256, file)
    if as_senteval is False:
        raise ValueError(f"sha256 is {sha256}, SentEval's file has {file.sha256}")
    proof: Proof = "finished" if as_senteval else "first use"
    return FileEntry(
        sha256=sha256,
        num_bytes=len(content),
        num_lines=num_lines,
        proof=proof,
        as_senteval=as_senteval,
        source=fetched.address,
    )


def _is_sentevals(sha256: str, file: DataFile) -> bool | None:
    """Returns whether a file is SentEval's byte for byte; None where its sha256 is unknown."""
    return None if file.sha256 is None else sha256 == file.sha256


def _count_lines(content: bytes) -> int:
    """Returns the number of lines, of which the last may lack its end."""
    return content.count(b"\n") + (not content.endswith(b"\n") and bool(content))


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
        return DatasetEntry(
            state="absent", reason=f"{folder} lacks {', '.join(missing)}", licence=dataset.licence
        )
    files = {file.path: _examine_file(file, folder) for file in dataset.files}
    return DatasetEntry(state="present", reason="", licence=dataset.licence, files=files)


def _examine_file(file: DataFile, folder: Path) -> FileEntry:
    content = (folder / file.path).read_bytes()
    num_lines = _count_lines(content)
    sha256 = hashlib.sha256(content).hexdigest()
    as_senteval = _is_sentevals(sha256, file)
    proof: Proof = "finished" if as_senteval else "none"
    remark = ""
    if file.num_lines is not None and num_lines != file.num_lines:
        remark = f"{num_lines:,} lines, published {file.num_lines:,}"
    elif as_senteval is False:
        remark = "as many lines as SentEval's, other bytes"
    return FileEntry(
        sha256=sha256,
        num_bytes=len(content),
        num_lines=num_lines,
        proof=proof,
        as_senteval=as_senteval,
        source=str(folder),
        remark=remark,
    )


logger = logging.getLogger(__name__)


def collect_datasets(
    datasets: Sequence[Dataset],
    folder: Path,
    downloads: Path,
    config: FetchConfig | None = None,
    on_progress: Progress | None = None,
) -> DataManifest:
    """Downloads what is missing of these sets, and returns what is there of all so far.

    A set whose files all stand with the sha256 of the manifest is not touched. The manifest is
    written after each set, so that a run that ends early is gone on with. A second run that fills
    the same downloads waits for the first, since both would append to the same parts.

    Args:
        folder: becomes SentEval's ``data`` folder: ``downstream/``, ``probing/`` and the manifest.
        downloads: keeps what was downloaded.

    Returns:
        The manifest. A set that could not be had is in it as absent, with the reason, and has no
        file in the folder: what stood there, damaged or of unknown origin, is set aside.

    Raises:
        OSError: the folder cannot be written.
        ValueError: the folder's manifest is damaged.
    """
    config = config or FetchConfig()
    report = on_progress or (lambda fraction, status: None)

    def say_waiting() -> None:
        logger.info("%s: another run downloads to it; waiting until it is done", downloads)
        report(0.0, "waiting for another run that downloads")

    with locked(downloads.with_name(f"{downloads.name}.lock"), say_waiting):
        manifest = read_manifest(folder)
        fetcher = Fetcher(downloads, manifest.trusted, config)
        for number, dataset in enumerate(datasets):
            fetcher.on_progress = _scaled(report, dataset.name, number, len(datasets))
            if manifest.lacking([dataset.name], folder):
                entry = _collect(dataset, folder, fetcher)
                entries = {**manifest.datasets, dataset.name: entry}
                manifest = DataManifest(datasets=entries, trusted=dict(fetcher.trusted))
                write_manifest(folder, manifest)
        fetcher.remove_suspects()
    return manifest


def _scaled(report: Progress, name: str, number: int, num_datasets: int) -> Progress:
    """Returns what reports a set's progress as its share of all sets'."""
    report(number / num_datasets, name)
    return lambda fraction, status: report((number + fraction) / num_datasets, f"{name}: {status}")


def _collect(dataset: Dataset, folder: Path, fetcher: Fetcher) -> DatasetEntry:
    """Writes a set's files; returns what is there of it."""
    start = time.monotonic()
    try:
        contents, files = take_dataset(dataset, fetcher)
    except (DownloadError, ValueError) as error:
        first, *others = str(error).split("; ")
        more = f" (and {len(others)} more, in the data's manifest)" if others else ""
        logger.warning("%s is absent: %s%s", dataset.name, first, more)
        reason = "; ".join([str(error), *_set_aside(dataset, folder)])
        entry = DatasetEntry(state="absent", reason=reason, licence=dataset.licence)
    else:
        for path, content in contents.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            sweep_unfinished(target.parent)
            write_bytes_atomically(target, content)
        entry = DatasetEntry(state="present", reason="", licence=dataset.licence, files=files)
        logger.info("%s: %d files, %.1f s", dataset.name, len(files), time.monotonic() - start)
    return entry.changed(seconds=round(time.monotonic() - start, 3), tried_at=time.time())


def _set_aside(dataset: Dataset, folder: Path) -> list[str]:
    """Renames what stands of an absent set, so that nobody reads it; says so of each file."""
    standing = [folder / file.path for file in dataset.files if (folder / file.path).is_file()]
    for path in standing:
        path.replace(path.with_name(f"{path.name}.refused"))
    return [f"what stood there is kept as {path}.refused" for path in standing]
