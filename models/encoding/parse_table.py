"""What reading makes of sentences, one Arrow table a stage: a row a sentence, a refused one too.

Legend: N sentences; a sentence of n tokens has n - 1 inner nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.base.refusal import Refusal
from pipeline.parsing.parse_shard import Row
from pipeline.shards.schema import schema_for
from pipeline.shards.shards import FlatListColumn

TOKENS = "tokens"
"""The stage before all parses; they are of its tokens."""

_READ_BY_VIEWS = {"dependencies": ("heads",), "constituents": ("binary_left", "binary_right")}
_REFUSAL = (
    # Why this stage could not take the sentence; null where it could, or was not asked to.
    pa.field("reason", pa.string()),
    pa.field("detail", pa.string()),
)


def schema_of(stage: str) -> pa.Schema:
    """Returns the columns of a stage, as its schema has them, and those of refusals."""
    if stage == TOKENS:
        # Differs from the sentence shards: what is refused keeps its tokens, if it has any.
        return pa.schema([schema_for("sentences").field("tokens"), *_REFUSAL])
    columns = schema_for(stage)
    return pa.schema([*(columns.field(name) for name in _READ_BY_VIEWS[stage]), *_REFUSAL])


def token_table(tokens: Sequence[Sequence[str]], rejections: Sequence[Refusal | None]) -> pa.Table:
    """Returns the table of tokens, with what no parser is to be asked about."""
    schema = schema_of(TOKENS)
    words = pa.array(tokens, type=schema.field("tokens").type)
    return pa.Table.from_arrays([words, *_refusal_columns(rejections)], schema=schema)


def parse_table(stage: str, rows: Sequence[Row | Refusal | None]) -> pa.Table:
    """Returns the table of a parse stage; a row of nulls for what was refused or not asked."""
    schema = schema_of(stage)
    columns = {name: FlatListColumn(schema.field(name).type) for name in _READ_BY_VIEWS[stage]}
    for row in rows:
        for name, column in columns.items():
            column.append(None if row is None or isinstance(row, Refusal) else row[name])
    rejections = [row if isinstance(row, Refusal) else None for row in rows]
    arrays = [column.to_arrow() for column in columns.values()]
    return pa.Table.from_arrays([*arrays, *_refusal_columns(rejections)], schema=schema)


def rejections_of(table: pa.Table) -> dict[int, Refusal]:
    """Returns the refused sentences of a stage by row."""
    reasons, details = table.column("reason"), table.column("detail")
    rows = np.flatnonzero(reasons.is_valid().to_numpy())
    return {int(row): Refusal(reasons[row].as_py(), details[row].as_py()) for row in rows}


def flat_values(table: pa.Table, name: str, rows: NDArray[np.int64]) -> pa.Array:
    """Returns the values of a list column at these rows, one row after the other."""
    return table.column(name).combine_chunks().take(pa.array(rows)).flatten()


def offsets_of(table: pa.Table, name: str, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns where the lists of these rows begin in `flat_values`, and the end; [N + 1]."""
    lengths = pc.list_value_length(table.column(name)).to_numpy()[rows]
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _refusal_columns(rejections: Sequence[Refusal | None]) -> list[pa.Array]:
    reasons = [None if rejection is None else rejection.reason for rejection in rejections]
    details = [None if rejection is None else rejection.detail for rejection in rejections]
    return [pa.array(reasons, pa.string()), pa.array(details, pa.string())]
