"""What a loader reads from a task's files, and its arrangement into ``TaskData``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from models.evaluation.tasks.task import EvaluationTask, Items, TaskData
from models.evaluation.tasks.text_file import Tokens

EMPTY_SENTENCE = "."
"""What SentEval's own examples (bow.py and others) give to the encoder for a sentence without
tokens."""


@dataclass(frozen=True, slots=True)
class Example:
    """One item as its file has it."""

    first: Tokens
    label: int | float
    second: Tokens | None = None

    def sort_key(self) -> tuple[float, ...]:
        """Returns what SentEval sorts by: lengths in tokens, then the label.

        It sorts to pad less; folds, permutations and batches then depend on the order, so the
        order is part of the protocol. An empty sentence has length 0 here. Equal ones stay in the
        order of the files.
        """
        if self.second is None:
            return (len(self.first), self.label)
        return (len(self.first), len(self.second), self.label)

    def sentences(self) -> tuple[Tokens, ...]:
        """Returns the one or two sentences."""
        return (self.first,) if self.second is None else (self.first, self.second)


@dataclass(frozen=True, slots=True)
class Examples:
    """All examples of a dataset."""

    splits: Mapping[str, Sequence[Example]]
    """Split or subset -> its examples in the order of the files."""
    class_names: tuple[str, ...] = ()
    """Where the files decide the classes; else those of the declaration are used."""
    left_out: Mapping[str, int] = field(default_factory=dict)


def arranged(task: EvaluationTask, examples: Examples, files: Mapping[str, str]) -> TaskData:
    """Returns the data of a task in the order in which SentEval hands them to the classifier.

    Args:
        files: sha256 of each file that was read, by its path within the data folder.
    """
    splits, left_out = _used_splits(task, examples)
    positions, num_empty = _distinct(
        sentence
        for split in examples.splits.values()
        for example in split
        for sentence in example.sentences()
    )
    ordered = {name: sorted(split, key=Example.sort_key) for name, split in splits.items()}
    return TaskData(
        sentences=tuple(positions),
        splits={name: items_of(task, split, positions) for name, split in ordered.items()},
        class_names=examples.class_names or task.classes,
        left_out=left_out,
        replaced={"empty sentence, given as a period": num_empty} if num_empty else {},
        files=files,
    )


def _used_splits(
    task: EvaluationTask, examples: Examples
) -> tuple[dict[str, Sequence[Example]], dict[str, int]]:
    """Returns the splits that the task uses, and what it leaves out, counted."""
    splits, left_out = dict(examples.splits), dict(examples.left_out)
    if task.protocol == "similarity" and "test" in splits:
        # Where nothing is learnt, the other splits of a learnt task serve no purpose.
        for name in [name for name in splits if name != "test"]:
            left_out[f"pair of the {name} split"] = len(splits.pop(name))
    return splits, left_out


def _distinct(sentences: Iterable[Tokens]) -> tuple[dict[str, int], int]:
    """Returns the position of each distinct sentence, and how many were empty."""
    positions: dict[str, int] = {}
    num_empty = 0
    for tokens in sentences:
        num_empty += not tokens
        positions.setdefault(_as_text(tokens), len(positions))
    return positions, num_empty


def _as_text(tokens: Tokens) -> str:
    return " ".join(tokens) or EMPTY_SENTENCE


def items_of(
    task: EvaluationTask, examples: Sequence[Example], positions: Mapping[str, int]
) -> Items:
    """Returns the items of examples, in their order.

    Args:
        positions: of each sentence among those of the dataset.
    """
    labels = np.array([e.label for e in examples], dtype=np.float64)
    is_score = task.protocol in ("relatedness", "similarity")
    seconds = [positions[_as_text(e.second)] for e in examples if e.second is not None]
    return Items(
        first=np.array([positions[_as_text(e.first)] for e in examples], dtype=np.int64),
        labels=labels if is_score else labels.astype(np.int64),
        second=np.array(seconds, dtype=np.int64) if task.pairs else None,
    )
