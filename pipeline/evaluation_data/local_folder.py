"""Takes SentEval's data from a folder of the user's own instead of downloading it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from pipeline.evaluation_data.declaration import DataFile, Dataset
from pipeline.evaluation_data.make import check_lines, count_lines
from pipeline.evaluation_data.manifest import DataManifest, DatasetEntry, FileEntry, Proof


def examine_folder(datasets: Sequence[Dataset], folder: Path) -> DataManifest:
    """Returns what is there of these sets in a folder laid out as SentEval's ``data`` folder.

    Nothing is changed or copied. A set whose files are not all there, or have another number of
    lines than SentEval's, is absent, and its reason names them.

    Raises:
        ValueError: the folder holds neither ``downstream/`` nor ``probing/``.
    """
    if not any((folder / part).is_dir() for part in ("downstream", "probing")):
        raise ValueError(
            f"{folder}: holds neither downstream/ nor probing/; senteval_data is the folder that "
            "SentEval calls data"
        )
    return DataManifest({dataset.name: _examine(dataset, folder) for dataset in datasets})


def _examine(dataset: Dataset, folder: Path) -> DatasetEntry:
    missing = [file.path for file in dataset.files if not (folder / file.path).is_file()]
    if missing:
        return DatasetEntry("absent", f"{folder} lacks {', '.join(missing)}", dataset.licence)
    try:
        files = {file.path: _examine_file(file, folder) for file in dataset.files}
    except ValueError as error:
        return DatasetEntry("absent", str(error), dataset.licence)
    return DatasetEntry("present", "", dataset.licence, files)


def _examine_file(file: DataFile, folder: Path) -> FileEntry:
    path = folder / file.path
    content = path.read_bytes()
    num_lines = count_lines(content)
    try:
        check_lines(num_lines, file)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    sha256 = hashlib.sha256(content).hexdigest()
    as_senteval = None if file.sha256 is None else sha256 == file.sha256
    proof: Proof = "finished" if as_senteval else "none"
    return FileEntry(sha256, len(content), num_lines, proof, as_senteval, str(folder))
