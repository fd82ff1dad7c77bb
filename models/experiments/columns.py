"""What a column of a table holds: a task's score, a mean over tasks, or a fact about a model.

A column is known by its name alone, which is also that of a column of ``data/published``: ``MR``,
``MRPC F1``, ``SICK-R rho``, ``SICK-R MSE``, ``STS14 spearman_all``, the name of an average, or one
of `FACTS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from models.evaluation.averages import AVERAGES, AverageDeclaration
from models.evaluation.evaluation_task import EvaluationTask
from models.evaluation.scores import main_metric
from models.evaluation.task_registry import DERIVED, task_named, tasks_named
from pipeline.base.mistakes import did_you_mean

Fact = Literal["dimensions", "parameters", "hours", "held-out accuracy", "development score"]
"""Width of what is scored, trained parameters, hours of training; share of held-out sentences that
pick their neighbour from the batch, in percent; mean of the development scores of the tasks that
learn, in percent."""
FACTS: tuple[Fact, ...] = get_args(Fact)

SCORES: Mapping[str, str] = {
    "accuracy": "accuracy",
    "F1": "f1",
    "r": "pearson",
    "rho": "spearman",
    "MSE": "mse",
}
"""What papers call a score -> its name in results; any other is called as in results."""
SIMILARITY = ("STS12", "STS13", "STS14", "STS15", "STS16", "SICK14")
BINARY = ("MR", "CR", "SUBJ", "MPQA", "SST2")
MEAN_SIMILARITY = "mean of STS12-16, SICK14"
MEAN_RELATEDNESS = "mean of SICK-R, STS-B"
MEAN_BINARY = "mean of MR, CR, SUBJ, MPQA, SST2"
MEANS: Mapping[str, tuple[str, ...]] = {
    MEAN_SIMILARITY: SIMILARITY,
    MEAN_RELATEDNESS: ("SICK-R", "STS-B"),
    MEAN_BINARY: BINARY,
}
"""The plain means of Tang & de Sa 2018 (table 6 and appendix): name -> tasks."""
_AVERAGES = {declared.name: declared for declared in AVERAGES} | {
    mean: AverageDeclaration(mean, mean, {task: (main_metric(task_named(task)),) for task in tasks})
    for mean, tasks in MEANS.items()
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: a task's score, an average or a fact; exactly one of the three."""

    name: str
    task: EvaluationTask | None = None
    score: str = ""
    """Of the task, as results call it."""
    average: AverageDeclaration | None = None
    fact: Fact | None = None
    derived: bool = False
    """Whether the task is derived from the corpus, and not SentEval's of its name."""

    @property
    def times(self) -> float:
        """What a score is multiplied with; papers give 100 times the mean squared error."""
        return 100.0 if self.score == "mse" else 1.0

    @property
    def lower_is_better(self) -> bool:
        """Whether it is an error, or a cost."""
        return self.score == "mse" or self.fact in {"hours", "parameters"}

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that must be scored for it."""
        if self.task is not None:
            return (self.task.name,)
        return () if self.average is None else tuple(self.average.parts)


def column_named(name: str) -> Column:
    """Returns a column by its name, see the module.

    Raises:
        ValueError: no task, score, average or fact of that name; names what may have been meant.
    """
    if name in _AVERAGES:
        return Column(name, average=_AVERAGES[name])
    for fact in FACTS:
        if name == fact:
            return Column(name, fact=fact)
    task_name, _, score = name.partition(" ")
    try:
        task = task_named(task_name)
    except ValueError as error:
        meant = did_you_mean(name, known=[*_AVERAGES, *FACTS])
        raise ValueError(f"no column is named {name!r}{meant}: {error}") from error
    return Column(name, task, SCORES.get(score, score) or main_metric(task))


def name_of_score(task: str, score: str) -> str:
    """Returns the column of a task's score, as results call it: ``MRPC``, ``MRPC F1``."""
    if score == main_metric(task_named(task)):
        return task
    papers_name = next((called for called, known in SCORES.items() if known == score), score)
    return f"{task} {papers_name}"


def columns(*names: str) -> tuple[Column, ...]:
    """Returns the columns of these names, in order."""
    return tuple(column_named(name) for name in names)


def derived_columns(tasks: Iterable[EvaluationTask] = DERIVED) -> tuple[Column, ...]:
    """Returns the columns of tasks that are derived from the corpus."""
    return tuple(
        Column(f"{task.name} (derived)", task, main_metric(task), derived=True) for task in tasks
    )


def chosen_columns(
    declared: Sequence[Column], names: str = "", *, derived: bool = False
) -> tuple[Column, ...]:
    """Returns the columns of a table whose tasks are restricted.

    Facts stay; averages do whose tasks are all chosen. A chosen task that has no column gets one.

    Args:
        names: of tasks, separated by commas; empty or ``all``: those declared.
        derived: whether tasks that are derived from the corpus are columns, too: those named, or
            all of them where none is.

    Raises:
        ValueError: no such task.
    """
    if names.strip().lower() in {"", "all"}:
        return (*declared, *(derived_columns() if derived else ()))
    chosen = tasks_named(names)
    own = [task for task in chosen if derived and task in DERIVED]
    published = [task for task in chosen if task not in own]
    wanted = {task.name for task in published}
    kept = [column for column in declared if wanted.issuperset(column.tasks)]
    having = {task for column in kept if column.task for task in column.tasks}
    added = [column_named(task.name) for task in published if task.name not in having]
    return (*kept, *added, *(derived_columns(own or DERIVED) if derived else ()))
