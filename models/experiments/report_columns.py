"""What A reports of a pair of views, as columns that a run's own report has beside its scores."""

from __future__ import annotations

from collections.abc import Sequence

from models.evaluation.averages import AVERAGES
from models.experiments.columns import Column, columns
from models.experiments.declaration import Published
from models.experiments.published import PublishedRow, published_beside, published_rows
from models.report.evaluation_table import PublishedColumn
from models.report.markdown import SCORES_OF_ERRORS

TABLES = ("A, table 1", "A, table 2")
"""SentEval's tasks, and the averages over them, which have more pairs."""
BEST = ("DEP", "CONST")
"""The pair that stands beside views which the tables do not have."""


def published_columns(views: Sequence[str]) -> tuple[PublishedColumn, ...]:
    """Returns A's figures of these views in whatever order, or of its best pair.

    Errors are left out: A gives them in another unit.
    """
    models = {row.model for row in published_rows() if row.stands_in(TABLES)}
    same = (model for model in models if sorted(model.split(",")) == sorted(views))
    chosen = Published(next(same, ",".join(BEST)))
    return tuple(_column(row) for row in published_beside(chosen, TABLES))


def _column(row: PublishedRow) -> PublishedColumn:
    figures, computed = {}, []
    averages = tuple(declared.name for declared in AVERAGES)
    for column in columns(*dict.fromkeys((*row.figures, *averages))):
        figure = row.figure(column)
        if figure is not None and (key := _key(column)):
            figures[key] = figure
            computed += [column.name] if row.is_computed(column) else []
    width = row.figures.get("dimensions")
    how = f"trained on {row.corpus}" + (f", {width:.0f} wide" if width else "")
    means = f"; {' and '.join(computed)}: computed from its figures" if computed else ""
    return PublishedColumn(
        f"{row.model}, published",
        f"{row.source} (Simoulin & Crabbé 2021), {how}; another corpus and size than here{means}",
        figures,
    )


def _key(column: Column) -> tuple[str, str] | None:
    """Returns what scores call a column; None of facts and errors."""
    if column.average is not None:
        return column.average.name, ""
    if column.task is not None and column.score not in SCORES_OF_ERRORS:
        return column.task.name, column.score
    return None
