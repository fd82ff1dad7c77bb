"""A table as CSV: one line a figure, so that any program can pivot it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from models.experiments.result_table import ResultTable
from pipeline.base.foreign_text import printable

LEADING = ("table", "group", "model", "representation", "source", "measured")
SCALE = ("corpus", "sentences", "words", "vectors", "width", "epochs")
FIGURE = (
    *("column", "value", "sd", "seeds", "low", "high"),
    *("p", "against_baseline", "absent", "best_by"),
)
HEADER = (*LEADING, *SCALE, *FIGURE)
_FORMULA = ("=", "+", "-", "@")


def csv_lines(tables: Sequence[ResultTable]) -> str:
    """Returns the figures of tables; what is unknown is empty.

    Text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(HEADER)
    for table in tables:
        writer.writerows(_lines(table))
    return stream.getvalue()


def _lines(table: ResultTable) -> Iterator[list[str | float | int | None]]:
    for row in table.rows:
        named = (table.name, row.group, row.title, row.taken)
        for line in row.lines:
            scale = [_plain(getattr(line.scale, name)) for name in SCALE]
            for cell, heading in zip(line.cells, table.columns, strict=True):
                if cell.value is None and not (line.measured and cell.reason):
                    continue
                yield [
                    *map(_plain, named),
                    _plain(line.source),
                    "yes" if line.measured else "no",
                    *scale,
                    _plain(heading.name),
                    *(cell.value, cell.deviation, cell.num_seeds or None, cell.low, cell.high),
                    *(cell.p, cell.against_baseline, _plain(cell.reason), row.chosen_by),
                ]
        if row.not_here and not row.lines:
            reason = _plain(row.not_here)
            yield [*map(_plain, named), "here", "no", *[None] * 6, *[None] * 8, reason, ""]


def _plain(value: str | float | None) -> str | float | None:
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
