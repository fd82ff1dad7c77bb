"""Takes SentEval's data from a folder of the user's own instead of downloading it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from pipeline.evaluation_data.declaration import DataFile, Dataset
from pipeline.evaluation_data.make import count_lines
from pipeline.evaluation_data.manifest import DataManifest, DatasetEntry, FileEntry, Proof

EXAMINATION_VERSION = 1
"""Raised when the same folder would be described otherwise."""


def examine_folder(datasets: Sequence[Dataset], folder: Path) -> DataManifest:
    """Returns what is there of these sets in a folder laid out as SentEval's ``data`` folder.

    Nothing is changed or copied. A set whose files are all there is present, whatever they hold:
    it is the user's. How a file departs from SentEval's is remarked. A set that lacks files is
    absent, and its reason names them.

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
    files = {file.path: _examine_file(file, folder) for file in dataset.files}
    return DatasetEntry("present", "", dataset.licence, files)


def _examine_file(file: DataFile, folder: Path) -> FileEntry:
    content = (folder / file.path).read_bytes()
    num_lines = count_lines(content)
    sha256 = hashlib.sha256(content).hexdigest()
    as_senteval = None if file.sha256 is None else sha256 == file.sha256
    proof: Proof = "finished" if as_senteval else "none"
    remark = ""
    if file.num_lines is not None and num_lines != file.num_lines:
        remark = f"{num_lines:,} lines, published {file.num_lines:,}"
    elif as_senteval is False:
        remark = "as many lines as SentEval's, other bytes"
    return FileEntry(sha256, len(content), num_lines, proof, as_senteval, str(folder), remark)
