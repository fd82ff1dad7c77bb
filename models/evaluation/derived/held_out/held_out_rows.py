"""Held-out rows of a sentence stage, with their parses as label rules read them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from models.config.held_out import HoldOut
from pipeline.shards.manifests import check_parsed_from, read_dataset_manifest
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
        table = read_shard(sentences, "sentences", manifest.number, sha256=manifest.sha256)
        positions = held_out_positions(table, hold_out)[:room]
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


def held_out_positions(table: pa.Table, hold_out: HoldOut) -> list[int]:
    """Returns which rows of a table of sentences are held out, in order."""
    documents = table["document_id"].cast(pa.string()).combine_chunks().dictionary_encode()
    mask = hold_out.mask(
        documents.dictionary.to_pylist(),
        documents.indices.to_numpy(),
        table["sentence_index"].to_numpy(),
    )
    positions: list[int] = np.flatnonzero(mask).tolist()
    return positions


Parse = tuple[Any, ...]
"""Columns of a sentence as tuples: of dependencies heads and relations; of constituents starts,
ends, labels, tags and the left and right children of the binarized tree."""

_COLUMNS = {
    "dependencies": ("heads", "deprels"),
    "constituents": (
        *("span_starts", "span_ends", "span_labels", "tags"),
        *("binary_left", "binary_right"),
    ),
}


def parsed_rows(
    sentences: Path, stages: Mapping[str, Path], hold_out: HoldOut, *, limit: int | None = None
) -> Iterator[tuple[HeldOutRow, Parse | None]]:
    """Yields the held-out rows of a sentence stage in dataset order, each with its parse.

    That is None where a parser could not take the sentence.

    Args:
        stages: folder of each parse stage that is read, by its name.
        limit: most rows to yield; None yields all.

    Raises:
        FileNotFoundError: a stage is not complete.
        ValueError: the stages do not have the same rows, or are parses of other sentences.
    """
    text = read_dataset_manifest(sentences, "sentences")
    for stage, folder in stages.items():
        check_parsed_from(folder, read_dataset_manifest(folder, stage), text)
    rows = held_out_rows(sentences, hold_out, limit=limit)
    for shard, in_shard in groupby(rows, key=lambda row: row.shard):
        held_out = list(in_shard)
        positions = [row.position for row in held_out]
        by_stage = [
            _parses(sentences, folder, stage, shard, positions) for stage, folder in stages.items()
        ]
        for row, *parts in zip(held_out, *by_stage, strict=True):
            parse = tuple(column for part in parts for column in part)
            yield row, None if None in parse else parse


def _parses(
    sentences: Path, folder: Path, stage: str, shard: int, positions: Sequence[int]
) -> list[Parse]:
    """Returns the parses of some rows of a shard, [n]; of None for a sentence without one.

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


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """One held-out sentence of n tokens with both parses (fields as in the shards' schema)."""

    row: int
    """Its number among the held-out sentences of the corpus."""
    document_id: str
    sentence_index: int
    tokens: tuple[str, ...]
    heads: tuple[int, ...]
    deprels: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    labels: tuple[str, ...]
    tags: tuple[str, ...]
    binary_left: tuple[int, ...] = ()
    binary_right: tuple[int, ...] = ()
    dataset_row: int = 0
    """Its row in the corpus, counted over the shards."""
    unit: str = ""
    """The document, or the held-out block of it, that it belongs to."""


def below_top_clause(tree: ParsedSentence) -> list[str] | None:
    """Returns the labels right below the top S, in order; None where the top is no S.

    Of a chain of unary constituents that is the highest, of a word its part-of-speech tag.
    """
    top, *chain = tree.labels[0].split("+")
    if top != "S":
        return None
    if chain:
        return [chain[0]]
    found: list[str] = []
    position = 0
    for start, end, label in zip(tree.starts[1:], tree.ends[1:], tree.labels[1:], strict=True):
        if start < position:
            continue
        found += [*tree.tags[position:start], label.split("+")[0]]
        position = end
    return [*found, *tree.tags[position:]]
