"""Columns of the papers' tables, and the figures that papers print in them.

A column is a task's score, a mean over tasks, or a fact about a model. It is known by its name
alone: ``MR``, ``MRPC F1``, ``SICK-R rho``, ``SICK-R MSE``, ``STS14 spearman_all``, the name of an
average, or one of `FACTS`.

Published figures stand in ``data/published``, a CSV file a paper, a line a row of a paper's table:
``source`` (paper, table and row), ``model``, ``part``, ``corpus``, ``component``, ``not_here`` (why
the model cannot be had here), then a column a figure. An empty cell is a figure that is not given.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from treeviews.models.evaluation.averages import AVERAGES, AverageDeclaration, average_of
from treeviews.models.evaluation.scores import main_metric
from treeviews.models.evaluation.task_registry import (
    DERIVED,
    EvaluationTask,
    task_named,
    tasks_named,
)
from treeviews.pipeline.base.bundled import PUBLISHED_FIGURES
from treeviews.pipeline.base.mistakes import did_you_mean

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
MEAN_SIMILARITY = "mean of STS12-16, SICK14"
MEAN_BINARY = "mean of MR, CR, SUBJ, MPQA, SST2"
MEANS: Mapping[str, tuple[str, ...]] = {
    MEAN_SIMILARITY: ("STS12", "STS13", "STS14", "STS15", "STS16", "SICK14"),
    "mean of SICK-R, STS-B": ("SICK-R", "STS-B"),
    MEAN_BINARY: ("MR", "CR", "SUBJ", "MPQA", "SST2"),
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
    if fact := next((fact for fact in FACTS if fact == name), None):
        return Column(name, fact=fact)
    task_name, _, score = name.partition(" ")
    try:
        task = task_named(task_name)
    except ValueError as error:
        meant = did_you_mean(name, known=[*_AVERAGES, *FACTS])
        raise ValueError(f"no column is named {name!r}{meant}: {error}") from error
    return Column(name, task, SCORES.get(score, score) or main_metric(task))


def columns(*names: str) -> tuple[Column, ...]:
    """Returns the columns of these names, in order."""
    return tuple(map(column_named, names))


def chosen_columns(
    declared: Sequence[Column], names: str = "", *, derived: bool = False
) -> tuple[Column, ...]:
    """Returns the columns of a table whose tasks are restricted.

    Facts stay; averages do whose tasks are all chosen. A chosen task that has no column gets one.

    Args:
        declared: the table's own.
        names: of tasks, separated by commas; empty or ``all``: those declared.
        derived: whether tasks that are derived from the corpus are columns, too: those named, or
            all of them where none is.

    Raises:
        ValueError: no such task.
    """
    if names.strip().lower() in {"", "all"}:
        return (*declared, *(_derived(DERIVED) if derived else ()))
    chosen = tasks_named(names)
    own = [task for task in chosen if derived and task in DERIVED]
    published = [task.name for task in chosen if task not in own]
    kept = [column for column in declared if {*published}.issuperset(column.tasks)]
    having = {task for column in kept if column.task for task in column.tasks}
    added = columns(*(task for task in published if task not in having))
    return (*kept, *added, *(_derived(own or DERIVED) if derived else ()))


def _derived(tasks: Iterable[EvaluationTask]) -> list[Column]:
    """Returns the columns of tasks that are derived from the corpus."""
    return [
        Column(f"{task.name} (derived)", task, main_metric(task), derived=True) for task in tasks
    ]


# Figures of papers.

PAPERS: Mapping[str, str] = {
    "A": "Simoulin & Crabbé 2021",
    "B": "Tang & de Sa 2018",
    "C": "Tang & de Sa 2019",
}
"""Letter with which sources begin -> the paper."""


@dataclass(frozen=True, slots=True)
class Published:
    """Which published figures stand beside a row of ours: those with all of these, any corpus."""

    model: str
    """A preset, a variant of one, or what the paper calls a model of others."""
    part: str = ""
    """What of the model answers: ``en``, ``de``, ``ensemble``; empty where the paper has one."""
    component: str = ""
    """``removed`` or ``kept``, of the top principal component; empty where it is no question."""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """What a model reaches, as one row or column of a paper's table gives it."""

    source: str
    """``B, table 3, G1``: the paper's letter, the table, the row."""
    key: Published
    """Beside which rows of ours it stands."""
    corpus: str
    """That it was trained on; empty where the paper does not say, or it is word vectors."""
    not_here: str
    """Why the model cannot be had here; empty where it can."""
    figures: Mapping[str, float]
    """By the name of the column, as printed: percent, or 100 r."""

    @property
    def paper(self) -> str:
        """The paper's letter."""
        return self.source.partition(",")[0]

    def figure(self, column: Column) -> float | None:
        """Returns what the paper prints in a column, or the average of what it prints, or None."""
        printed = self.figures.get(column.name)
        return self._averaged(column.average) if printed is None and column.average else printed

    def _averaged(self, declared: AverageDeclaration) -> float | None:
        """Returns an average of the row's figures; None where one of them is not printed."""
        printed = {
            (column.task.name, column.score): np.array([value / column.times])
            for column, value in ((column_named(name), one) for name, one in self.figures.items())
            if column.task
        }
        try:
            scores = {
                task: {score: printed[task, score] for score in needed}
                for task, needed in declared.parts.items()
            }
        except KeyError:
            return None
        return float(average_of(declared, scores)[0])

    def stands_in(self, tables: Iterable[str]) -> bool:
        """Returns whether its source is one of these tables."""
        return any(self.source.startswith(f"{table},") for table in tables)


@cache
def published_rows(folder: Path = PUBLISHED_FIGURES) -> tuple[PublishedRow, ...]:
    """Returns all rows of all papers, in the order of their files and lines.

    Raises:
        ValueError: a column that is no task, score, mean or fact, or a cell that is no number;
            names the file and the line.
    """
    rows = []
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as stream:
            lines = csv.DictReader(stream)
            try:
                rows += [_published_row(line) for line in lines]
            except (LookupError, TypeError, ValueError) as error:
                raise ValueError(f"{path}, line {lines.line_num}: {error}") from error
    return tuple(rows)


def _published_row(line: dict[str, str]) -> PublishedRow:
    key = Published(line.pop("model"), line.pop("part"), line.pop("component"))
    source, corpus, not_here = (line.pop(name) for name in ("source", "corpus", "not_here"))
    figures = {column_named(name).name: float(cell) for name, cell in line.items() if cell}
    return PublishedRow(source, key, corpus, not_here, figures)


def published_beside(published: Published, tables: Sequence[str] = ()) -> list[PublishedRow]:
    """Returns what papers give for a row of ours: one row a corpus, figures of all tables together.

    Args:
        published: which model.
        tables: whose figures are taken; () takes all.
    """
    by_corpus: dict[str, PublishedRow] = {}
    for row in published_rows():
        if row.key != published or (tables and not row.stands_in(tables)):
            continue
        known = by_corpus.setdefault(row.corpus, row)
        if known is not row:
            source, figures = f"{known.source}; {row.source}", {**row.figures, **known.figures}
            by_corpus[row.corpus] = replace(known, source=source, figures=figures)
    return list(by_corpus.values())
