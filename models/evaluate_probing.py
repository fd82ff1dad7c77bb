"""Probes rows of the table from embedding files: ``python -m models.evaluate_probing JOB.json``.

The job names the probing folder and the rows::

    {"probing": "...", "threads": 1, "config": {...},
     "rows": [{"name": "pair", "description": "...", "embeddings": ["0-DEP.npy", "1-CONST.npy"],
               "out": "pair.json"}]}

``project_to_width`` of a row is a width that its joined embeddings are projected to at random. A
row without embeddings is the majority class. ``models.evaluation.rows.row_job`` makes a row.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from models.evaluation.probe import probe, probe_majority
from models.evaluation.probe_config import PROBE_VERSION, ProbeConfig
from models.evaluation.probing.data import ProbingData, read_probing
from models.evaluation.representations.projection import random_projection
from models.evaluation.result_files import RowResult, write_row
from pipeline.job import Progress, run_from_command_line

_JOB_KEYS = ("probing", "rows")
_ROW_KEYS = ("name", "embeddings", "out")


def load_joined(paths: Sequence[str]) -> npt.NDArray[np.float32]:
    """Returns the embeddings [n, sum of d] of several files, joined side by side.

    Raises:
        ValueError: a file is no matrix, or the files have different numbers of rows.
    """
    matrices = [np.load(path, allow_pickle=False) for path in paths]
    for path, matrix in zip(paths, matrices, strict=True):
        if matrix.ndim != 2 or len(matrix) != len(matrices[0]):
            raise ValueError(
                f"{path}: embeddings of shape {list(matrix.shape)} cannot be joined with "
                f"{list(matrices[0].shape)}; embed the same probing data for both"
            )
    return np.concatenate(matrices, axis=1).astype(np.float32)


def evaluate_row(
    row: Mapping[str, Any], data: ProbingData, config: ProbeConfig, progress: Progress
) -> RowResult:
    """Returns the probing result of one row of the job."""
    if not row["embeddings"]:
        result = probe_majority(data, config)
    else:
        embeddings = load_joined(row["embeddings"])
        if (width := _projected_width(row)) is not None:
            embeddings = random_projection(embeddings, width, seed=config.projection_seed)
        result = probe(embeddings, data, config, on_progress=progress)
    made_of = {
        "embeddings": [Path(path).name for path in row["embeddings"]],
        "project_to_width": row.get("project_to_width"),
    }
    return RowResult(
        row["name"],
        row.get("description", row["name"]),
        result,
        {**config.to_dict(), **made_of, "probe_version": PROBE_VERSION},
    )


def _projected_width(row: Mapping[str, Any]) -> int | None:
    width = row.get("project_to_width")
    if width is not None and (not isinstance(width, int) or isinstance(width, bool) or width < 1):
        raise ValueError(f"row {row['name']!r}: project_to_width must be 1 or more, got {width!r}")
    return width


def execute(job: Mapping[str, Any], progress: Progress) -> None:
    """Runs a job.

    Raises:
        FileNotFoundError: the probing data or an embedding file is missing.
        ValueError: a setting is unknown or embeddings do not fit the probing data.
    """
    _require(job, _JOB_KEYS, "the job")
    for row in job["rows"]:
        _require(row, _ROW_KEYS, f"row {row.get('name', '?')!r} of the job")
    torch.set_num_threads(int(job.get("threads", 1)))
    data = read_probing(Path(job["probing"]))
    config = ProbeConfig.from_dict(job.get("config", {}))
    rows = job["rows"]
    for done, row in enumerate(rows):

        def within(fraction: float, status: str, done: int = done, row: Any = row) -> None:
            progress((done + fraction) / len(rows), f"{row['name']}: {status}")

        result = evaluate_row(row, data, config, within)
        write_row(Path(row["out"]), result)
        average = result.result.average
        progress((done + 1) / len(rows), f"{row['name']}: average {average.value:.1f}")


def _require(value: Mapping[str, Any], keys: Sequence[str], what: str) -> None:
    if missing := [key for key in keys if key not in value]:
        raise ValueError(f"{what} lacks {missing}")


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute))
