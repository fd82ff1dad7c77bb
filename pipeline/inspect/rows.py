"""Rows of several stages side by side, one shard in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.base.mistakes import did_you_mean
from pipeline.inspect.dataset import Selection, StageFolder, select, stage_in
from pipeline.shards.manifests import shard_path
from pipeline.shards.schema import COLUMNS, EMBEDDING, EMBEDDINGS
from pipeline.shards.shards import read_shard, shard_metadata
from pipeline.trees.flat_trees import ConstituencyParse

ROWS_AT_ONCE = 10_000
"""Rows that are Python's objects together."""
NEEDED_COLUMNS = {
    "sentences": ("document_id", "sentence_index", "tokens"),
    "dependencies": ("heads", "deprels"),
    "constituents": ("span_starts", "span_ends", "span_labels", "tags"),
}
"""Columns of each stage in which sentences and trees stand, without what follows from these."""


def check_same_rows(folders: Sequence[StageFolder], number: int) -> int:
    """Returns the number of rows that all of these have in a shard.

    Raises:
        FileNotFoundError: a stage has no such shard.
        ValueError: they differ; names two of them.
    """
    rows = {
        shard_path(f.path, number): int(shard_metadata(f.path, f.stage, number)[1].num_rows)
        for f in folders
    }
    first, *others = rows
    for path in others:
        if rows[path] != rows[first]:
            raise ValueError(
                f"{path} has {rows[path]} rows, {first} has {rows[first]}; parse this shard again"
            )
    return rows[first]


def aligned_table(
    folders: Sequence[StageFolder], number: int, columns: Sequence[str] | None = None
) -> pa.Table:
    """Returns a shard's rows with the columns of these stages side by side.

    Args:
        folders: of several of one stage the last one's columns are read.
        number: of the shard.
        columns: those wanted, in their order; all when omitted.

    Raises:
        FileNotFoundError: a stage has no such shard.
        ValueError: a shard is damaged, or the stages' shards differ in rows; names both.
    """
    of_column = {name: folder for folder in folders for name in COLUMNS[folder.stage]}
    wanted = list(of_column) if columns is None else columns
    needed = list(dict.fromkeys(of_column[name] for name in wanted))
    check_same_rows(needed, number)
    arrays: dict[str, pa.ChunkedArray] = {}
    for folder in needed:
        names = [name for name in wanted if of_column[name] == folder]
        table = read_shard(folder.path, folder.stage, number, names)
        arrays |= dict(zip(names, table.columns, strict=True))
    return pa.table([arrays[name] for name in wanted], names=list(wanted))


def read_rows(
    selection: Selection, number: int, *, start: int = 0, count: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yields a shard's rows with the columns of all stages that are read together.

    Raises:
        FileNotFoundError: a stage has no such shard.
        ValueError: see `aligned_table`.
    """
    table = aligned_table(selection.read_together, number).slice(start, count)
    for begin in range(0, table.num_rows, ROWS_AT_ONCE):
        yield from table.slice(begin, ROWS_AT_ONCE).to_pylist()


def constituency_of(row: dict[str, Any]) -> ConstituencyParse:
    """Returns the constituency tree of a row that has one."""
    return ConstituencyParse(*(row[name] for name in NEEDED_COLUMNS["constituents"]))


def read_tables(path: Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Yields the shards at a path as tables of aligned rows, one in memory at a time.

    Args:
        path: a folder that holds stages, whose columns then stand side by side (a later parse of a
            stage wins), or a stage's folder, or a shard's Parquet file.
        columns: in their order; None for all.

    Raises:
        FileNotFoundError: no shard there, or a stage lacks one that another has.
        ValueError: a column that no stage has, a damaged shard, or stages that differ in rows.
    """
    selection = select(path)
    folders = selection.folders
    if path.is_file() or stage_in(path) is not None:  # parses come with their sentences
        folders = folders[-1:]
    known = list(dict.fromkeys(name for folder in folders for name in COLUMNS[folder.stage]))
    if columns is None:
        folders = tuple(folder for folder in folders if folder in selection.read_together)
    for name in columns or ():
        if name not in known:
            meant = did_you_mean(name, known=known)
            raise ValueError(f"{path}: no column {name!r}, only {', '.join(known)}{meant}")
    if EMBEDDING in (columns or ()):
        _check_one_encoder(folders, path)
    return (aligned_table(folders, number, columns) for number in selection.numbers())


def _check_one_encoder(folders: Sequence[StageFolder], path: Path) -> None:
    found = [str(folder.path) for folder in folders if folder.stage == EMBEDDINGS]
    if len(found) > 1:
        raise ValueError(
            f"{path}: has embeddings by several encoders, {', '.join(found)}; give the folder of "
            "the ones that you mean"
        )
