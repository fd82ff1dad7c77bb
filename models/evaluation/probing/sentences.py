"""Held-out sentences with their parses, as the label rules read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from models.evaluation.probing.config import ProbingConfig
from pipeline.shards import read_dataset_manifest, read_shard


@dataclass(frozen=True, slots=True)
class ParsedFolders:
    """The three stages of one parsed corpus: same shards, same rows."""

    sentences: Path
    dependencies: Path
    constituents: Path


@dataclass(frozen=True, slots=True)
class RowAddress:
    """Where an embedding's sentence stands."""

    part: str
    """``corpus`` or ``shifted``."""
    dataset_row: int
    """Row of that dataset, counted over its shards."""
    unit: str
    """The document, or the held-out block of it, that the sentence belongs to."""


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """One held-out sentence of n tokens with both parses (fields as in ``pipeline.schema``)."""

    row: int
    """Index of its embedding."""
    document_id: str
    sentence_index: int
    tokens: tuple[str, ...]
    heads: tuple[int, ...]
    deprels: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    labels: tuple[str, ...]
    tags: tuple[str, ...]
    shifted: bool = False
    """Whether two adjacent words were swapped."""


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


def held_out_rows(sentences: Path, config: ProbingConfig) -> Iterator[HeldOutRow]:
    """Yields the held-out rows of a sentence stage in dataset order.

    Raises:
        FileNotFoundError: the stage is not complete.
        ValueError: a shard is broken or of another schema version.
    """
    room, first_row = config.max_sentences, 0
    for manifest in read_dataset_manifest(sentences, "sentences").shards:
        table = read_shard(sentences, "sentences", manifest.number)
        positions = _held_out_positions(table, config)[:room]
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


def _held_out_positions(table: pa.Table, config: ProbingConfig) -> list[int]:
    documents = table["document_id"].cast(pa.string()).combine_chunks().dictionary_encode()
    mask = config.hold_out.mask(
        documents.dictionary.to_pylist(),
        documents.indices.to_numpy(),
        table["sentence_index"].to_numpy(),
    )
    positions: list[int] = np.flatnonzero(mask).tolist()
    return positions


@dataclass(frozen=True, slots=True)
class HeldOutPart:
    """The held-out rows of one dataset: those with both parses, and the addresses of all."""

    parsed: tuple[ParsedSentence, ...]
    addresses: tuple[RowAddress, ...]

    @property
    def num_without_parse(self) -> int:
        """Rows that a parser could not take."""
        return len(self.addresses) - len(self.parsed)


def read_held_out(
    folders: ParsedFolders, part: str, config: ProbingConfig, *, first_row: int
) -> HeldOutPart:
    """Returns the held-out sentences of a parsed dataset.

    A row that a parser could not take has an address but no parsed sentence, so the numbering of
    embeddings does not depend on the parsers.

    Args:
        part: ``corpus`` or ``shifted``.
        first_row: embedding index of the part's first held-out row.

    Raises:
        FileNotFoundError: a stage is not complete.
        ValueError: the stages do not have the same rows.
    """
    parsed: list[ParsedSentence] = []
    addresses: list[RowAddress] = []
    rows = held_out_rows(folders.sentences, config)
    for shard, in_shard in groupby(rows, key=lambda row: row.shard):
        held_out = list(in_shard)
        parses = _read_parses(folders, shard, [row.position for row in held_out])
        for row, parse in zip(held_out, parses, strict=True):
            if None not in parse:
                heads, deprels, starts, ends, labels, tags = map(tuple, parse)
                parsed.append(
                    ParsedSentence(
                        row=first_row + len(addresses),
                        document_id=row.document_id,
                        sentence_index=row.sentence_index,
                        tokens=row.tokens,
                        heads=heads,
                        deprels=deprels,
                        starts=starts,
                        ends=ends,
                        labels=labels,
                        tags=tags,
                        shifted=part == "shifted",
                    )
                )
            unit = config.hold_out.unit_of(row.document_id, row.sentence_index)
            addresses.append(RowAddress(part, row.dataset_row, unit))
    return HeldOutPart(tuple(parsed), tuple(addresses))


_DEPENDENCY_COLUMNS = ("heads", "deprels")
_CONSTITUENT_COLUMNS = ("span_starts", "span_ends", "span_labels", "tags")


def _read_parses(
    folders: ParsedFolders, shard: int, positions: Sequence[int]
) -> list[tuple[Any, ...]]:
    num_sentences = read_shard(folders.sentences, "sentences", shard, ["sentence_index"]).num_rows
    columns: list[list[Any]] = []
    for folder, stage, names in (
        (folders.dependencies, "dependencies", _DEPENDENCY_COLUMNS),
        (folders.constituents, "constituents", _CONSTITUENT_COLUMNS),
    ):
        table = read_shard(folder, stage, shard, names)
        if table.num_rows != num_sentences:
            raise ValueError(
                f"{folder}: shard {shard} has {table.num_rows} rows but {folders.sentences} has "
                f"{num_sentences}; parse this dataset again"
            )
        rows = table.take(pa.array(positions, pa.int64()))
        columns += [rows[name].to_pylist() for name in names]
    return list(zip(*columns, strict=True))
