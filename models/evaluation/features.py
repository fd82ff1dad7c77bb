"""From the views of all sentences to the features of a task's items.

Sentences are represented in batches in the order of the items, as SentEval's batcher meets them,
because some representations remove what a batch has in common.

Legend: n items of a split, D width of a representation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.encoding.encoder_interface import FloatArray
from models.evaluation.representations.representation import Components, Representation
from models.evaluation.tasks.task import EvaluationTask, Items, TaskData

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Featuriser:
    """A task's views and how they become vectors."""

    views: Mapping[str, FloatArray]
    """[sentences, d_v] by view and pooling."""
    task: EvaluationTask
    representation: Representation
    batch_items: int
    components: Components | None = None
    """What is removed, where it is fitted on the training split."""

    @classmethod
    def of(
        cls,
        views: Mapping[str, FloatArray],
        task: EvaluationTask,
        data: TaskData,
        representation: Representation,
        batch_items: int,
    ) -> Featuriser:
        """Returns the featuriser, fitted on the sentences of train if it asks to be.

        Where a task has no training split, all its sentences take its place: none has a label.
        """
        components = None
        if representation.needs_fit:
            fitted = {"train": data.splits["train"]} if "train" in data.splits else data.splits
            rows = np.concatenate([_rows(items) for items in fitted.values()])
            chosen = {key: matrix[rows] for key, matrix in views.items()}
            components = representation.fit(chosen, task.protocol)
        return cls(views, task, representation, batch_items, components)

    def vectors(self, rows: IntArray) -> FloatArray:
        """Returns the representation, float32 [n, D], of sentences [n] in this order."""
        parts = [
            self.representation.apply(
                {key: matrix[batch] for key, matrix in self.views.items()},
                self.task.protocol,
                components=self.components,
            )
            for batch in np.split(rows, range(self.batch_items, len(rows), self.batch_items))
        ]
        return np.concatenate(parts)

    def features(self, items: Items) -> FloatArray:
        """Returns what a classifier reads of items: u, or [|u − v|, u ∗ v] of pairs.

        Conneau et al. 2017 also have u and v themselves; SentEval leaves them out.
        """
        first = self.vectors(items.first)
        if items.second is None:
            return first
        second = self.vectors(items.second)
        return np.concatenate([np.abs(first - second), first * second], axis=1)


def _rows(items: Items) -> IntArray:
    return items.first if items.second is None else np.concatenate([items.first, items.second])
