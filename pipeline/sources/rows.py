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
            yield from self._rows_of(iter(_Records(lines, limit, has_tabs=self._has_tabs)))

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


class _Records:
    """The fields of each record, header first; in the place of one with damaged lines, these.

    A quote that is not closed takes further lines to its record, and may end far from where it
    began. Where the line after the first is a row by itself, so is each such line among them.
    Records are read on behind them, or at the last one where a record with line ends begins there.

    Args:
        lines: of the file.
        max_characters: no more of a record is ever held.
        has_tabs: rather than commas and quotes.
    """

    def __init__(
        self, lines: Iterable[Line | Refusal], max_characters: int, *, has_tabs: bool
    ) -> None:
        self._lines = iter(lines)
        self._max_characters = max_characters
        self._has_tabs = has_tabs
        self._num_columns = 0
        self._held: list[Line | Refusal] = []
        """Lines of the record that is being read."""
        self._again: list[Line | Refusal] = []
        """A line of the record before at which the next one begins."""

    def __iter__(self) -> Iterator[list[str] | Refusal]:
        """Yields records and refusals, once."""
        records = self._fields(self._texts())
        record: list[str] | None = []
        while record is not None:
            self._held.clear()
            try:
                record = next(records, None)
            except csv.Error as error:
                yield from self._broken(error)
                records, record = self._fields(self._texts()), []
                continue
            if damaged := [line for line in self._held if isinstance(line, Refusal)]:
                yield from damaged
            elif record:
                self._num_columns = self._num_columns or len(record)
                yield record

    def _fields(self, texts: Iterable[str], *, is_strict: bool = True) -> Iterator[list[str]]:
        return csv.reader(
            texts,
            delimiter="\t" if self._has_tabs else ",",
            quoting=csv.QUOTE_NONE if self._has_tabs else csv.QUOTE_MINIMAL,
            strict=is_strict,
        )

    def _texts(self) -> Iterator[str]:
        """Yields the lines, and holds those of a record.

        Raises:
            csv.Error: of too long a record.
        """
        again, self._again = self._again, []
        characters = 0
        for line in chain(again, self._lines):
            characters = characters if self._held else 0
            self._held.append(line)
            if isinstance(line, Refusal):
                yield ""
                continue
            characters += len(line.text)
            if characters > self._max_characters:
                raise csv.Error(f"more than {self._max_characters:,} characters")
            yield f"{line.text}\n"

    def _broken(self, error: csv.Error) -> Iterator[list[str] | Refusal]:
        """Yields what stands for a record that is none, and the rows among its lines."""
        first, *rest = self._held
        assert isinstance(first, Line)
        if rest and self._opens_record(rest[-1]):
            self._again = [rest.pop()]
        found = self._found_in(rest)
        match found:
            case [Refusal(reason="damaged_file") as damage]:
                cut = f"{len(rest):,} lines before it are of a row that it cuts off"
                yield replace(damage, detail=f"{damage.detail}; {cut}")
                return
        span = ""
        if rest:
            span = f": a quote stays open for {1 + len(rest):,} lines from here on, "
            span += f"{1 + len(rest) - len(found):,} of them left out"
        detail = f"line {first.number}: no row ({error}){span}; mend its quotes"
        yield Refusal("bad_row", detail, excerpt=excerpt_of(first.text))
        yield from found

    def _found_in(self, rest: list[Line | Refusal]) -> list[list[str] | Refusal]:
        """Returns the rows among the further lines of a record that is none, and what is damaged.

        Where the first of these is no row, all are of one that has line ends.
        """
        rows = [line if isinstance(line, Refusal) else self._row_in(line) for line in rest]
        has_rows = bool(rows) and rows[0] is not None
        return [row for row in rows if isinstance(row, Refusal) or (row and has_rows)]

    def _row_in(self, line: Line) -> list[str] | None:
        """Returns the fields of a line that is a row of the header's columns by itself."""
        with suppress(csv.Error):
            fields = next(self._fields([f"{line.text}\n"]))
            return fields if len(fields) == self._num_columns else None
        return None

    def _opens_record(self, line: Line | Refusal) -> bool:
        """Returns whether a line could be the beginning of a record with line ends."""
        if isinstance(line, Refusal):
            return False
        fields = next(self._fields([f"{line.text}\n"], is_strict=False))
        return bool(fields) and fields[-1].endswith("\n") and len(fields) <= self._num_columns


def _size(text: str) -> int:
    with suppress(UnicodeEncodeError):
        return len(text) if text.isascii() else len(text.encode())
    return len(text)
