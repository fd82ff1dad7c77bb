"""A table as CSV: one line a figure, so that any program can pivot it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any

from models.experiments.declaration import Scale
from models.experiments.result_table import Cell, ResultTable

HEADER = (
    *("table", "group", "model", "representation", "source", "measured"),
    *(field.name for field in fields(Scale)),
    "column",
    *(field.name for field in fields(Cell)),
    "best_by",
)


def csv_lines(tables: Sequence[ResultTable]) -> str:
    """Returns the figures of tables; what is unknown is empty."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, HEADER, lineterminator="\n")
    writer.writeheader()
    for table in tables:
        writer.writerows(_lines(table))
    return stream.getvalue()


def _lines(table: ResultTable) -> Iterator[dict[str, Any]]:
    for row in table.rows:
        named = {
            "table": table.name,
            "group": row.group,
            "model": row.title,
            "representation": row.taken,
            "best_by": row.chosen_by,
        }
        if row.not_here and not row.lines:
            yield {**named, "reason": row.not_here}
        for line in row.lines:
            of_line = {"source": line.source, "measured": line.measured, **asdict(line.scale)}
            for cell, heading in zip(line.cells, table.columns, strict=True):
                if cell.value is not None or (line.measured and cell.reason):
                    yield {**named, **of_line, "column": heading.name, **asdict(cell)}
