"""The figures that papers give, each with the table and row it stands in.

They stand in ``data/published``, a file a paper, a line a row of a paper's table: ``source``
(paper, table and row), ``model``, ``part``, ``corpus``, ``component``, then a column a figure,
named as `models.experiments.columns` names it. An empty cell is a figure that is not given.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from models.evaluation.averages import AverageDeclaration, average_of
from models.experiments.columns import Column, column_named, name_of_score
from models.experiments.declaration import NotHere, Published, Row
from pipeline.base.bundled import PUBLISHED_FIGURES

PAPERS: Mapping[str, str] = {
    "A": "Simoulin & Crabbé 2021",
    "B": "Tang & de Sa 2018",
    "C": "Tang & de Sa 2019",
}
"""Letter with which sources begin -> the paper."""
LEADING = ("source", "model", "part", "corpus", "component")
"""Columns that say whose figures a line has."""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """What a model reaches, as one row or column of a paper's table gives it."""

    source: str
    """``B, table 3, G1``: the paper's letter, the table, the row."""
    model: str
    """A preset, a variant of one, or what the paper calls a model of others."""
    part: str
    """What of the model answers; empty where there is one answer."""
    corpus: str
    """That it was trained on; empty where the paper does not say, or it is word vectors."""
    component: str
    """``removed``, ``kept`` or empty."""
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

    def is_computed(self, column: Column) -> bool:
        """Returns whether the figure of a column is an average that the paper does not print."""
        return column.name not in self.figures and self.figure(column) is not None

    def _averaged(self, declared: AverageDeclaration) -> float | None:
        """Returns an average of the row's figures; None where one of them is not printed."""
        scores = {
            task: {score: self.figures.get(name_of_score(task, score)) for score in needed}
            for task, needed in declared.parts.items()
        }
        if any(value is None for of_task in scores.values() for value in of_task.values()):
            return None
        in_units = {
            task: {
                score: np.array([value / 100.0 if score == "mse" else value])
                for score, value in of_task.items()
                if value is not None
            }
            for task, of_task in scores.items()
        }
        return float(average_of(declared, in_units)[0])

    def stands_in(self, tables: Iterable[str]) -> bool:
        """Returns whether its source is one of these tables."""
        return any(self.source.startswith(f"{table},") for table in tables)


@cache
def published_rows(folder: Path = PUBLISHED_FIGURES) -> tuple[PublishedRow, ...]:
    """Returns all rows of all papers, in the order of their files and lines.

    Raises:
        ValueError: a column that is no task, score, mean or fact, or a cell that is no number;
            names the file.
    """
    paths = sorted(folder.glob("*.csv"))
    return tuple(row for path in paths for row in read_published(path))


def read_published(path: Path) -> list[PublishedRow]:
    """Returns the rows of one file.

    Raises:
        ValueError: see `published_rows`.
    """
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        names = [name for name in reader.fieldnames or () if name not in LEADING]
        if missing := [name for name in LEADING if name not in (reader.fieldnames or ())]:
            raise ValueError(f"{path}: lacks the columns {', '.join(missing)}")
        try:
            for name in names:
                column_named(name)
            return [
                PublishedRow(
                    **{name: line[name] for name in LEADING},
                    figures={name: float(line[name]) for name in names if line[name]},
                )
                for line in reader
            ]
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from error


def published_beside(
    published: Published, tables: Iterable[str] = (), rows: Iterable[PublishedRow] | None = None
) -> list[PublishedRow]:
    """Returns what papers give for a row of ours: one row a corpus, figures of all tables together.

    Args:
        tables: whose figures are taken; () takes all.
        rows: all there are; by default those that ship.
    """
    chosen = tuple(tables)
    found: dict[str, PublishedRow] = {}
    for row in published_rows() if rows is None else rows:
        of_it = (row.model, row.part, row.component)
        if of_it != (published.model, published.part, published.component):
            continue
        if chosen and not row.stands_in(chosen):
            continue
        known = found.get(row.corpus)
        if known is None:
            found[row.corpus] = row
        else:
            found[row.corpus] = replace(
                known,
                source=f"{known.source}; {row.source}",
                figures={**row.figures, **known.figures},
            )
    return list(found.values())


def models_of_others(
    tables: Iterable[str],
    reasons: Mapping[str, str],
    *,
    group: str = "",
    taken: Mapping[str, str] | None = None,
) -> tuple[Row, ...]:
    """Returns a row for each model of these tables that cannot be had here.

    Args:
        reasons: why not, by the model's name in ``data/published``; the rows are in its order.
        taken: what of it is scored, by the model's name, where a table says it.

    Raises:
        ValueError: the tables have no such model.
    """
    chosen = tuple(tables)
    known = {row.model: row for row in published_rows() if row.stands_in(chosen)}
    if missing := [name for name in reasons if name not in known]:
        raise ValueError(f"{', '.join(chosen)}: no published figures of {', '.join(missing)}")
    return tuple(
        Row(
            name,
            NotHere(reason),
            (taken or {}).get(name, ""),
            group,
            published=Published(name, known[name].part, known[name].component),
        )
        for name, reason in reasons.items()
    )
