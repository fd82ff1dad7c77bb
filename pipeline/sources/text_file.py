"""A file of text as a stream: one document, or one document a line of JSON.

Its text is its bytes, compression undone. Where these are not read from the middle on, as of
UTF-16, it is the same text in UTF-8. A file is read in bounded memory.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pipeline.base.refusal import Refusal
from pipeline.sources.file_list import ERRORS
from pipeline.sources.opened_file import BUFFER_BYTES, ROW_FACTOR, FileStream
from pipeline.sources.paragraphs import (
    Document,
    Line,
    Paragraph,
    TextPosition,
    is_binary,
    paragraphs_of,
    read_lines,
)
from pipeline.sources.rows import json_documents
from pipeline.sources.streams import START, STEP_BYTES, Place

T = TypeVar("T")

_READ_ERRORS: tuple[type[Exception], ...] = (*ERRORS, UnicodeError)

LONGEST_PIECES = 1 << 30
"""Bytes of one document. A longer one goes on under another name (``a.txt#1``), so that the
indices of its sentences, which begin at the piece's place, stay numbers of 32 bits."""
_BLOCK_BYTES = 1 << 20
_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")
_LINE_END = re.compile(rb"\n")
_LONGEST_BLANK = 64
"""Bytes that a blank line may have to be seen where two blocks of a file meet."""


class Piece(io.RawIOBase):
    """The next bytes of a stream, as many as are wanted; `left` of them are not yet read."""

    def __init__(self, stream: io.BufferedReader, num_bytes: int) -> None:
        self._stream, self.left = stream, num_bytes

    def readable(self) -> bool:
        """Returns True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills ``buffer``; returns the number of bytes, 0 at the end."""
        count = self._stream.readinto1(memoryview(buffer)[: self.left])
        self.left -= count
        return count


@dataclass(slots=True, eq=False)
class TextFileStream(FileStream):
    """The text of one file, as one document or several.

    Of a long document that is read in pieces, the indices of sentences have a gap between two.
    """

    _left_at: tuple[int, io.BufferedReader] | None = field(default=None, init=False, repr=False)
    """How far a file was read that cannot be sought, and its text from there on."""

    @property
    def is_one_document(self) -> bool:
        """Whether it is plain text."""
        return not self._is_json_lines

    @property
    def _is_json_lines(self) -> bool:
        return self.config.format_of(self.file.path) == "json-lines"

    def knows_characters(self, place: Place) -> bool:
        """Whether lines are documents, or the text was read up to there."""
        return self._is_json_lines or place.offset in self._characters

    def survey(self) -> Iterator[Place]:
        """Yields where lines of JSON or paragraphs of plain text begin, far enough apart.

        A short file, whose bytes are its text, is not read for it.
        """
        try:
            if self.is_sought and (size := self.file.path.stat().st_size) <= STEP_BYTES:
                yield Place(size, 0)
                return
            with ExitStack() as opened:
                text = self.opened(opened)
                if is_binary(text, self.config.encoding):
                    yield Place(BUFFER_BYTES, 0)
                    return
                lines_are_enough = self.config.paragraphs == "line" or self._is_json_lines
                yield from places_in(text, lines_are_enough=lines_are_enough)
        except _READ_ERRORS:  # before the first place: `places_in` ends where it cannot read on
            yield START

    def documents(self, begin: Place = START, end: Place | None = None) -> Iterator[Document]:
        """Yields the documents; what cannot be read gives a refusal, and so does an empty file."""
        with ExitStack() as opened:
            try:
                stream = self._opened_at(begin, opened)
            except OSError as error:
                yield Document(self.name, [self.unreadable(error)])
                return
            piece = stream
            if end is not None:
                of_piece = Piece(stream, end.offset - begin.offset)
                piece = io.BufferedReader(of_piece, BUFFER_BYTES)
            is_whole = begin == START and end is None
            at = TextPosition(begin.number, self._characters.get(begin.offset))
            yield from self._documents_in(piece, begin, at, self.empty if is_whole else None)
            if end is not None and at.characters is not None:
                self._characters[end.offset] = at.characters
            if end is not None and not self.is_sought:
                opened.pop_all()  # the next piece goes on here
                self._left_at = end.offset, stream

    def _opened_at(self, begin: Place, opened: ExitStack) -> io.BufferedReader:
        """Returns the text's bytes from a place on; goes on where the piece before has ended."""
        left_at, self._left_at = self._left_at, None
        if left_at is not None and left_at[0] == begin.offset:
            return opened.enter_context(left_at[1])
        stream = self.opened(opened)
        if self.is_sought:
            stream.seek(begin.offset)
            return stream
        skip(stream, begin.offset)
        return stream

    def _documents_in(
        self, stream: io.BufferedReader, begin: Place, at: TextPosition, empty: Refusal | None
    ) -> Iterator[Document]:
        limit = self.config.max_paragraph_characters
        lines = read_lines(
            stream,
            self.name,
            encoding=self.config.encoding,
            is_recoded=self.is_recoded,
            max_characters=limit * ROW_FACTOR if self._is_json_lines else limit,
            at=at,
        )
        if self._is_json_lines:
            yield from self._json_documents(lines, empty)
            return
        mode = self.config.paragraphs
        paragraphs = paragraphs_of(lines, self.name, mode, max_characters=limit)
        yield document_from(begin.offset, self.name, or_empty(paragraphs, empty))

    def _json_documents(
        self, lines: Iterable[Line | Refusal], empty: Refusal | None
    ) -> Iterator[Document]:
        limit = self.config.max_paragraph_characters
        found = json_documents(
            lines, self.name, self.config.text_field, self.config.paragraphs, limit
        )
        whole = None if empty is None else Document(self.name, [empty])
        yield from or_empty(found, whole)


def skip(stream: io.BufferedReader, num_bytes: int) -> None:
    """Reads past so many bytes."""
    while num_bytes > 0 and (block := stream.read(min(num_bytes, _BLOCK_BYTES))):
        num_bytes -= len(block)


def document_from(offset: int, name: str, paragraphs: Iterable[Paragraph | Refusal]) -> Document:
    """Returns a document's piece that begins at a place of its text."""
    number, first_index = divmod(offset, LONGEST_PIECES)
    return Document(f"{name}#{number}" if number else name, paragraphs, first_index)


def places_in(text: io.BufferedReader, *, lines_are_enough: bool) -> Iterator[Place]:
    """Yields the places in a text behind blank lines, far enough apart, and its end.

    Where it cannot be read on, that is its end.

    Args:
        lines_are_enough: behind any line.
    """
    pattern = _LINE_END if lines_are_enough else _BLANK_LINE
    last = -1  # where the last place is that was found
    before = lines = 0  # bytes before the block and lines before what is not yet counted
    carried = b""
    with suppress(*_READ_ERRORS):
        while read := text.read(_BLOCK_BYTES):
            block = carried + read
            counted = 0
            while True:
                wanted = STEP_BYTES + max(last, 0)
                found = pattern.search(block, max(wanted - before - 1, 0))
                if found is None:
                    break
                lines += _line_ends(block, counted, found.end())
                counted = found.end()
                last = before + counted
                yield Place(last, lines)
            kept = max(counted, len(block) - _LONGEST_BLANK)
            lines += _line_ends(block, counted, kept)
            before, carried = before + kept, block[kept:]
    end = Place(before + len(carried), lines + _line_ends(carried, 0, len(carried)))
    if last != end.offset:
        yield end


def _line_ends(text: bytes, start: int, end: int) -> int:
    """Returns how many lines end in a part of a text, as Python reads lines."""
    found = text.count(b"\n", start, end)
    if (returns := text.count(b"\r", start, end)) == 0:
        return found
    return found + returns - text.count(b"\r\n", start, min(end + 1, len(text)))


def or_empty(items: Iterable[T], empty: T | None) -> Iterator[T]:
    """Yields items, or, where there are none, what stands for nothing."""
    found = False
    for item in items:
        found = True
        yield item
    if not found and empty is not None:
        yield empty
