"""Tables as streams, whose rows are documents: CSV and TSV, Parquet and Arrow.

Rows are numbered from 1, without a header and blank lines: row 7 of ``a.csv`` is ``a.csv:7``. One
column holds the text. Of Parquet and Arrow, what is before a group of rows is passed over, and a
few rows of it are held at once.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from treeviews.pipeline.base.refusal import Refusal, excerpt_of
from treeviews.pipeline.text import documents
from treeviews.pipeline.text.documents import START, Place
from treeviews.pipeline.text.text_files import is_compressed
from treeviews.pipeline.text.text_lines import (
    READ_ERRORS,
    Line,
    TextName,
    binary,
    checked_text,
    damaged,
    empty,
    giant,
    is_binary,
    undecodable,
)
from treeviews.pipeline.text.text_streams import ROW_FACTOR, FileStream

_ERRORS: tuple[type[Exception], ...] = (pa.ArrowException, ValueError, *READ_ERRORS)
_BATCH_ROWS, _BATCH_BYTES = 512, 4 << 20
"""Rows whose text is held at once, of long texts fewer."""
_BUFFER_BYTES = 1 << 20
_ARROW_FILE = b"ARROW1"
_SHOWN_BYTES = 200
_TEXT_TYPES = pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()


class RowStream(FileStream):
    """A file whose rows are documents; a place's number is that of the rows before it."""

    holds_rows = True
    _order = attrgetter("number")

    def row(self, before: int, text: str | Refusal) -> Line:
        """Returns a row behind so many."""
        return Line(TextName(self.position(before)), Place(0, before), text)

    def position(self, before: int) -> str:
        """Returns where the row behind so many is, in refusals and the names of documents."""
        return f"{self.name}:{before + 1}"

    def no_column(self, columns: list[str]) -> Line:
        """Returns what stands for the rows of a file that has no column of text."""
        names = excerpt_of(", ".join(columns))
        detail = (
            f"no column {self.config.text_field!r} among {names}; set text_field to the one that "
            "holds the text"
        )
        return self.refused(Refusal("missing_text", detail, self.name, names))


class CsvStream(RowStream):
    """A file of comma- or tab-separated rows under a header.

    Between commas, a quoted field may hold line ends. Between tabs a quote is a character like any
    other, and a line is a row. A line longer than a document may be costs its row.
    """

    def places(self) -> Iterator[Place]:
        """Yields where rows begin."""
        offset = 0
        for line in self.lines(START):
            offset += 0 if isinstance(line.text, Refusal) else len(line.text.encode())
            yield Place(offset, line.before.number + 1)

    def lines_in(self, stream: io.BufferedReader, begin: Place) -> Iterator[Line]:
        """Yields all rows; what is no row of the header's columns is refused as ``bad_row``.

        A quote that is not closed takes further lines to its record, and all of them are refused.
        """
        header: list[str] | None = None
        before = 0
        try:
            if is_binary(stream, self.config):
                yield self.refused(binary(self.name))
                return
            for record in self._records(stream):
                if header is not None:
                    yield self.row(before, self._text(record, header, self.position(before)))
                    before += 1
                elif isinstance(record, Refusal):
                    yield self.refused(record)
                    return
                elif self.config.text_field not in record:
                    yield self.no_column(record)
                    return
                else:
                    header = record
        except READ_ERRORS as error:
            position = self.position(before) if header else self.name
            yield self.row(before, damaged(position, error))

    def _records(self, stream: io.BufferedReader) -> Iterator[list[str] | Refusal]:
        """Yields the fields of each record, header first; in the place of damaged lines, why."""
        limit = self.config.max_paragraph_characters * ROW_FACTOR
        csv.field_size_limit(max(csv.field_size_limit(), limit))
        has_tabs = self.format == "tsv"
        text = io.TextIOWrapper(stream, self.config.encoding, "surrogateescape")
        refused: list[Refusal] = []  # of the record's lines
        records = csv.reader(
            self._lines(text, limit, refused),
            delimiter="\t" if has_tabs else ",",
            quoting=csv.QUOTE_NONE if has_tabs else csv.QUOTE_MINIMAL,
            strict=True,
        )
        while True:
            first = records.line_num + 1
            refused.clear()
            try:
                record = next(records)
                if item := refused[0] if refused else record:
                    yield item
            except csv.Error as error:
                lines = f"lines {first:,} to {records.line_num:,}"
                yield Refusal("bad_row", f"{lines}: {error}; mend the quotes", self.name)
            except StopIteration:
                return

    def _lines(self, text: io.TextIOWrapper, most: int, refused: list[Refusal]) -> Iterator[str]:
        """Yields the lines; an empty one for one of more characters, whose refusal it appends."""
        mark = "\ufeff"  # of the byte order, which few codecs take away
        while line := text.readline(most + 1).removeprefix(mark):
            mark = ""
            if refusal := giant(line.removesuffix("\n"), self.name, most):
                refused.append(refusal)
                while line and not line.endswith("\n"):
                    line = text.readline(most)
            yield "" if refusal else line

    def _text(self, record: list[str] | Refusal, header: list[str], position: str) -> str | Refusal:
        if isinstance(record, Refusal):
            return replace(record, position=position)
        excerpt = excerpt_of(",".join(record[: len(header)]))
        if len(record) == len(header):
            field = self.config.text_field
            value = record[header.index(field)]
            return undecodable(value, position) or checked_text(value, position, field, excerpt)
        remedy = "take tabs and line ends out of" if self.format == "tsv" else "quote"
        detail = f"{len(record)} fields under a header of {len(header)}; {remedy} the text"
        return Refusal("bad_row", detail, position, excerpt)


class _Group(NamedTuple):
    """Rows that a file holds together."""

    num_rows: int
    num_bytes: int
    """Of text, by what the file says."""
    arrays: Iterator[pa.Array]
    """The column of text, `_rows_at_once`."""


class TableStream(RowStream):
    """A Parquet or Arrow file. Text in it is UTF-8."""

    is_sought = True

    def places(self) -> Iterator[Place]:
        """Yields where rows begin, as if all of a group were of one length.

        Where it cannot be read on, that is its end.
        """
        num_rows = num_bytes = 0
        with suppress(*_ERRORS):
            groups = self._groups()
            for rows, size, _ in () if isinstance(groups, Line) else groups:
                step = math.ceil(rows * documents.STEP_BYTES / max(size, documents.STEP_BYTES)) or 1
                for row in (*range(step, rows, step), rows):
                    yield Place(num_bytes + size * row // max(rows, 1), num_rows + row)
                num_rows, num_bytes = num_rows + rows, num_bytes + size

    def lines_in(self, stream: io.BufferedReader, begin: Place) -> Iterator[Line]:
        """Yields the rows from the beginning of the group on that holds the wanted one.

        The first of a group that cannot be read stands for all after it in the group.
        """
        row = 0
        try:
            groups = self._groups()
            if isinstance(groups, Line):
                yield groups
                return
            for group in groups:
                if row + group.num_rows > begin.number:
                    yield from self._rows_in(group, row)
                row += group.num_rows
        except _ERRORS as error:
            yield self.row(row, damaged(self.position(row) if row else self.name, error))

    def _rows_in(self, group: _Group, row: int) -> Iterator[Line]:
        try:
            for value in chain.from_iterable(map(_values, group.arrays)):
                yield self.row(row, self._text(value, self.position(row)))
                row += 1
        except _ERRORS as error:
            yield self.row(row, damaged(self.position(row), error))

    def _text(self, value: bytes | None, position: str) -> str | Refusal:
        try:
            text = None if value is None else value.decode("utf-8")
        except UnicodeDecodeError:
            shown = (value or b"")[:_SHOWN_BYTES].decode("utf-8", "replace")
            return Refusal("undecodable", "bytes that are not utf-8; mend the row", position, shown)
        return checked_text(text, position, self.config.text_field, "")

    def _groups(self) -> Iterator[_Group] | Line:
        """Returns the groups of rows, or why there are none."""
        path, column = self.file.path, self.config.text_field
        with path.open("rb") as stream:
            start = stream.read(len(_ARROW_FILE))
        if not start:
            return self.refused(empty(self.name))
        if is_compressed(path):
            detail = "a Parquet or Arrow file that was compressed again; unpack it"
            return self.refused(Refusal("damaged_file", detail, self.name))
        if self.format == "parquet":
            file = pq.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)
            schema, groups = file.schema_arrow, _parquet_groups(file, column)
        else:
            schema, groups = _arrow_groups(path, column, is_file=start == _ARROW_FILE)
        if schema.names.count(column) != 1:
            return self.no_column(schema.names)
        kind = schema.field(column).type
        if (kind.value_type if pa.types.is_dictionary(kind) else kind) in _TEXT_TYPES:
            return groups
        detail = f"column {column!r} holds {kind} and no text; set text_field to the one that does"
        return self.refused(Refusal("missing_text", detail, self.name))


def _rows_at_once(num_rows: int, num_bytes: int) -> int:
    return min(math.ceil(num_rows * _BATCH_BYTES / max(num_bytes, 1)) or 1, _BATCH_ROWS)


def _parquet_groups(file: pq.ParquetFile, column: str) -> Iterator[_Group]:
    names = [file.schema.column(place).path for place in range(len(file.schema))]
    place = names.index(column)

    def arrays(number: int, at_once: int) -> Iterator[pa.Array]:
        options = {"row_groups": [number], "columns": [column], "use_threads": False}
        for batch in file.iter_batches(at_once, **options):
            yield batch.column(0)

    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        rows, size = group.num_rows, group.column(place).total_uncompressed_size
        yield _Group(rows, size, arrays(number, _rows_at_once(rows, size)))


def _arrow_groups(path: Path, column: str, *, is_file: bool) -> tuple[pa.Schema, Iterator[_Group]]:
    """Returns the schema and the record batches, mapped into memory."""

    def group(text: pa.Array) -> _Group:
        at_once = _rows_at_once(len(text), size := int(text.nbytes))
        starts = range(0, len(text), at_once)
        return _Group(len(text), size, (text.slice(start, at_once) for start in starts))

    mapped = pa.memory_map(str(path))
    file = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(mapped)
    batches = map(file.get_batch, range(file.num_record_batches)) if is_file else file
    return file.schema, (group(batch.column(column)) for batch in batches)


def _values(array: pa.Array) -> list[bytes | None]:
    """Returns the values, checked: a damaged file's may point out of its bytes.

    Raises:
        pa.ArrowException: they do, or a string is not UTF-8.
    """
    array.validate(full=True)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    values: list[bytes | None] = array.cast(pa.large_binary()).to_pylist()
    return values
