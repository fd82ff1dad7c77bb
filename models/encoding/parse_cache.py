"""Tokens and parses of raw sentences, made once and shared by all encoders that read them.

Each stage has a folder of its own, named by everything that determines its rows but the sentences
(``config.json`` spells that out), so that an encoder of one parse shares with one of two. Sentences
are kept in the pieces in which they were read::

    tokens-<digest>/         <sentences>.parquet  <sentences>.json
    dependencies-<digest>/   <sentences>.parquet  <sentences>.json
    constituents-<digest>/   <sentences>.parquet  <sentences>.json

A piece exists when its manifest does, which holds the sha256 of its rows and is written last: a
parse that was killed goes on with the first piece that is missing. Its rows are one Arrow table a
stage: a row a sentence, a refused one too.

Legend: N sentences; a sentence of n tokens has n - 1 inner nodes.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treeviews.models.config.views import VIEWS, columns_read
from treeviews.pipeline.base.atomic_files import (
    LEFT_SECONDS,
    sweep_unfinished,
    write_bytes_atomically,
    write_json_atomically,
)
from treeviews.pipeline.base.digest import digest_of, sentences_digest
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsing.parse_shard import Row
from treeviews.pipeline.shards.arrow import numbers, strings, values_of
from treeviews.pipeline.shards.schema import schema_for
from treeviews.pipeline.shards.shards import FlatListColumn

logger = logging.getLogger(__name__)

FORMAT_VERSION = 2
"""Raised when a piece would be written otherwise; pieces of another version are not looked at."""
CONFIG_FILE = "config.json"
TOKENS = "tokens"
"""The stage before all parses; they are of its tokens."""

_READ_BY_VIEWS = columns_read(VIEWS)
_REFUSAL = (
    # Why this stage could not take the sentence; null where it could, or was not asked to.
    pa.field("reason", pa.string()),
    pa.field("detail", pa.string()),
)


class PieceTables:
    """What the stages made of one piece of sentences, in memory and in a folder if one is given."""

    def __init__(self, sentences: Sequence[str], folder: Path | None = None) -> None:
        self.folder = folder
        self._sentences = sentences
        self._tables: dict[str, pa.Table] = {}

    @cached_property
    def _file_name(self) -> str:
        return f"{sentences_digest(self._sentences)}.parquet"

    def table(
        self, stage: str, content: Mapping[str, Any], make: Callable[[], pa.Table]
    ) -> pa.Table:
        """Returns a stage's rows of the sentences, made and kept if they are not there.

        A file that is damaged is made again and overwritten, with a warning.

        Args:
            stage: see `schema_of`.
            content: everything but the sentences that determines the rows, JSON-serialisable.
            make: gives the rows.
        """
        key = f"{stage}-{digest_of({**content, 'format_version': FORMAT_VERSION})}"
        if key not in self._tables:
            kept = self.folder is not None
            self._tables[key] = self._kept(key, stage, content, make) if kept else make()
        return self._tables[key]

    def _kept(
        self, key: str, stage: str, content: Mapping[str, Any], make: Callable[[], pa.Table]
    ) -> pa.Table:
        assert self.folder is not None
        place = self.folder / key
        piece = place / self._file_name
        try:
            return _read(piece, stage, len(self._sentences))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, RecursionError, KeyError, TypeError) as error:
            logger.warning("%s: a broken piece is made again: %s", piece, error)
        started = time.perf_counter()
        table = make()
        seconds = time.perf_counter() - started
        if not (place / CONFIG_FILE).exists():
            place.mkdir(parents=True, exist_ok=True)
            write_json_atomically(
                place / CONFIG_FILE, {**content, "format_version": FORMAT_VERSION}
            )
        _write(piece, table, seconds)
        return table


def _read(piece: Path, stage: str, num_sentences: int) -> pa.Table:
    """Returns a piece's rows.

    Raises:
        FileNotFoundError: no such piece.
        OSError, ValueError, KeyError, TypeError: it is damaged.
    """
    import pyarrow.parquet as pq  # takes as long to import as numpy; few encoders keep anything

    manifest: dict[str, Any] = json.loads(piece.with_suffix(".json").read_text(encoding="utf-8"))
    content = piece.read_bytes()
    if hashlib.sha256(content).hexdigest() != manifest["sha256"]:
        raise ValueError("its checksum is another than its manifest says")
    table = pq.read_table(pa.BufferReader(content))
    if len(table) != num_sentences or not table.schema.equals(schema_of(stage)):
        raise ValueError(f"{len(table)} rows of {table.schema.names}")
    return table


def _write(piece: Path, table: pa.Table, seconds: float) -> None:
    """Writes a piece's rows, then the manifest that makes them count.

    What writers that were killed left beside it is removed; what is young another may be writing.
    """
    import pyarrow.parquet as pq

    sweep_unfinished(piece.parent, older_than_seconds=LEFT_SECONDS)
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream, compression="zstd", compression_level=3)
    content = stream.getvalue().to_pybytes()
    write_bytes_atomically(piece, content)
    manifest = {
        "rows": len(table),
        "refused": Counter(rejection.reason for rejection in rejections_of(table).values()),
        "sha256": hashlib.sha256(content).hexdigest(),
        "seconds": round(seconds, 3),
    }
    write_json_atomically(piece.with_suffix(".json"), manifest)


def schema_of(stage: str) -> pa.Schema:
    """Returns the columns of a stage, as its schema has them, and those of refusals."""
    # Differs from the sentence shards: what is refused keeps its tokens, if it has any.
    columns = schema_for("sentences" if stage == TOKENS else stage)
    names = ("tokens",) if stage == TOKENS else _READ_BY_VIEWS[stage]
    return pa.schema([*(columns.field(name) for name in names), *_REFUSAL])


def token_table(tokens: Sequence[Sequence[str]], rejections: Sequence[Refusal | None]) -> pa.Table:
    """Returns the table of tokens, with what no parser is to be asked about."""
    schema = schema_of(TOKENS)
    # pa.array of lists would look for pandas, whose import takes longer than a first call.
    offsets = np.cumsum([0, *map(len, tokens)], dtype=np.int32)
    flat = strings(list(chain.from_iterable(tokens)), pa.string())
    words = pa.ListArray.from_arrays(numbers(offsets), flat, type=schema.field("tokens").type)
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


def stage_table(stage: str, given: pa.Table) -> pa.Table:
    """Returns a stage's table of sentences; those without a parse are refused as such.

    Args:
        given: the stage's columns, among others.
    """
    schema = schema_of(stage)
    names = [name for name in schema.names if name in given.column_names]
    columns = [given.column(name).cast(schema.field(name).type) for name in names]
    has_none = columns[0].is_null()
    reason = pc.if_else(has_none, f"no_{stage}", pa.scalar(None, pa.string()))
    return pa.Table.from_arrays(
        [*columns, reason, pc.if_else(has_none, "", pa.scalar(None, pa.string()))], schema=schema
    )


def rejections_of(table: pa.Table) -> dict[int, Refusal]:
    """Returns the refused sentences of a stage by row."""
    reasons, details = table.column("reason"), table.column("detail")
    rows = np.flatnonzero(values_of(reasons.combine_chunks().is_valid()))
    return {int(row): Refusal(reasons[row].as_py(), details[row].as_py()) for row in rows}


def flat_values(table: pa.Table, name: str, rows: NDArray[np.int64]) -> pa.Array:
    """Returns the values of a list column at these rows, one row after the other."""
    return table.column(name).combine_chunks().take(numbers(rows)).flatten()


def offsets_of(table: pa.Table, name: str, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns where the lists of these rows begin in `flat_values`, and the end; [N + 1]."""
    lengths = values_of(pc.list_value_length(table.column(name)).combine_chunks())[rows]
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _refusal_columns(rejections: Sequence[Refusal | None]) -> list[pa.Array]:
    if not any(rejections):
        return [pa.nulls(len(rejections), pa.string())] * 2
    return [
        pa.array([rejection and getattr(rejection, name) for rejection in rejections], pa.string())
        for name in ("reason", "detail")
    ]
