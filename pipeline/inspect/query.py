"""``query``: SQL over all stages of a corpus as one table, a row a sentence, by DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.base.bundled import how_to_install
from pipeline.base.foreign_text import printable
from pipeline.inspect.dataset import Selection, StageFolder
from pipeline.inspect.rows import check_same_rows
from pipeline.shards.manifests import shard_path
from pipeline.shards.schema import COLUMNS, EMBEDDINGS

if TYPE_CHECKING:
    import duckdb

TABLE = "corpus"
"""What SQL calls the stages side by side."""
ROWS_AT_ONCE = 1_000
WIDEST = 60
"""Characters of a value that a table shows, but in its last column."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query gives, read while it is asked for."""

    columns: list[str]
    rows: Iterator[tuple[Any, ...]]


def ask(selection: Selection, sql: str) -> Answer:
    """Returns what SQL finds in the table ``corpus``.

    The table has ``shard`` and ``row``, and the columns of all stages. Rows are read from the files
    as they are: `check` compares checksums.

    Raises:
        ModuleNotFoundError: DuckDB is not installed; says how to install it.
        FileNotFoundError: no shard is there that all stages have.
        ValueError: DuckDB refuses the SQL, in its own words; or the stages differ in rows, or there
            are several folders of a kind.
    """
    connection = _connected()
    with _named_mistakes():
        connection.execute(_view_of(selection))
        kinds = [statement.type.name for statement in connection.extract_statements(sql)]
        if kinds != ["SELECT"]:  # others may write files
            raise ValueError(
                f"no single query in {sql!r}; write one such as SELECT * FROM {TABLE} LIMIT 5"
            )
        found = connection.execute(sql)
    return Answer([str(column[0]) for column in found.description], _rows(found))


def _connected() -> duckdb.DuckDBPyConnection:
    try:
        import duckdb
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"SQL over a corpus is read by DuckDB: {how_to_install('query')}"
        ) from error
    return duckdb.connect()


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


def _rows(found: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    with _named_mistakes():
        while some := found.fetchmany(ROWS_AT_ONCE):
            yield from some


def _view_of(selection: Selection) -> str:
    """Returns the SQL that lays the shards of all stages side by side, by the place of each row.

    `POSITIONAL JOIN` of files pairs their rows in order and pads what is shorter, so that shards
    must agree in rows one by one.
    """
    folders = _folders(selection)
    numbers = set.intersection(*(set(selection.numbers_in(folder)) for folder in folders))
    if not numbers:
        names = ", ".join(str(folder.path) for folder in folders)
        raise FileNotFoundError(f"no shard that all of these have: {names}")
    for number in numbers:
        check_same_rows(folders, number)
    first = folders[0].stage
    columns = ", ".join(name for folder in folders for name in COLUMNS[folder.stage])
    files = " POSITIONAL JOIN ".join(_files_of(folder, sorted(numbers)) for folder in folders)
    return (
        f"CREATE VIEW {TABLE} AS SELECT CAST(parse_filename({first}.filename, true) AS INTEGER) "
        f"AS shard, {first}.file_row_number AS row, {columns} FROM {files}"
    )


def _folders(selection: Selection) -> list[StageFolder]:
    """Returns one folder of each kind; embeddings only where they are of one encoder."""
    selection.check_one_of_each()
    found = selection.folders_of(EMBEDDINGS)
    return [f for f in selection.folders if f.stage != EMBEDDINGS or len(found) == 1]


def _files_of(folder: StageFolder, numbers: Sequence[int]) -> str:
    paths = (str(shard_path(folder.path, number)) for number in numbers)
    named = ", ".join(f"'{_literally(path)}'" for path in paths)
    return f"read_parquet([{named}]) AS {folder.stage}"


def _literally(path: str) -> str:
    """Returns a path as SQL has it, in which no sign stands for others."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path).replace("'", "''")


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yields rows as a table, one a line; long values are cut, but those of the last column."""
    cells = [[_shown(value) for value in row] for row in (columns, *rows)]
    for row in cells:
        row[:-1] = [cell if len(cell) <= WIDEST else f"{cell[:WIDEST]} …" for cell in row[:-1]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


def _shown(value: Any) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return printable("" if value is None else text)
