"""Tables as streams, whose rows are documents: CSV and TSV, Parquet and Arrow.

Rows are numbered from 1, without a header and blank lines: row 7 of ``a.csv`` is ``a.csv:7``. One
column holds the text. Of Parquet and Arrow, what is before a group of rows is passed over, and a
few rows of it are held at once.
"""

from __future__ import annotations

import csv
import io
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, chain, count
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from treeviews.pipeline.base.refusal import Refusal, excerpt_of
from treeviews.pipeline.text.documents import (
    READ_ERRORS,
    START,
    STEP_BYTES,
    Document,
    Place,
    checked_text,
    damaged,
    places_apart,
    read_lines,
    row_document,
)
from treeviews.pipeline.text.text_files import FileStream, is_compressed
from treeviews.pipeline.text.text_streams import ROW_FACTOR

_ERRORS: tuple[type[Exception], ...] = (pa.ArrowException, ValueError, *READ_ERRORS)
_BATCH_BYTES = 4 << 20
"""Text that is held at once, more or less."""
_BATCH_ROWS = 1024
_BUFFER_BYTES = 1 << 20
_ARROW_FILE = b"ARROW1"
_SHOWN_BYTES = 200


class Row(NamedTuple):
    """One row of a file."""

    number: int
    """1 for the first."""
    text: str | Refusal
    """A refusal's position is the row's, or the file's where it is of all that follows."""


@dataclass(slots=True, eq=False)
class RowStream(FileStream):
    """A file whose rows are documents; a place's number is that of the rows before it."""

    _rest: tuple[int, Iterator[Row]] | None = field(default=None, init=False, repr=False)
    """How many rows were read, and those from there on."""

    @abstractmethod
    def rows(self, before: int) -> Iterator[Row]:
        """Yields the rows in order, from the one behind ``before`` or an earlier one on."""

    def documents(self, begin: Place = START, end: Place | None = None) -> Iterator[Document]:
        """Yields the rows' documents; what cannot be read gives a refusal, and so does no row."""
        rest, self._rest = self._rest, None
        is_next = rest is not None and rest[0] == begin.number
        rows = rest[1] if rest and is_next else self.rows(begin.number)
        is_empty = True
        for row in rows:
            if row.number <= begin.number:
                continue
            if end is not None and row.number > end.number:
                self._rest = end.number, chain([row], rows)
                return
            is_empty = False
            config, limit = self.config, self.config.max_paragraph_characters
            yield row_document(row.text, self.position(row.number), config.paragraphs, limit)
        if is_empty and begin == START and end is None:
            yield Document(self.name, [self.empty])

    def position(self, row: int) -> str:
        """Returns where a row is, in refusals and the names of documents."""
        return f"{self.name}:{row}"

    def no_column(self, columns: list[str]) -> Refusal:
        """Returns what stands for the rows of a file that has no column of text."""
        names = excerpt_of(", ".join(columns))
        detail = (
            f"no column {self.config.text_field!r} among {names}; set text_field to the one that "
            "holds the text"
        )
        return Refusal("missing_text", detail, self.name, names)


class CsvStream(RowStream):
    """A file of comma- or tab-separated rows under a header.

    Between commas, a quoted field may hold line ends. Between tabs a quote is a character like any
    other, and a line is a row.
    """

    @property
    def is_sought(self) -> bool:
        """False: whether a line end is a row's shows from the beginning alone."""
        return False

    def survey(self) -> Iterator[Place]:
        """Yields where rows begin, far enough apart."""
        rows = self.rows(0)
        sizes = (0 if isinstance(text, Refusal) else len(text.encode()) for _, text in rows)
        return places_apart(map(Place, accumulate(sizes), count(1)))

    def rows(self, before: int) -> Iterator[Row]:
        """Yields all rows; what is no row of the header's columns is refused as ``bad_row``."""
        with ExitStack() as opened:
            try:
                stream = self.recoded(self.open(opened))
            except OSError as error:
                yield Row(1, self.unreadable(error))
                return
            records = self._records(stream)
            header = next(records, None)
            if header is None:
                return
            if isinstance(header, Refusal):
                yield Row(1, replace(header, position=header.position or self.name))
            elif self.config.text_field not in header:
                yield Row(1, self.no_column(header))
            else:
                place = header.index(self.config.text_field)
                for number, record in enumerate(records, start=1):
                    yield Row(number, self._text(record, number, place, len(header)))

    @property
    def _has_tabs(self) -> bool:
        return self.config.format_of(self.file.path) == "tsv"

    def _records(self, stream: io.BufferedReader) -> Iterator[list[str] | Refusal]:
        """Yields the fields of each record, header first; in the place of damaged lines, these.

        A quote that is not closed takes further lines to its record, and all of them are refused.
        """
        limit = self.config.max_paragraph_characters * ROW_FACTOR
        csv.field_size_limit(max(csv.field_size_limit(), limit))
        refused: list[Refusal] = []

        def texts() -> Iterator[str]:
            for line in read_lines(
                stream, self.name, encoding=self.config.codec, max_characters=limit
            ):
                if isinstance(line, Refusal):
                    refused.append(line)
                yield "" if isinstance(line, Refusal) else f"{line.text}\n"

        records = csv.reader(
            texts(),
            delimiter="\t" if self._has_tabs else ",",
            quoting=csv.QUOTE_NONE if self._has_tabs else csv.QUOTE_MINIMAL,
            strict=True,
        )
        record: list[str] | None = []
        while record is not None:
            first, fault = records.line_num + 1, ""
            try:
                record = next(records, None)
            except csv.Error as error:
                fault = f"lines {first:,} to {records.line_num:,}: {error}; mend the quotes"
            if refused:
                yield from refused
                refused.clear()
            elif fault:
                yield Refusal("bad_row", fault)
            elif record:
                yield record

    def _text(
        self, record: list[str] | Refusal, number: int, place: int, num_columns: int
    ) -> str | Refusal:
        position = self.position(number)
        if isinstance(record, Refusal):
            where = f"{record.position}: " if record.position else ""
            return replace(record, position=position, detail=where + record.detail)
        excerpt = excerpt_of(",".join(record[:num_columns]))
        if len(record) == num_columns:
            return checked_text(record[place], position, self.config.text_field, excerpt)
        remedy = "take tabs and line ends out of" if self._has_tabs else "quote"
        detail = f"{len(record)} fields under a header of {num_columns}; {remedy} the text"
        return Refusal("bad_row", detail, position, excerpt)


@dataclass(frozen=True, slots=True)
class _Group:
    """Rows that a file holds together."""

    num_rows: int
    num_bytes: int
    """Of text, by what the file says."""
    arrays: Callable[[int], Iterator[pa.Array]]
    """Yields the column of text, no more than so many rows at once."""


class TableStream(RowStream):
    """A Parquet or Arrow file. Text in it is UTF-8."""

    @property
    def is_sought(self) -> bool:
        """True: what is before a group of rows is passed over."""
        return True

    def survey(self) -> Iterator[Place]:
        """Yields where rows begin, far enough apart, by what the file says of its groups."""
        return places_apart(self._places())

    def _places(self) -> Iterator[Place]:
        """Yields where rows begin, as if all of a group were of one length.

        Where it cannot be read on, that is its end.
        """
        num_rows = num_bytes = 0
        with suppress(*_ERRORS):
            groups = self._groups()
            for group in () if isinstance(groups, Refusal) else groups:
                rows, size = group.num_rows, group.num_bytes
                step = max(1, math.ceil(rows * STEP_BYTES / size)) if size > STEP_BYTES else rows
                for row in (*range(step, rows, step or 1), rows):
                    yield Place(num_bytes + size * row // max(rows, 1), num_rows + row)
                num_rows, num_bytes = num_rows + rows, num_bytes + size

    def rows(self, before: int) -> Iterator[Row]:
        """Yields the rows from the beginning of the group on that holds the wanted one.

        The first of a group that cannot be read stands for all after it in the group.
        """
        row = 0
        try:
            groups = self._groups()
            if isinstance(groups, Refusal):
                yield Row(1, groups)
                return
            for group in groups:
                if row + group.num_rows > before:
                    yield from self._rows_in(group, row)
                row += group.num_rows
        except _ERRORS as error:
            yield Row(row + 1, damaged(self.position(row + 1) if row else self.name, error))

    def _rows_in(self, group: _Group, before: int) -> Iterator[Row]:
        row = before
        share = math.ceil(group.num_rows * _BATCH_BYTES / max(group.num_bytes, 1))
        try:
            for array in group.arrays(min(share, _BATCH_ROWS)):
                for value in _values(array):
                    row += 1
                    yield Row(row, self._text(value, self.position(row)))
        except _ERRORS as error:
            yield Row(row + 1, damaged(self.position(row + 1), error))

    def _text(self, value: bytes | None, position: str) -> str | Refusal:
        try:
            text = None if value is None else value.decode("utf-8")
        except UnicodeDecodeError:
            shown = (value or b"")[:_SHOWN_BYTES].decode("utf-8", "replace")
            return Refusal("undecodable", "bytes that are not utf-8; mend the row", position, shown)
        return checked_text(text, position, self.config.text_field, "")

    def _groups(self) -> Iterator[_Group] | Refusal:
        """Returns the groups of rows, or why there are none."""
        path = self.file.path
        try:
            with path.open("rb") as stream:
                start = stream.read(len(_ARROW_FILE))
        except OSError as error:
            return self.unreadable(error)
        if not start:
            return self.empty
        if is_compressed(path):
            detail = "a Parquet or Arrow file that was compressed again; unpack it"
            return Refusal("damaged_file", detail, self.name)
        if self.config.format_of(path) == "parquet":
            file = pq.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)
            schema, groups = file.schema_arrow, _parquet_groups(file, self.config.text_field)
        else:
            schema, groups = _arrow_groups(
                path, self.config.text_field, is_file=start == _ARROW_FILE
            )
        return self._no_text_in(schema) or groups

    def _no_text_in(self, schema: pa.Schema) -> Refusal | None:
        """Returns why a table has no text, if it has none."""
        wanted = self.config.text_field
        if schema.names.count(wanted) != 1:
            return self.no_column(schema.names)
        kind = schema.field(wanted).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if kind in (
            pa.string(),
            pa.large_string(),
            pa.string_view(),
            pa.binary(),
            pa.large_binary(),
        ):
            return None
        detail = f"column {wanted!r} holds {kind} and no text; set text_field to the one that does"
        return Refusal("missing_text", detail, self.name)


def _parquet_groups(file: pq.ParquetFile, column: str) -> Iterator[_Group]:
    names = [file.schema.column(place).path for place in range(len(file.schema))]
    place = names.index(column)

    def arrays(number: int, at_once: int) -> Iterator[pa.Array]:
        for batch in file.iter_batches(
            at_once, row_groups=[number], columns=[column], use_threads=False
        ):
            yield batch.column(0)

    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        num_bytes = group.column(place).total_uncompressed_size
        yield _Group(group.num_rows, num_bytes, partial(arrays, number))


def _arrow_groups(path: Path, column: str, *, is_file: bool) -> tuple[pa.Schema, Iterator[_Group]]:
    """Returns the schema and the record batches, mapped into memory."""

    def arrays(array: pa.Array, at_once: int) -> Iterator[pa.Array]:
        return (array.slice(start, at_once) for start in range(0, len(array), at_once))

    mapped = pa.memory_map(str(path))
    file = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(mapped)
    batches = map(file.get_batch, range(file.num_record_batches)) if is_file else file
    texts = (batch.column(column) for batch in batches)
    return file.schema, (_Group(len(t), int(t.nbytes), partial(arrays, t)) for t in texts)


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
