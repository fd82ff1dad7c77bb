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
from pipeline.sources.opened_file import ROW_FACTOR, FileStream
from pipeline.sources.paragraphs import (
    Document,
    Line,
    ParagraphMode,
    TextPosition,
    paragraphs_of,
    read_lines,
)
from pipeline.sources.streams import START, Place, places_between


def text_document(text: str, position: str, mode: ParagraphMode, max_characters: int) -> Document:
    """Returns a text that stands in one piece as a document.

    A paragraph's position is the document's and the line in the text, as ``a.jsonl:3:1``.

    Args:
        position: of the text, and the document's name.
        mode, max_characters: of the text's paragraphs; see `paragraphs_of`.
    """
    lines = _lines_of(text)
    return Document(position, paragraphs_of(lines, position, mode, max_characters=max_characters))


def _lines_of(text: str) -> Iterator[Line]:
    at = TextPosition()
    for line in io.StringIO(text, newline=""):
        content = line.rstrip("\r\n")
        yield Line(at.lines + 1, content, at.characters, line[len(content) :])
        at.advance(len(line))


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
            yield from self._rows_of(_records(lines, has_tabs=self._has_tabs))

    @property
    def _has_tabs(self) -> bool:
        return self.config.format_of(self.file.path) == "tsv"

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
                yield Row(number, self._text_of(record, position, place, len(header)))

    def _text_of(
        self, record: list[str] | Refusal, position: str, place: int, num_columns: int
    ) -> str | Refusal:
        if isinstance(record, Refusal):
            where = f"{record.position}: " if record.position else ""
            return replace(record, position=position, detail=where + record.detail)
        excerpt = excerpt_of(",".join(record[:num_columns]))
        if len(record) == num_columns:
            return checked_text(record[place], position, self.config.text_field, excerpt)
        num_lines = 1 + sum(value.count("\n") for value in record)
        within = f" in {num_lines:,} lines" if num_lines > 1 else ""
        remedy = "take tabs and line ends out of" if self._has_tabs else "quote"
        detail = f"{len(record)} fields{within} under a header of {num_columns}; {remedy} the text"
        return Refusal("bad_row", detail, position, excerpt)


def no_such_column(name: str, wanted: str, columns: Iterable[str]) -> Refusal:
    """Returns what stands for the rows of a file that has no column of text."""
    found = excerpt_of(", ".join(columns))
    detail = f"no column {wanted!r} among {found}; set text_field to the one that holds the text"
    return Refusal("missing_text", detail, name, found)


def _records(lines: Iterable[Line | Refusal], *, has_tabs: bool) -> Iterator[list[str] | Refusal]:
    """Yields the fields of each record, header first; in the place of damaged lines, these.

    A quote that is not closed takes further lines to its record, and all of them are refused.

    Args:
        lines: of the file.
        has_tabs: rather than commas and quotes.
    """
    held: list[Line | Refusal] = []
    records = csv.reader(
        _texts(lines, held),
        delimiter="\t" if has_tabs else ",",
        quoting=csv.QUOTE_NONE if has_tabs else csv.QUOTE_MINIMAL,
        strict=True,
    )
    record: list[str] | None = []
    while record is not None:
        held.clear()
        fault = ""
        try:
            record = next(records, None)
        except csv.Error as error:
            fault = str(error)
        if damaged := [line for line in held if isinstance(line, Refusal)]:
            yield from damaged
        elif fault:
            yield _no_row([line for line in held if isinstance(line, Line)], fault)
        elif record:
            yield record


def _texts(lines: Iterable[Line | Refusal], held: list[Line | Refusal]) -> Iterator[str]:
    """Yields the lines' texts, and holds the lines until somebody takes them away."""
    for line in lines:
        held.append(line)
        yield "" if isinstance(line, Refusal) else f"{line.text}\n"


def _no_row(lines: list[Line], fault: str) -> Refusal:
    first, last = lines[0].number, lines[-1].number
    where = f"line {first}" if first == last else f"lines {first:,} to {last:,}"
    detail = f"{where}: no row ({fault}); mend its quotes"
    return Refusal("bad_row", detail, excerpt=excerpt_of(lines[0].text))


def _size(text: str) -> int:
    with suppress(UnicodeEncodeError):
        return len(text) if text.isascii() else len(text.encode())
    return len(text)
