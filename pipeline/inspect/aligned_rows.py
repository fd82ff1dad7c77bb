"""The stages that a path stands for, and their rows side by side: read, or asked by SQL.

A path is a corpus folder, a stage's folder, or one shard. Rows are read shard by shard, or all as
one table by DuckDB.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from treeviews.pipeline.base.bundled import how_to_install
from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.shards.manifests import (
    MANIFEST_NAME,
    SHARD_GLOB,
    read_dataset_manifest,
    shard_numbers,
    shard_path,
)
from treeviews.pipeline.shards.schema import COLUMNS, EMBEDDING, EMBEDDINGS, STAGE_KEY
from treeviews.pipeline.shards.shards import aligned_table, check_same_rows, naming_damage

TABLE = "corpus"
"""What SQL calls the stages side by side."""
WIDEST = 60
"""Characters of a value that a table shows, but in its last column."""
ROWS_AT_ONCE = 10_000
"""Rows that are Python's objects together."""
SENTENCES = "sentences"
SHARD_MANIFEST_GLOB = "[0-9]" * 5 + ".json"


class StageFolder(NamedTuple):
    """The shards of one stage."""

    stage: str
    path: Path

    def numbers(self) -> list[int]:
        """Returns the numbers of the shards that are there, complete or not, in order."""
        return shard_numbers(self.path)

    def missing(self) -> list[int]:
        """Returns the numbers of the shards that are gone though a manifest speaks of them."""
        listed = {int(path.stem) for path in self.path.glob(SHARD_MANIFEST_GLOB)}
        with suppress(ValueError, FileNotFoundError):  # then the shards' own manifests tell
            listed |= {shard.number for shard in read_dataset_manifest(self.path).shards}
        return sorted(listed.difference(self.numbers()))

    def gaps(self) -> Iterator[str]:
        """Yields what the stage lacks to be complete."""
        if not (self.path / MANIFEST_NAME).exists():
            yield f"no {MANIFEST_NAME}: the stage is still running or was killed"
        for number in self.missing():
            yield f"{shard_path(self.path, number).name} is in the manifest but missing"


@dataclass(frozen=True, slots=True)
class Selection:
    """What a path stands for."""

    folders: tuple[StageFolder, ...]
    """All stages, the sentences first where they are there."""
    shard: int | None = None
    """The one shard that was asked for; None for all."""
    is_one_stage: bool = False
    """Whether a stage or a shard was asked for, rather than a corpus."""

    @property
    def sentences(self) -> StageFolder | None:
        """The sentences that the parses are of; None where they are not beside them."""
        return next((folder for folder in self.folders if folder.stage == SENTENCES), None)

    @property
    def parses(self) -> tuple[StageFolder, ...]:
        """All stages but the sentences."""
        return tuple(folder for folder in self.folders if folder.stage != SENTENCES)

    @property
    def read_together(self) -> tuple[StageFolder, ...]:
        """The stages whose columns stand side by side where a row is asked for.

        Embeddings are among them only where they alone were asked for: of one corpus there may be
        many, and a sentence's are more numbers than all else that is known of it.
        """
        if self.is_one_stage:
            return self.folders
        return tuple(folder for folder in self.folders if folder.stage != EMBEDDINGS)

    def numbers_in(self, *folders: StageFolder) -> list[int]:
        """Returns the shards asked for that all of these stages have."""
        shared = set.intersection(*(set(folder.numbers()) for folder in folders))
        return [number for number in sorted(shared) if self.shard in (None, number)]

    def shared_numbers(self) -> list[int]:
        """Returns the shards asked for that every stage has: what can be read side by side.

        Raises:
            ValueError: there is none.
        """
        shared = self.numbers_in(*self.read_together)
        if not shared:
            names = ", ".join(str(folder.path) for folder in self.read_together)
            raise ValueError(f"no shard that all of these have: {names}; `check` says what is gone")
        return shared

    def with_stages(self, names: Sequence[str]) -> Selection:
        """Returns the stages with those folders only that are named, of each kind that is named.

        Args:
            names: of folders, or how they begin; without any all stages stay.

        Raises:
            ValueError: no folder is called so, or several begin so.
        """
        chosen: list[StageFolder] = []
        for name in names:
            is_whole = re.compile(re.escape(name) + "(-[0-9a-f]+)?").fullmatch  # with its digest
            whole = [folder for folder in self.parses if is_whole(folder.path.name)]
            matches = whole or [f for f in self.parses if f.path.name.startswith(name)]
            if len(matches) != 1:
                known = ", ".join(f.path.name for f in matches or self.parses) or "none"
                what = "several stages begin with" if matches else "no stage is called"
                raise ValueError(f"{what} {name!r}; there are {known}")
            chosen += matches
        kinds = {folder.stage for folder in chosen}
        kept = [f for f in self.folders if f.stage not in kinds or f in chosen]
        return replace(self, folders=tuple(kept))


def check_one_of_each(folders: Iterable[StageFolder]) -> None:
    """Refuses several folders of one stage where a row of each stage is asked for.

    Raises:
        ValueError: names them and how to choose.
    """
    of_stage: dict[str, list[Path]] = {}
    for stage, path in folders:
        of_stage.setdefault(stage, []).append(path)
    for stage, paths in of_stage.items():
        if len(paths) > 1:
            names = ", ".join(path.name for path in paths)
            raise ValueError(
                f"{paths[0].parent}: several folders of {stage}: {names}; give the folder of one, "
                f"or choose it with --stage {paths[0].name}"
            )


def select(path: Path) -> Selection:
    """Returns the stages at a path.

    Args:
        path: a folder that holds stages, a stage's folder, or a shard's Parquet file. With a
            parsed stage or shard come the sentences beside it.

    Raises:
        FileNotFoundError: no such path, or no shard under it.
    """
    if not path.exists():
        names = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
        remedy = did_you_mean(path.name, known=names) or "; check the path"
        raise FileNotFoundError(f"{path}: no such file or folder{remedy}")
    is_shard = path.is_file() and path.suffix == ".parquet" and path.stem.isdigit()
    folder = path.parent if is_shard else path
    if stage := _stage_in(folder):
        chosen, beside = StageFolder(stage, folder), folder.absolute().parent / SENTENCES
        comes_along = stage != SENTENCES and beside.is_dir()
        folders = (StageFolder(SENTENCES, beside), chosen) if comes_along else (chosen,)
        return Selection(folders, int(path.stem) if is_shard else None, is_one_stage=True)
    below = [each for each in sorted(path.iterdir()) if each.is_dir()] if path.is_dir() else []
    stages = [StageFolder(stage, each) for each in below if (stage := _stage_in(each))]
    if not stages:
        raise FileNotFoundError(
            f"{path}: no shards here; give a folder with sentences/ in it, a stage's folder, "
            "or a shard such as 00000.parquet"
        )
    return Selection(tuple(sorted(stages, key=lambda stage: list(COLUMNS).index(stage.stage))))


def _stage_in(folder: Path) -> str | None:
    """Returns the stage whose files a folder holds; None for another folder.

    Its name begins so, or a shard that can be read says so.
    """
    stage = folder.absolute().name.partition("-")[0]
    for path in sorted(folder.glob(SHARD_GLOB)) if stage not in COLUMNS else ():
        with suppress(pa.ArrowException, OSError):
            stage = (pq.read_schema(path).metadata or {}).get(STAGE_KEY, b"").decode()
            break
    globs = (SHARD_GLOB, SHARD_MANIFEST_GLOB, MANIFEST_NAME)
    is_stage = stage in COLUMNS and any(any(folder.glob(glob)) for glob in globs)
    return stage if is_stage else None


def read_rows(
    selection: Selection, number: int, *, start: int = 0, count: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yields a shard's rows with their places and the columns of all stages read together.

    Raises:
        FileNotFoundError, ValueError: see `aligned_table`.
    """
    table = aligned_table(selection.read_together, number).slice(start, count)
    for row, columns in enumerate(rows_of(table), start):
        yield {"shard": number, "row": row, **columns}


def rows_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yields a table's rows, of which few are Python's objects at a time."""
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        yield from batch.to_pylist()


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
    folders = selection.folders if columns else selection.read_together
    if selection.is_one_stage:  # without the sentences beside it
        folders = folders[-1:]
    known = list(dict.fromkeys(name for folder in folders for name in COLUMNS[folder.stage]))
    if unknown := [name for name in columns or () if name not in known]:
        raise ValueError(f"{path}: no column {unknown[0]!r}, only {', '.join(known)}")
    if EMBEDDING in (columns or ()):
        check_one_of_each(folder for folder in folders if folder.stage == EMBEDDINGS)
    numbers = sorted({number for folder in folders for number in folder.numbers()})
    wanted = numbers if selection.shard is None else [selection.shard]
    return (aligned_table(folders, number, columns) for number in wanted)


def ask(selection: Selection, sql: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Returns the columns and rows that SQL finds in the table ``corpus``.

    The table has ``shard`` and ``row``, and the columns of all stages. Rows are read from the files
    as they are, while they are asked for: `check` compares checksums.

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

    def rows() -> Iterator[tuple[Any, ...]]:
        with _named_mistakes():
            yield from iter(result.fetchone, None)

    return [str(column[0]) for column in result.description], rows()


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


def _view_of(selection: Selection) -> str:
    """Returns the SQL that lays the shards of all stages side by side, by the place of each row.

    `POSITIONAL JOIN` of files pairs their rows in order and pads what is shorter, so that shards
    must agree in rows one by one.
    """
    check_one_of_each(selection.read_together)
    embeddings = [folder for folder in selection.folders if folder.stage == EMBEDDINGS]
    folders = selection.folders if len(embeddings) == 1 else selection.read_together
    numbers = selection.numbers_in(*folders) or selection.shared_numbers()
    for number in numbers:
        rows: dict[Path, int] = {}
        for path in (shard_path(folder.path, number) for folder in folders):
            with naming_damage(path):
                rows[path] = pq.read_metadata(path).num_rows
        check_same_rows(rows)
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
