"""Rows of several stages side by side: read shard by shard, or as one table by DuckDB's SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from treeviews.pipeline.base.bundled import how_to_install
from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.inspect.dataset import Selection, StageFolder, select, stage_in
from treeviews.pipeline.parsing.parse_shard import row_of as columns_of
from treeviews.pipeline.shards.manifests import shard_path
from treeviews.pipeline.shards.schema import COLUMNS, EMBEDDING, EMBEDDINGS
from treeviews.pipeline.shards.shards import read_shard, shard_metadata
from treeviews.pipeline.trees.flat_trees import ConstituencyParse, DependencyParse

if TYPE_CHECKING:
    import duckdb

TABLE = "corpus"
"""What SQL calls the stages side by side."""
FETCHED_AT_ONCE = 1_000
WIDEST = 60
"""Characters of a value that a table shows, but in its last column."""
ROWS_AT_ONCE = 10_000
"""Rows that are Python's objects together."""
TREE_COLUMNS = {
    "dependencies": ("heads", "deprels"),
    "constituents": ("span_starts", "span_ends", "span_labels", "tags"),
}
"""Columns in which the trees of a stage stand, without what follows from these."""


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
    """Yields a shard's rows with their places and the columns of all stages read together.

    Raises:
        FileNotFoundError: a stage has no such shard.
        ValueError: see `aligned_table`.
    """
    table = aligned_table(selection.read_together, number).slice(start, count)
    for begin in range(0, table.num_rows, ROWS_AT_ONCE):
        for row, columns in enumerate(table.slice(begin, ROWS_AT_ONCE).to_pylist(), start + begin):
            yield {"shard": number, "row": row, **columns}


def first_rows(selection: Selection, num_rows: int) -> Iterator[dict[str, Any]]:
    """Yields the first rows with their parses and places, as they are in the shards."""
    for number in selection.shared_numbers():
        if num_rows > 0:
            rows = list(read_rows(selection, number, count=num_rows))
            num_rows -= len(rows)
            yield from rows


def row_of(selection: Selection, shard: int, row: int) -> dict[str, Any]:
    """Returns one sentence with its trees and its place, as it is in the shards.

    Raises:
        ValueError: the shard has no such row, or the sentences are not beside the parses.
    """
    if selection.sentences is None:
        raise ValueError(
            f"{selection.folders[0].path}: no sentences beside it; give a corpus that has both"
        )
    if shard not in (known := selection.shared_numbers()):
        raise ValueError(f"no shard {shard} that all stages have; they share {known}")
    rows = list(read_rows(selection, shard, start=row, count=1)) if row >= 0 else []
    if not rows:
        raise ValueError(f"shard {shard} has no row {row}; `overview` says how many there are")
    return rows[0]


def tree_of(stage: str, row: Mapping[str, Any]) -> Any:
    """Returns the tree of a row of a stage, right or not; None where it has none."""
    columns = [row[name] for name in TREE_COLUMNS[stage]]
    if None in columns:
        return None
    return DependencyParse(*columns) if stage == "dependencies" else ConstituencyParse(*columns)


def tree_fault(
    stage: str, row: Mapping[str, Any], tokens: Sequence[str] | None
) -> tuple[str, str] | None:
    """Returns the column of a row that is wrong and the problem; None of a tree, or of none.

    Args:
        row: has the stage's columns.
        tokens: of its sentence, where that is at hand.
    """
    columns = {name: row[name] for name in COLUMNS[stage]}
    tree = tree_of(stage, row)
    if tree is None or None in columns.values():
        given = [name for name, value in columns.items() if value is not None]
        missing = next(name for name, value in columns.items() if value is None)
        return (missing, f"null, but {given[0]} is not") if given else None
    own: Any = tree.heads if isinstance(tree, DependencyParse) else tree.tags
    words = own if tokens is None else tokens
    expected = columns_of(tree, words)
    if isinstance(expected, Refusal):
        is_short = isinstance(tree, DependencyParse) and len(tree.heads) == len(words)
        is_short = is_short and len(tree.deprels) != len(words)
        return "deprels" if is_short else TREE_COLUMNS[stage][0], expected.detail
    for name, value in expected.items():
        if columns[name] != value:
            return name, f"is {columns[name]}, the binarization of the spans is {value}"
    return None


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
    encoders = [str(folder.path) for folder in folders if folder.stage == EMBEDDINGS]
    if EMBEDDING in (columns or ()) and len(encoders) > 1:
        raise ValueError(
            f"{path}: has embeddings by several encoders, {', '.join(encoders)}; give the folder "
            "of the ones that you mean"
        )
    return (aligned_table(folders, number, columns) for number in selection.numbers())


class Answer(NamedTuple):
    """What a query gives, read while it is asked for."""

    columns: list[str]
    rows: Iterator[tuple[Any, ...]]


def ask(selection: Selection, sql: str) -> Answer:
    """Returns what SQL finds in the table ``corpus``.

    The table has ``shard`` and ``row``, and the columns of all stages. Rows are read from the files
    as they are: `check` compares checksums.

    Raises:
        ModuleNotFoundError: DuckDB is not installed; says how to install it.
        ValueError: DuckDB refuses the SQL, in its own words; the stages differ in rows or share no
            shard, or there are several folders of a kind.
    """
    try:
        import duckdb
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"SQL over a corpus is read by DuckDB: {how_to_install('query')}"
        ) from error
    connection = duckdb.connect()
    with _named_mistakes():
        connection.execute(_view_of(selection))
        kinds = [statement.type.name for statement in connection.extract_statements(sql)]
        if kinds != ["SELECT"]:  # others may write files
            raise ValueError(
                f"no single query in {sql!r}; write one such as SELECT * FROM {TABLE} LIMIT 5"
            )
        result = connection.execute(sql)
    return Answer([str(column[0]) for column in result.description], _fetched(result))


@contextmanager
def _named_mistakes() -> Iterator[None]:
    """Makes what DuckDB says of wrong SQL a mistake of one sentence."""
    import duckdb

    try:
        yield
    except duckdb.OperationalError:  # a file, the disk, memory
        raise
    except duckdb.Error as error:
        sentence, _, _ = str(error).partition("\nLINE ")
        raise ValueError(" ".join(sentence.split())) from None


def _fetched(result: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    with _named_mistakes():
        while rows := result.fetchmany(FETCHED_AT_ONCE):
            yield from rows


def _view_of(selection: Selection) -> str:
    """Returns the SQL that lays the shards of all stages side by side, by the place of each row.

    `POSITIONAL JOIN` of files pairs their rows in order and pads what is shorter, so that shards
    must agree in rows one by one.
    """
    selection.check_one_of_each()
    folders = selection.read_together
    if len(selection.folders_of(EMBEDDINGS)) == 1:
        folders = selection.folders
    numbers = selection.numbers_in(*folders) or selection.shared_numbers()
    for number in numbers:
        check_same_rows(folders, number)
    first = folders[0].stage
    columns = ", ".join(name for folder in folders for name in COLUMNS[folder.stage])
    files = " POSITIONAL JOIN ".join(_files_of(folder, numbers) for folder in folders)
    return (
        f"CREATE VIEW {TABLE} AS SELECT CAST(parse_filename({first}.filename, true) AS INTEGER) "
        f"AS shard, {first}.file_row_number AS row, {columns} FROM {files}"
    )


def _files_of(folder: StageFolder, numbers: Sequence[int]) -> str:
    """Returns a stage's files as SQL has them, where no sign of a path stands for others."""
    paths = [str(shard_path(folder.path, number)) for number in numbers]
    plain = ["".join(f"[{sign}]" if sign in "*?[" else sign for sign in path) for path in paths]
    names = ", ".join("'{}'".format(path.replace("'", "''")) for path in plain)
    return f"read_parquet([{names}]) AS {folder.stage}"


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yields rows as a table, one a line; long values are cut, but those of the last column."""
    cells = [[_cell(value) for value in row] for row in (columns, *rows)]
    for row in cells:
        row[:-1] = [cell if len(cell) <= WIDEST else f"{cell[:WIDEST]} …" for cell in row[:-1]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


def _cell(value: Any) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return printable("" if value is None else text)
