"""Stages written by hand: shards of plain rows, and the manifest over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from treeviews.pipeline.shards.manifests import ShardManifest, write_dataset_manifest
from treeviews.pipeline.shards.schema import schema_for
from treeviews.pipeline.shards.shards import ShardWriter

Rows = Sequence[Mapping[str, Any]]


def stage_table(stage: str, rows: Rows) -> pa.Table:
    """Returns rows in a stage's schema."""
    return pa.Table.from_pylist(list(rows), schema=schema_for(stage))


def sentence_rows(sentences: Sequence[Sequence[str]], *, document: str = "a") -> Rows:
    """Returns the rows of one document."""
    return [
        {"document_id": document, "sentence_index": index, "tokens": list(tokens)}
        for index, tokens in enumerate(sentences)
    ]


def write_shard(
    folder: Path, stage: str, number: int, table: pa.Table, **facts: Any
) -> ShardManifest:
    """Writes one shard; nothing is refused unless the facts for its manifest say so."""
    with ShardWriter(folder, stage, number) as writer:
        writer.write(table)
        return writer.finish(**({"drops": {}} | facts))


def write_rows(folder: Path, stage: str, number: int, rows: Rows, **facts: Any) -> ShardManifest:
    """Writes one shard, of which nothing was refused unless the facts for its manifest say so."""
    table = stage_table(stage, rows)
    return write_shard(folder, stage, number, table, **({"quarantine": []} | facts))


def write_stage(folder: Path, stage: str, *shards: Rows) -> Path:
    """Writes a whole stage in which nothing was refused; returns its folder."""
    for number, rows in enumerate(shards):
        write_rows(folder, stage, number, rows)
    write_dataset_manifest(folder, stage, config={})
    return folder
