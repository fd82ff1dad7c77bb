"""Files of Parquet and Arrow whose rows are documents, one column of which holds their text.

Text in them is UTF-8. A row group or record batch is cut at rows, a few of which are held at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.base.refusal import Refusal
from pipeline.sources.file_list import is_compressed
from pipeline.sources.rows import Row, RowStream, checked_text, no_such_column
from pipeline.sources.streams import START, STEP_BYTES, Place

_ERRORS: tuple[type[Exception], ...] = (pa.ArrowException, OSError, ValueError)
_BATCH_BYTES = 4 << 20
"""Text that is held at once, more or less."""
_BATCH_ROWS = 1024
_BUFFER_BYTES = 1 << 20
_ARROW_FILE = b"ARROW1"
_SHOWN_CHARACTERS = 200


class _NoTextError(Exception):
    """The file has no column of text."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class _Group:
    """Rows that a file holds together."""

    num_rows: int
    num_bytes: int
    """Of text, by what the file says."""
    arrays: Callable[[int], Iterator[pa.Array]]
    """Yields the column of text, no more than so many rows at once."""


class TableStream(RowStream):
    """A Parquet or Arrow file."""

    @property
    def is_sought(self) -> bool:
        """True: what is before a group of rows is passed over."""
        return True

    def survey(self) -> Iterator[Place]:
        """Yields where rows begin, far enough apart, by what the file says of its groups."""
        groups: Iterator[_Group] = iter(())
        with suppress(_NoTextError, *_ERRORS):
            groups = self._groups()
        yield from _places(groups)

    def rows(self, before: int) -> Iterator[Row]:
        """Yields the rows from the beginning of the group on that holds the wanted one."""
        first = 0
        try:
            for group in self._groups():
                if first + group.num_rows > before:
                    yield from self._rows_in(group, first)
                first += group.num_rows
        except _NoTextError as error:
            yield Row(1, error.refusal)
        except _ERRORS as error:
            position = f"{self.name}:{first + 1}" if first else self.name
            yield Row(first + 1, _damaged(position, error))

    def _rows_in(self, group: _Group, first: int) -> Iterator[Row]:
        """Yields the rows of a group; the first that cannot be read stands for all after it."""
        row = first
        share = math.ceil(group.num_rows * _BATCH_BYTES / max(group.num_bytes, 1))
        try:
            for array in group.arrays(min(share, _BATCH_ROWS)):
                for value in _bytes_in(array):
                    row += 1
                    position = f"{self.name}:{row}"
                    yield Row(row, _text_of(value, position, self.config.text_field))
        except _ERRORS as error:
            yield Row(row + 1, _damaged(f"{self.name}:{row + 1}", error))

    def _groups(self) -> Iterator[_Group]:
        path = self.file.path
        try:
            with path.open("rb") as stream:
                start = stream.read(len(_ARROW_FILE))
        except OSError as error:
            raise _NoTextError(self.unreadable(error)) from error
        if not start:
            raise _NoTextError(self.empty)
        if is_compressed(path):
            detail = "a Parquet or Arrow file that was compressed again; unpack it"
            raise _NoTextError(Refusal("damaged_file", detail, self.name))
        if self.config.format_of(path) == "parquet":
            file = pq.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)
            self._check_column(file.schema_arrow)
            return _parquet_groups(file, self.config.text_field)
        batches, schema = _arrow_batches(path, is_file=start == _ARROW_FILE)
        self._check_column(schema)
        place = schema.get_field_index(self.config.text_field)
        return (_group_of(batch.column(place)) for batch in batches)

    def _check_column(self, schema: pa.Schema) -> None:
        wanted = self.config.text_field
        if schema.names.count(wanted) != 1:
            raise _NoTextError(no_such_column(self.name, wanted, schema.names))
        kind = schema.field(wanted).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        kinds = {pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()}
        if kind not in kinds:
            detail = (
                f"column {wanted!r} holds {kind} and no text; set text_field to the one that does"
            )
            raise _NoTextError(Refusal("missing_text", detail, self.name))


def _parquet_groups(file: pq.ParquetFile, column: str) -> Iterator[_Group]:
    paths = [file.schema.column(place).path for place in range(len(file.schema))]
    place = paths.index(column)

    def arrays(number: int, at_once: int) -> Iterator[pa.Array]:
        for batch in file.iter_batches(
            at_once, row_groups=[number], columns=[column], use_threads=False
        ):
            yield batch.column(0)

    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        num_bytes = group.column(place).total_uncompressed_size
        yield _Group(group.num_rows, num_bytes, partial(arrays, number))


def _group_of(array: pa.Array) -> _Group:
    def arrays(at_once: int) -> Iterator[pa.Array]:
        return (array.slice(start, at_once) for start in range(0, len(array), at_once))

    return _Group(len(array), int(array.nbytes), arrays)


def _arrow_batches(path: Path, *, is_file: bool) -> tuple[Iterator[Any], pa.Schema]:
    """Returns the record batches, mapped into memory, and their schema."""
    mapped = pa.memory_map(str(path))
    if not is_file:
        stream = pa.ipc.open_stream(mapped)
        return iter(stream), stream.schema
    file = pa.ipc.open_file(mapped)
    return map(file.get_batch, range(file.num_record_batches)), file.schema


def _bytes_in(array: pa.Array) -> list[bytes | None]:
    """Returns the values, checked: a damaged file's may point out of its bytes.

    Raises:
        pa.ArrowException: they do, or a string is not UTF-8.
    """
    array.validate(full=True)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    values: list[bytes | None] = array.cast(pa.large_binary()).to_pylist()
    return values


def _damaged(position: str, error: Exception) -> Refusal:
    said = " ".join(str(error).split())[:_SHOWN_CHARACTERS]
    detail = f"rows that cannot be read from here on ({said}); make or fetch the file again"
    return Refusal("damaged_file", detail, position)


def _text_of(value: bytes | None, position: str, column: str) -> str | Refusal:
    try:
        text = None if value is None else value.decode("utf-8")
    except UnicodeDecodeError:
        shown = (value or b"")[:_SHOWN_CHARACTERS].decode("utf-8", "replace")
        return Refusal("undecodable", "bytes that are not utf-8; mend the row", position, shown)
    return checked_text(text, position, column, "")


def _places(groups: Iterable[_Group]) -> Iterator[Place]:
    """Yields where rows begin, as if all of a group were of one length.

    Where it cannot be read on, that is its end.
    """
    last = START
    num_rows = num_bytes = 0
    with suppress(*_ERRORS):
        for group in groups:
            rows, size = group.num_rows, group.num_bytes
            step = max(1, math.ceil(rows * STEP_BYTES / size)) if size > STEP_BYTES else rows
            for row in (*range(step, rows, step or 1), rows):
                place = Place(num_bytes + size * row // max(rows, 1), num_rows + row)
                if place.offset - last.offset >= STEP_BYTES:
                    last = place
                    yield place
            num_rows, num_bytes = num_rows + rows, num_bytes + size
    if last == START or last.number != num_rows:
        yield Place(num_bytes, num_rows) if num_rows else START
