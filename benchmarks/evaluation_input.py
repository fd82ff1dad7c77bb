"""What the evaluation benchmark runs on: SentEval's tasks with their features, or the default run's
own sentences as a task where there are no others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.corpus import corpus_folders
from treeviews.models.encoding.encoder import Encoder
from treeviews.models.evaluation.evaluate_task import (
    Kept,
    embeddings_of,
    features_by_split,
    vectors_of,
)
from treeviews.models.evaluation.evaluation_settings import ProtocolConfig
from treeviews.models.evaluation.representation import Representation
from treeviews.models.evaluation.task_data import load_task, missing_files
from treeviews.models.evaluation.task_registry import EvaluationTask, Items, TaskData, tasks_named
from treeviews.pipeline.shards.manifests import read_dataset_manifest
from treeviews.pipeline.shards.shards import read_shard

MR_SIZE = 10_662
"""Sentences of MR (Pang & Lee 2005), which the task made of the default run is cut to."""


@dataclass(frozen=True, slots=True, eq=False)
class Input:
    """One task that learns classes, and its features."""

    task: EvaluationTask
    data: TaskData
    features: Mapping[str, torch.Tensor]
    """float32 [n, D] a split, on the CPU."""

    @property
    def labels(self) -> dict[str, npt.NDArray[np.int64]]:
        """The class of each item, [n] a split."""
        return {name: items.labels.astype(np.int64) for name, items in self.data.splits.items()}


def inputs(
    encoder: Encoder,
    representation: Representation,
    cache: Kept,
    *,
    data_folder: Path | None,
    tasks: str,
    corpus: Path | None,
    sentences: int = MR_SIZE,
) -> list[Input]:
    """Returns the classification tasks whose data are there.

    Args:
        cache: keeps the embeddings of the last sentences.
        data_folder: SentEval's; None takes the default run's sentences as one task like MR.
        tasks: names, or ``all``.
        corpus: of the default run, see `corpus_folders`.
        sentences: of it that the made task has at most.

    Raises:
        FileNotFoundError: no data of any of the tasks, or no default run.
        ValueError: none of them learns classes.
    """
    if data_folder is None:
        pairs = [made_task(corpus, sentences)]
    else:
        chosen = [
            task
            for task in tasks_named(tasks)
            if task.protocol in {"nested_folds", "folds", "split"}
        ]
        present = [task for task in chosen if not missing_files(task, data_folder)]
        if not present:
            raise FileNotFoundError(
                f"{data_folder}: no data of {', '.join(task.name for task in chosen) or tasks}; "
                "give SentEval's data folder and tasks that learn classes"
            )
        pairs = [(task, load_task(task, data_folder)) for task in present]
    return [_featurised(task, data, encoder, representation, cache) for task, data in pairs]


def _featurised(
    task: EvaluationTask,
    data: TaskData,
    encoder: Encoder,
    representation: Representation,
    cache: Kept,
) -> Input:
    views = embeddings_of(cache, encoder, data.sentences, representation.poolings(task.protocol))
    vectors = vectors_of(views.views, task, data, representation, ProtocolConfig().batch_items)
    return Input(task, data, features_by_split(task, data, vectors))


def made_task(corpus: Path | None, most: int = MR_SIZE) -> tuple[EvaluationTask, TaskData]:
    """Returns a task like MR, of two classes, from the sentences of the default run.

    It has the first ``most`` of them, and asks whether a sentence holds the word that comes nearest
    to being in half of them.
    """
    folders = corpus_folders(corpus)
    distinct: dict[str, list[str]] = {}
    for shard in read_dataset_manifest(folders.sentences, "sentences").shards:
        table = read_shard(folders.sentences, "sentences", shard.number, ["tokens"])
        for tokens in table["tokens"].to_pylist():
            distinct.setdefault(" ".join(tokens), tokens)
    sentences = dict(list(distinct.items())[:most])
    counts = Counter(word for tokens in sentences.values() for word in set(tokens))
    word = min(counts, key=lambda one: (abs(counts[one] - len(sentences) / 2), one))
    labels = np.array([int(word in tokens) for tokens in sentences.values()])
    lengths = np.array([len(tokens) for tokens in sentences.values()])
    order = np.lexsort((labels, lengths))
    task = EvaluationTask(
        name=f"contains {word!r}",
        dataset="default run",
        protocol="nested_folds",
        description="Whether a sentence of the default run's text holds a word",
        citation="",
        classes=("no", "yes"),
    )
    items = Items((order,), labels[order])
    return task, TaskData(tuple(sentences), {"all": items}, class_names=task.classes)
