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
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from models.config.views import VIEWS, columns_read
from pipeline.base.atomic_files import (
    LEFT_SECONDS,
    sweep_unfinished,
    write_bytes_atomically,
    write_json_atomically,
)
from pipeline.base.digest import digest_of, sentences_digest
from pipeline.base.refusal import Refusal
from pipeline.parsing.parse_shard import Row
from pipeline.shards.arrow import numbers, strings, values_of
from pipeline.shards.schema import schema_for
from pipeline.shards.shards import FlatListColumn

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


class TableKeeper(Protocol):
    """What keeps the rows that stages made of pieces of sentences."""

    def table(
        self,
        stage: str,
        content: Mapping[str, Any],
        sentences: Sequence[str],
        make: Callable[[], pa.Table],
    ) -> pa.Table:
        """Returns a stage's rows of these sentences; see `ParseCache.table`."""
        ...


class PieceInMemory:
    """What stages made of one piece of sentences, for several encoders that read it in turn."""

    def __init__(self) -> None:
        self._tables: dict[str, pa.Table] = {}

    def table(
        self,
        stage: str,
        content: Mapping[str, Any],
        sentences: Sequence[str],
        make: Callable[[], pa.Table],
    ) -> pa.Table:
        """Returns a stage's rows of these sentences, made if they are not kept."""
        key = f"{stage}-{digest_of(content)}-{sentences_digest(sentences)}"
        if key not in self._tables:
            self._tables[key] = make()
        return self._tables[key]

    def forget(self) -> None:
        """Frees the memory, before the next piece."""
        self._tables.clear()


class ParseCache:
    """What stages made of pieces of sentences, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def table(
        self,
        stage: str,
        content: Mapping[str, Any],
        sentences: Sequence[str],
        make: Callable[[], pa.Table],
    ) -> pa.Table:
        """Returns a stage's rows of these sentences, made and kept if they do not stand there.

        A piece that is damaged is said, made again and overwritten.

        Args:
            stage: see `schema_of`.
            content: everything but the sentences that determines the rows, JSON-serialisable.
            sentences: in their order, which is part of what a piece is found by.
            make: gives the rows.
        """
        content = {**content, "format_version": FORMAT_VERSION}
        place = self.folder / f"{stage}-{digest_of(content)}"
        piece = place / f"{sentences_digest(sentences)}.parquet"
        try:
            return _read(piece, stage, len(sentences))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, RecursionError, KeyError, TypeError) as error:
            logger.warning("%s: a broken piece is made again: %s", piece, error)
        started = time.perf_counter()
        table = make()
        seconds = time.perf_counter() - started
        if not (place / CONFIG_FILE).exists():
            place.mkdir(parents=True, exist_ok=True)
            write_json_atomically(place / CONFIG_FILE, content)
        _write(piece, table, seconds)
        return table


def _manifest_path(piece: Path) -> Path:
    return piece.with_suffix(".json")


def _read(piece: Path, stage: str, num_sentences: int) -> pa.Table:
    """Returns a piece's rows.

    Raises:
        FileNotFoundError: no such piece.
        OSError, ValueError, KeyError, TypeError: it is damaged.
    """
    import pyarrow.parquet as pq  # takes as long to import as numpy; few encoders keep anything

    manifest: dict[str, Any] = json.loads(_manifest_path(piece).read_text(encoding="utf-8"))
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
    write_json_atomically(_manifest_path(piece), manifest)


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
    reasons = [None if rejection is None else rejection.reason for rejection in rejections]
    details = [None if rejection is None else rejection.detail for rejection in rejections]
    return [pa.array(reasons, pa.string()), pa.array(details, pa.string())]
