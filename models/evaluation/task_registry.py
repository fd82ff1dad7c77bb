"""What an evaluation task is, every declared one, and what its files give.

SentEval's tasks (Conneau & Kiela 2018, Conneau et al. 2018), and the one of DiscoEval that is
derived from any text (Chen et al. 2019), are declared in ``evaluation_sets.toml``, each once; its
head says how. `models.evaluation.senteval_format` reads their files.

Legend: n items of a split.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from treeviews.models.evaluation.resampling import FloatArray, IntArray
from treeviews.pipeline.base.mistakes import did_you_mean, refuse_together

TASKS_VERSION = 1
"""Raised when the same files would give other sentences, items or answers."""

Protocol = Literal["nested_folds", "folds", "split", "relatedness", "similarity"]
"""How a task is scored. ``nested_folds``: outer folds for the score, inner ones for the
regulariser; ``folds``: folds of train for the regulariser, then test; ``split``: dev for the
regulariser, then test; ``relatedness``: a distribution over five grades is learnt; ``similarity``:
nothing is learnt, the cosine of two vectors is the answer."""

Features = Literal["sentence", "pair", "passage"]
"""What a classifier reads of the vectors x1, x2, … of an item's sentences, side by side.
``sentence``: x1. ``pair``: ``|x1 − x2|`` and x1 ∗ x2 (SentEval; Conneau et al. 2017 also have x1
and x2). ``passage``: of six, the sums of ``|xi − xi+1|`` and of xi ∗ xi+1 over neighbours. Differs
from DiscoEval (Chen et al. 2019, section 3), all six side by side: there a hidden layer of 2,000
units brings sentences together, and a logistic regression would see each by itself."""
SENTENCES_OF: Mapping[Features, int] = {"sentence": 1, "pair": 2, "passage": 6}
"""How many sentences an item has."""


@dataclass(frozen=True, slots=True)
class EvaluationTask:
    """One task, as ``evaluation_sets.toml`` declares it."""

    name: str
    """As the field writes it: ``MR``, ``SICK-R``, ``STS14``, ``TreeDepth``."""
    dataset: str
    """The files it reads; tasks of one dataset share its sentences and their embeddings."""
    protocol: Protocol
    description: str
    citation: str
    classes: tuple[str, ...] = ()
    """Names of the classes in the order of their numbers; none where the answer is a number or
    the classes are those of the training split."""
    features: Features = "sentence"
    """How many sentences an item is, and what is learnt from."""
    scores_f1: bool = False
    """Whether the F1 of class 1 is reported beside accuracy."""


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """The items of one split or one subset, in the order in which SentEval arranges them."""

    sentences: tuple[IntArray, ...]
    """[n] each, the items' first sentences first; positions among ``TaskData.sentences``."""
    labels: IntArray | FloatArray
    """[n]; the class, or the gold score."""

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True, eq=False)
class TaskData:
    """A task's sentences and answers."""

    sentences: tuple[str, ...]
    """The distinct sentences of the whole dataset, tokens joined by single spaces, in the order
    of their first appearance: equal for all tasks of a dataset. An empty one is given as a period,
    as SentEval's own examples do. Derived tasks have those of their corpus in common."""
    splits: Mapping[str, Items]
    """``all`` (nested folds); ``train`` and ``test`` (folds); ``train``, ``dev`` and ``test``
    (split, relatedness); one a subset (similarity)."""
    class_names: tuple[str, ...] = ()
    """Names of the classes in the order of their numbers."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """What the files hold and the task does not use, counted by reason."""
    replaced: Mapping[str, int] = field(default_factory=dict)
    """Sentences given otherwise than the files have them, counted by reason."""
    files: Mapping[str, str] = field(default_factory=dict)
    """sha256 of each file that was read, by its path within the data folder."""
    derived_from: str = ""
    """The corpus that the task was derived from; empty for the published task."""
    units: IntArray | None = None
    """[sentences]; number of the document that each is from, where the data say so."""
    protocol: Mapping[str, Any] = field(default_factory=dict)
    """Fields of ``ProtocolConfig`` that the data ask for."""


DECLARED = tomllib.loads(Path(__file__).with_name("evaluation_sets.toml").read_text("utf-8"))


def declared_tasks(declared: Mapping[str, Any]) -> tuple[EvaluationTask, ...]:
    """Returns the tasks of a declaration of evaluation sets, in its order."""
    made = []
    for name, entry in declared["tasks"].items():
        fields = {key: entry[key] for key in entry if key not in ("senteval", "derived")}
        fields["citation"] = declared["citations"].get(entry["citation"], entry["citation"])
        made.append(EvaluationTask(name, **fields | {"classes": tuple(entry.get("classes", ()))}))
    return tuple(made)


TASKS = declared_tasks(DECLARED)
SENTEVAL_NAMES = {
    entry["senteval"]: name for name, entry in DECLARED["tasks"].items() if "senteval" in entry
}
"""What SentEval's code calls a task -> its name in papers, where these differ."""
DISCOURSE = tuple(task for task in TASKS if task.features == "passage")
"""Of DiscoEval, derived from a corpus alone: SentEval's data do not hold it."""
PROBING = tuple(
    task
    for task in TASKS
    if DECLARED["datasets"][task.dataset]["reader"] == "probing" and task not in DISCOURSE
)
DERIVED = tuple(task for task in TASKS if "derived" in DECLARED["tasks"][task.name])
"""Those that are derived from any corpus: the others of probing alter sentences."""


def task_named(name: str) -> EvaluationTask:
    """Returns a task by its name in papers or in SentEval's code, in upper or lower case.

    Raises:
        ValueError: no such task; lists the known ones.
    """
    names = {ours.lower(): ours for ours in (task.name for task in TASKS)}
    names |= {theirs.lower(): ours for theirs, ours in SENTEVAL_NAMES.items()}
    for task in TASKS:
        if task.name == names.get(name.strip().lower()):
            return task
    known = [task.name for task in TASKS]
    remedy = did_you_mean(name, known=known) or f"; known are {', '.join(known)}"
    raise ValueError(f"no evaluation task is named {name!r}{remedy}")


def tasks_named(names: str, *, derived: bool = False) -> tuple[EvaluationTask, ...]:
    """Returns the tasks of a comma-separated list, each once, or all of them for ``all``.

    Args:
        derived: whether the data are derived from a corpus, which have other tasks than
            SentEval's own.

    Raises:
        ValueError: tasks that do not exist, or no name at all.
    """
    if names.strip().lower() == "all":
        others = set(PROBING) - set(DERIVED) if derived else set(DISCOURSE)
        return tuple(task for task in TASKS if task not in others)
    listed = names.split(",")
    refuse_together(*(partial(task_named, name) for name in listed))
    return tuple(dict.fromkeys(map(task_named, listed)))
