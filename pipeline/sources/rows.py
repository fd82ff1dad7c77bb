"""Files of rows, each of which is a document: lines of JSON, and CSV.

Rows are numbered from 1, without a header and blank lines: row 7 of ``a.csv`` is ``a.csv:7``. A row
of JSON is a line, and has the line's number.
"""

from __future__ import annotations

import csv
import io
import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

from pipeline.base.refusal import Refusal, excerpt_of
from pipeline.sources.opened_file import ROW_FACTOR, FilesConfig, FileStream
from pipeline.sources.paragraphs import Document, Line, ParagraphMode, paragraphs_of, read_lines
from pipeline.sources.streams import START, Place, places_between


def text_document(text: str, position: str, mode: ParagraphMode, max_characters: int) -> Document:
    """Returns a text that stands in one piece as a document.

    A paragraph's position is the document's and the line in the text, as ``a.jsonl:3:1``.

    Args:
        position: of the text, and the document's name.
        mode, max_characters: of the text's paragraphs; see `paragraphs_of`.
    """
    lines = (
        Line(number, line.rstrip("\n"))
        for number, line in enumerate(io.StringIO(text, newline=None), start=1)
    )
    return Document(position, paragraphs_of(lines, position, mode, max_characters=max_characters))


def checked_text(value: Any, position: str, text_field: str, excerpt: str) -> str | Refusal:
    """Returns the text in a row's field, or why there is none.

    Args:
        value: what the field holds.
        excerpt: of the row.
    """
    if not isinstance(value, str):
        detail = f"no text in field {text_field!r}; set text_field to the field that holds it"
        return Refusal("missing_text", detail, position, excerpt)
    if not value.strip():
        return Refusal("empty_text", f"field {text_field!r} is empty", position, excerpt)
    return value


def json_documents(
    lines: Iterable[Line | Refusal],
    name: str,
    text_field: str,
    mode: ParagraphMode,
    max_characters: int,
) -> Iterator[Document]:
    """Yields one document a line of JSON; blank lines are passed over.

    A line that is no JSON object (``bad_json``), or has no text in its field (``missing_text``,
    ``empty_text``), gives a document of one refusal.

    Args:
        name: names the file in positions.
        text_field: of the objects, that holds the text.
        mode, max_characters: of the text's paragraphs; see `paragraphs_of`.
    """
    for line in lines:
        if isinstance(line, Refusal):
            yield Document(line.position, [line])
        elif line.text.strip():
            position = f"{name}:{line.number}"
            text = _json_text(line.text, position, text_field)
            if isinstance(text, Refusal):
                yield Document(position, [text])
            else:
                yield text_document(text, position, mode, max_characters)


def _json_text(line: str, position: str, text_field: str) -> str | Refusal:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of 5,000 digits
        return Refusal("bad_json", f"not JSON ({error}); mend the line", position, excerpt_of(line))
    text = value.get(text_field) if isinstance(value, dict) else None
    return checked_text(text, position, text_field, excerpt_of(line))


class Row(NamedTuple):
    """One row of a file."""

    number: int
    """1 for the first."""
    text: str | Refusal
    """A refusal's position is the row's, or the file's where it is of all that follows."""


@dataclass(slots=True, eq=False)
class RowStream(FileStream):
    """A file whose rows are documents; a place's number is that of the rows before it."""

    _left_at: tuple[int, Iterator[Row]] | None = field(default=None, init=False, repr=False)
    """How many rows were read, and those from there on."""

    @abstractmethod
    def rows(self, before: int) -> Iterator[Row]:
        """Yields the rows in order, from the one behind ``before`` or an earlier one on."""

    def documents(self, begin: Place = START, end: Place | None = None) -> Iterator[Document]:
        """Yields the rows' documents; what cannot be read gives a refusal, and so does no row."""
        left_at, self._left_at = self._left_at, None
        is_next = left_at is not None and left_at[0] == begin.number
        rows = left_at[1] if left_at and is_next else self.rows(begin.number)
        is_empty = True
        for row in rows:
            if row.number <= begin.number:
                continue
            if end is not None and row.number > end.number:
                self._left_at = end.number, chain([row], rows)
                return
            is_empty = False
            yield self._document(row)
        if is_empty and begin == START and end is None:
            yield Document(self.name, [self.empty])

    def _document(self, row: Row) -> Document:
        if isinstance(row.text, Refusal):
            return Document(row.text.position, [row.text])
        config = self.config
        position = f"{self.name}:{row.number}"
        limit = config.max_paragraph_characters
        return text_document(row.text, position, config.paragraphs, limit)


class CsvStream(RowStream):
    """A file of comma- or tab-separated rows under a header; quoted fields may hold line ends."""

    @property
    def is_sought(self) -> bool:
        """False: whether a line end is a row's shows from the beginning alone."""
        return False

    def survey(self) -> Iterator[Place]:
        """Yields where rows begin, far enough apart."""
        texts = (row.text for row in self.rows(0))
        return places_between(0 if isinstance(text, Refusal) else _size(text) for text in texts)

    def rows(self, before: int) -> Iterator[Row]:
        """Yields all rows.

        What is no row of the header's columns is refused as ``bad_row``.
        """
        with ExitStack() as opened:
            try:
                stream = self.opened(opened)
            except OSError as error:
                yield Row(1, self.unreadable(error))
                return
            limit = self.config.max_paragraph_characters * ROW_FACTOR
            lines = read_lines(
                stream,
                self.name,
                encoding=self.config.encoding,
                is_recoded=self.is_recoded,
                max_characters=limit,
            )
            csv.field_size_limit(max(csv.field_size_limit(), limit))
            yield from self._rows_of(_records(lines, self._delimiter))

    @property
    def _delimiter(self) -> str:
        return "\t" if self.config.format_of(self.file.path) == "tsv" else ","

    def _rows_of(self, records: Iterator[list[str] | Refusal]) -> Iterator[Row]:
        header = next(records, None)
        if header is None:
            return
        wanted = self.config.text_field
        if isinstance(header, Refusal):
            yield Row(1, replace(header, position=header.position or self.name))
        elif wanted not in header:
            yield Row(1, no_such_column(self.name, wanted, header))
        else:
            place = header.index(wanted)
            for number, record in enumerate(records, start=1):
                position = f"{self.name}:{number}"
                yield Row(number, _text_of(record, position, place, len(header), self.config))


def no_such_column(name: str, wanted: str, columns: Iterable[str]) -> Refusal:
    """Returns what stands for the rows of a file that has no column of text."""
    found = ", ".join(columns)
    detail = f"no column {wanted!r}; set text_field to the one that holds the text"
    return Refusal("missing_text", detail, name, excerpt_of(found))


def _text_of(
    record: list[str] | Refusal, position: str, place: int, num_columns: int, config: FilesConfig
) -> str | Refusal:
    if isinstance(record, Refusal):
        where = f"{record.position}: " if record.position else ""
        return replace(record, position=position, detail=where + record.detail)
    excerpt = excerpt_of(",".join(record[:num_columns]))
    if len(record) != num_columns:
        detail = f"{len(record)} fields under a header of {num_columns}; quote the text"
        return Refusal("bad_row", detail, position, excerpt)
    return checked_text(record[place], position, config.text_field, excerpt)


def _records(lines: Iterable[Line | Refusal], delimiter: str) -> Iterator[list[str] | Refusal]:
    """Yields the fields of each record; in the place of one with damaged lines, these."""
    damaged: list[Refusal] = []

    def feed() -> Iterator[str]:
        for line in lines:
            if isinstance(line, Refusal):
                damaged.append(line)
                yield ""
            else:
                yield f"{line.text}\n"

    reader = csv.reader(feed(), delimiter=delimiter, strict=True)
    record: list[str] | Refusal | None = []
    while record is not None:
        try:
            record = next(reader, None)
        except csv.Error as error:
            record = Refusal("bad_row", f"no row ({error}); mend its quotes")
        if damaged:
            yield from damaged
            damaged.clear()
        elif record:
            yield record


def _size(text: str) -> int:
    with suppress(UnicodeEncodeError):
        return len(text) if text.isascii() else len(text.encode())
    return len(text)
