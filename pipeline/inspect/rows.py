"""Rows of several stages side by side, one row group in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.base.mistakes import did_you_mean
from pipeline.inspect.dataset import Selection, StageFolder, select, stage_in
from pipeline.shards.manifests import shard_path
from pipeline.shards.schema import COLUMNS, EMBEDDING, EMBEDDINGS
from pipeline.shards.shards import read_row_groups, read_shard, shard_metadata

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class ListColumn:
    """A list column over R rows, flat; a null row has no values."""

    def __init__(self, table: pa.Table, name: str) -> None:
        self.values: pa.Array = table[name].combine_chunks().flatten()
        self.lengths = list_lengths(table, name)
        """[R]"""
        self.starts: Ints = np.cumsum(self.lengths) - self.lengths
        """Where each row's values begin; [R]."""
        self.rows: Ints = np.repeat(np.arange(len(self.lengths)), self.lengths)
        """The row of each value."""

    @property
    def numbers(self) -> Ints:
        """The values of a column of integers."""
        numbers: Ints = self.values.to_numpy().astype(np.int64)
        return numbers

    def rows_with(self, chosen: Mask) -> Mask:
        """Returns which rows hold a chosen value; [R]."""
        found: Mask = np.bincount(self.rows[chosen], minlength=len(self.lengths)) > 0
        return found


def list_lengths(table: pa.Table, name: str) -> Ints:
    """Returns how many values each row of a list column has, a null row none; [R]."""
    lengths: Ints = pc.fill_null(pc.list_value_length(table[name]), 0).to_numpy().astype(np.int64)
    return lengths


@dataclass(slots=True)
class _Part:
    """The row groups of one stage's shard, of which any number of rows can be taken."""

    groups: Iterator[pa.Table]
    rows: pa.Table | None = None

    def ready(self) -> int:
        """Returns how many rows are at hand, at least one while there are any."""
        while self.rows is None or not self.rows.num_rows:
            self.rows = next(self.groups, None)
            if self.rows is None:
                return 0
        return int(self.rows.num_rows)

    def take(self, count: int) -> pa.Table:
        assert self.rows is not None
        taken, self.rows = self.rows.slice(0, count), self.rows.slice(count)
        return taken


def groups_side_by_side(
    folders: Sequence[StageFolder],
    number: int,
    columns: Mapping[Path, Sequence[str]] | None = None,
) -> Iterator[tuple[int, tuple[pa.Table, ...]]]:
    """Yields the first row's number and the same rows of every folder, a row group at a time.

    Args:
        folders: whose shards to read.
        number: of the shard.
        columns: of each folder, which to read; all where it is not named.

    Raises:
        FileNotFoundError: a stage has no such shard.
        ValueError: a shard is damaged, or the stages' shards differ in rows; names both.
    """
    check_same_rows(folders, number)
    wanted = columns or {}
    parts = [_Part(read_row_groups(f.path, f.stage, number, wanted.get(f.path))) for f in folders]
    start = 0
    while count := min(part.ready() for part in parts):
        yield start, tuple(part.take(count) for part in parts)
        start += count


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


def read_groups(
    selection: Selection, number: int, columns: Sequence[str] | None = None
) -> Iterator[tuple[int, pa.Table]]:
    """Yields a shard's rows with the columns of all stages; a later parse of a stage wins.

    Args:
        number: of the shard.
        columns: those wanted, which some stage has; all when omitted.

    Yields:
        The first row's number, and a table of at most a row group.

    Raises:
        FileNotFoundError: a stage has no such shard.
        ValueError: the stages' shards differ in rows; names both.
    """
    of_column = {name: f for f in selection.read_together for name in COLUMNS[f.stage]}
    names = [name for name in of_column if columns is None or name in columns]
    folders = list({of_column[name].path: of_column[name] for name in names}.values())
    wanted = {f.path: [name for name in names if of_column[name] is f] for f in folders}
    for start, tables in groups_side_by_side(folders, number, wanted):
        arrays = {name: part[name] for part in tables for name in part.column_names}
        yield start, pa.table([arrays[name] for name in names], names=names)


def read_rows(
    selection: Selection, number: int, *, start: int = 0, count: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yields a shard's rows with the columns of all stages; a later parse of a stage wins.

    Raises:
        FileNotFoundError: a stage has no such shard.
        ValueError: the stages' shards differ in rows; names both.
    """
    check_same_rows(selection.read_together, number)
    stop = None if count is None else start + count
    for first, table in read_groups(selection, number):
        if stop is not None and first >= stop:
            return
        begin = max(start - first, 0)
        if begin < table.num_rows:
            length = None if stop is None else stop - first - begin
            yield from table.slice(begin, length).to_pylist()


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
    of_column = {name: folder for folder in folders for name in COLUMNS[folder.stage]}
    shown = [name for name in of_column if of_column[name] in selection.read_together]
    wanted = shown if columns is None else list(columns)
    if EMBEDDING in wanted:
        _check_one_encoder(folders, path)
    _check_columns(wanted, list(of_column), path)
    return _tables(selection, wanted, of_column)


def _check_one_encoder(folders: Sequence[StageFolder], path: Path) -> None:
    found = [str(folder.path) for folder in folders if folder.stage == EMBEDDINGS]
    if len(found) > 1:
        raise ValueError(
            f"{path}: has embeddings by several encoders, {', '.join(found)}; give the folder of "
            "the ones that you mean"
        )


def _check_columns(wanted: Sequence[str], known: Sequence[str], path: Path) -> None:
    for name in wanted:
        if name not in known:
            meant = did_you_mean(name, known=known)
            raise ValueError(f"{path}: no column {name!r}, only {', '.join(known)}{meant}")


def _tables(
    selection: Selection, wanted: Sequence[str], of_column: Mapping[str, StageFolder]
) -> Iterator[pa.Table]:
    folders = {folder.path: folder for folder in map(of_column.__getitem__, wanted)}
    for number in selection.numbers():
        parts = {}
        for folder in folders.values():
            names = [name for name in wanted if of_column[name] is folder]
            parts[folder.path] = read_shard(folder.path, folder.stage, number, names)
        rows = {place: table.num_rows for place, table in parts.items()}
        if len(set(rows.values())) > 1:
            first, other, *_ = rows
            raise ValueError(
                f"{shard_path(other, number)} has {rows[other]} rows, {shard_path(first, number)} "
                f"has {rows[first]}; parse this shard again"
            )
        arrays = [parts[of_column[name].path].column(name) for name in wanted]
        yield pa.table(arrays, names=list(wanted))
