"""What is known of evaluation data's origin that a score should carry beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from models.evaluation.tasks.layout import DATASETS
from pipeline.downloads.evaluation_data import FileEntry, read_manifest_file

FIRST_USE = "taken on first use, no published sha256"
OTHER_BYTES = "not SentEval's file byte for byte"


def remarks_of(manifest_path: Path | None, dataset: str) -> tuple[str, ...]:
    """Returns how a dataset departs from the published one, or why its bytes are but trusted.

    A remark that does not hold for all its files begins with the names of those it holds for.

    Args:
        manifest_path: of the data, as ``DownloadSentEval`` writes it; None where there is none.
        dataset: as ``EvaluationTask.dataset`` names it.

    Returns:
        Nothing where all is as published, or nothing is known.

    Raises:
        FileNotFoundError: no such file.
        ValueError: an unknown dataset, or a damaged manifest.
    """
    if dataset not in DATASETS:
        raise ValueError(f"no dataset {dataset!r}; known are {', '.join(DATASETS)}")
    if manifest_path is None:
        return ()
    sets = read_manifest_file(manifest_path).datasets.values()
    entries = {path: entry for one in sets for path, entry in one.files.items()}
    paths = DATASETS[dataset].files.values()
    holders: dict[str, list[str]] = {}
    for path in paths:
        for remark in _remarks(entries[path]) if path in entries else ():
            holders.setdefault(remark, []).append(Path(path).name)
    return tuple(
        remark if len(names) == len(paths) else f"{', '.join(names)}: {remark}"
        for remark, names in holders.items()
    )


def _remarks(entry: FileEntry) -> Iterator[str]:
    if entry.remark:
        yield entry.remark
    elif entry.as_senteval is False:
        yield OTHER_BYTES
    if entry.proof == "first use":
        yield FIRST_USE
