"""Writes small files of SentEval's layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from treeviews.models.evaluation.senteval_format import DATASETS
from treeviews.models.evaluation.task_data import load_task
from treeviews.models.evaluation.task_registry import Items, TaskData, task_named


def write_files(folder: Path, dataset: str, files: dict[str, str | bytes]) -> None:
    """Writes files of a dataset, by what they are to its loader; bytes as they are."""
    declared = DATASETS[dataset]
    for role, text in files.items():
        path = folder / declared.files[role]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode(declared.encoding))


def load(name: str, folder: Path) -> TaskData:
    return load_task(task_named(name), folder)


def rows(data: TaskData, split: str) -> list[tuple[str | float, ...]]:
    """Returns the sentences and the label of each item, in order."""
    items: Items = data.splits[split]
    columns: list[list[str | float]] = [
        [data.sentences[i] for i in sentences] for sentences in items.sentences
    ]
    columns.append([value.item() for value in np.asarray(items.labels)])
    return list(zip(*columns, strict=True))
