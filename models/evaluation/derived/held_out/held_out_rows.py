"""Held-out rows of a sentence stage, and their parses."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from models.config.held_out import HoldOut
from pipeline.shards.manifests import read_dataset_manifest
from pipeline.shards.shards import read_shard


@dataclass(frozen=True, slots=True)
class HeldOutRow:
    """A held-out row of the sentence stage, before any parse is read."""

    shard: int
    position: int
    """Row in the shard."""
    dataset_row: int
    """Row counted over all shards."""
    document_id: str
    sentence_index: int
    tokens: tuple[str, ...]


def held_out_rows(
    sentences: Path, hold_out: HoldOut, *, limit: int | None = None
) -> Iterator[HeldOutRow]:
    """Yields the held-out rows of a sentence stage in dataset order.

    Args:
        limit: most rows to yield; None yields all.

    Raises:
        FileNotFoundError: the stage is not complete.
        ValueError: a shard is broken or of another schema version.
    """
    room, first_row = sys.maxsize if limit is None else limit, 0
    for manifest in read_dataset_manifest(sentences, "sentences").shards:
        table = read_shard(sentences, "sentences", manifest.number)
        positions = _held_out_positions(table, hold_out)[:room]
        room -= len(positions)
        rows = table.take(pa.array(positions, pa.int64()))
        for position, row in zip(positions, rows.to_pylist(), strict=True):
            yield HeldOutRow(
                manifest.number,
                position,
                first_row + position,
                row["document_id"],
                row["sentence_index"],
                tuple(row["tokens"]),
            )
        first_row += manifest.rows
        if room == 0:
            return


def _held_out_positions(table: pa.Table, hold_out: HoldOut) -> list[int]:
    documents = table["document_id"].cast(pa.string()).combine_chunks().dictionary_encode()
    mask = hold_out.mask(
        documents.dictionary.to_pylist(),
        documents.indices.to_numpy(),
        table["sentence_index"].to_numpy(),
    )
    positions: list[int] = np.flatnonzero(mask).tolist()
    return positions


_COLUMNS = {
    "dependencies": ("heads", "deprels"),
    "constituents": (
        *("span_starts", "span_ends", "span_labels", "tags"),
        *("binary_left", "binary_right"),
    ),
}


def read_rows(
    sentences: Path, folder: Path, stage: str, shard: int, positions: Sequence[int]
) -> list[tuple[Any, ...]]:
    """Returns the parses of some rows of a shard, [n]: a tuple of tuples each, of None without one.

    Dependencies are heads and relations; constituents are starts, ends, labels, tags and the left
    and right children of the binarized tree.

    Raises:
        FileNotFoundError: no such shard.
        ValueError: the parsed shard has other rows than the sentences'.
    """
    num_sentences = read_shard(sentences, "sentences", shard, ["sentence_index"]).num_rows
    table = read_shard(folder, stage, shard, _COLUMNS[stage])
    if table.num_rows != num_sentences:
        raise ValueError(
            f"{folder}: shard {shard} has {table.num_rows} rows but {sentences} has "
            f"{num_sentences}; parse this dataset again"
        )
    rows = table.take(pa.array(positions, pa.int64()))
    columns = [
        [None if value is None else tuple(value) for value in rows[name].to_pylist()]
        for name in _COLUMNS[stage]
    ]
    return list(zip(*columns, strict=True))
