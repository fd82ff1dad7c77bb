"""Reads the probing data that ``build`` wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from models.evaluation.probing.build import FORMAT_VERSION, ITEMS_NAME, ROWS_NAME, SUMMARY_NAME
from models.evaluation.probing.clusters import clusters_of
from models.evaluation.probing.config import SPLITS
from models.evaluation.probing.declarations import in_declared_order

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SplitItems:
    """The items of one split of one task."""

    rows: IntArray
    """[n]; indices of embeddings."""
    labels: IntArray
    """[n]; indices of classes."""


@dataclass(frozen=True, slots=True)
class ProbingData:
    """All probing tasks of one corpus."""

    summary: Mapping[str, Any]
    """What ``build_probing`` returned."""
    tasks: Mapping[str, Mapping[str, SplitItems]]
    """Items of each present task and split, in the declared order of tasks."""
    dataset_rows: Mapping[str, IntArray]
    """``corpus`` and ``altered``: dataset row of each embedding of that part, in order; the
    corpus's embeddings come first."""
    units: IntArray
    """[num_rows]; number of the document, or held-out block, of each embedding's sentence."""

    @property
    def num_rows(self) -> int:
        """Number of embeddings."""
        return sum(len(rows) for rows in self.dataset_rows.values())

    def num_classes(self, task: str) -> int:
        """Returns the number of classes of a present task."""
        return len(self.summary["tasks"][task]["classes"])

    def test_clusters(self, task: str) -> IntArray:
        """Returns what the bootstrap draws as one, [n], for each test item of a task."""
        rows = self.tasks[task]["test"].rows
        return clusters_of(rows, self.units[rows])

    def used_rows(self) -> IntArray:
        """Returns the embeddings that any task uses, in ascending order."""
        used = [split.rows for splits in self.tasks.values() for split in splits.values()]
        return np.unique(np.concatenate(used)) if used else np.zeros(0, dtype=np.int64)


def read_summary(folder: Path) -> dict[str, Any]:
    """Returns the summary of a complete probing folder.

    Raises:
        FileNotFoundError: the folder is not complete.
        ValueError: written by another version.
    """
    path = folder / SUMMARY_NAME
    if not path.exists():
        raise FileNotFoundError(
            f"{folder}: no {SUMMARY_NAME}, so the probing data are not complete; build them again"
        )
    summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if summary.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"{path}: format version {summary.get('format_version')}, this release reads "
            f"{FORMAT_VERSION}; build the probing data again"
        )
    tasks = summary["tasks"]
    summary["tasks"] = {name: tasks[name] for name in in_declared_order(tasks)}
    return summary


def read_probing(folder: Path) -> ProbingData:
    """Returns the probing data of a complete folder.

    Raises:
        FileNotFoundError: the folder is not complete.
        ValueError: written by another version.
    """
    summary = read_summary(folder)
    items = pq.read_table(folder / ITEMS_NAME)
    task_names = np.array(items["task"].to_pylist(), dtype=object)
    split_names = np.array(items["split"].to_pylist(), dtype=object)
    rows = items["row"].to_numpy().astype(np.int64)
    labels = items["label"].to_numpy().astype(np.int64)
    tasks: dict[str, dict[str, SplitItems]] = {}
    for task in dict.fromkeys(task_names):
        tasks[task] = {}
        for split in SPLITS:
            chosen = (task_names == task) & (split_names == split)
            tasks[task][split] = SplitItems(rows[chosen], labels[chosen])
    addresses = pq.read_table(folder / ROWS_NAME)
    parts = np.array(addresses["part"].to_pylist(), dtype=object)
    dataset_rows = addresses["dataset_row"].to_numpy().astype(np.int64)
    by_part = {part: dataset_rows[parts == part] for part in ("corpus", "altered")}
    units = np.unique(np.array(addresses["unit"].to_pylist(), dtype=object), return_inverse=True)[1]
    return ProbingData(summary, tasks, by_part, units.astype(np.int64))
