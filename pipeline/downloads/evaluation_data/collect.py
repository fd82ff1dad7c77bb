"""Brings SentEval's data together in one folder, set by set; what fails loses nothing else."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pipeline.base.atomic_files import sweep_unfinished, write_bytes_atomically
from pipeline.base.job import Progress
from pipeline.base.lock import locked
from pipeline.downloads.download import DownloadError
from pipeline.downloads.evaluation_data.declaration import Dataset
from pipeline.downloads.evaluation_data.fetch import FetchConfig, Fetcher
from pipeline.downloads.evaluation_data.make import make_dataset
from pipeline.downloads.evaluation_data.manifest import (
    DataManifest,
    DatasetEntry,
    read_manifest,
    write_manifest,
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
                manifest = DataManifest(entries, dict(fetcher.trusted))
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
        contents, files = make_dataset(dataset, fetcher)
    except (DownloadError, ValueError) as error:
        logger.warning("%s is absent: %s", dataset.name, error)
        reason = "; ".join([str(error), *_set_aside(dataset, folder)])
        entry = DatasetEntry("absent", reason, dataset.licence)
    else:
        for path, content in contents.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            sweep_unfinished(target.parent)
            write_bytes_atomically(target, content)
        entry = DatasetEntry("present", "", dataset.licence, files)
        logger.info("%s: %d files, %.1f s", dataset.name, len(files), time.monotonic() - start)
    return replace(entry, seconds=round(time.monotonic() - start, 3), tried_at=time.time())


def _set_aside(dataset: Dataset, folder: Path) -> list[str]:
    """Renames what stands of an absent set, so that nobody reads it; says so of each file."""
    standing = [folder / file.path for file in dataset.files if (folder / file.path).is_file()]
    for path in standing:
        path.replace(path.with_name(f"{path.name}.refused"))
    return [f"what stood there is kept as {path}.refused" for path in standing]
