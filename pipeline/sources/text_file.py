"""A file of text as a stream: one document, or one document a line of JSON.

Its text is its bytes, compression undone. Where these are not read from the middle on, as of
UTF-16, it is the same text in UTF-8. A file is read in bounded memory.
"""

from __future__ import annotations

import io
import logging
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from pipeline.base.config_fields import Config, Count
from pipeline.base.digest import remembered_sha256
from pipeline.base.foreign_text import told
from pipeline.base.refusal import Refusal
from pipeline.sources.file_list import ERRORS, TextFile, decompressed, is_compressed
from pipeline.sources.json_lines import json_documents
from pipeline.sources.paragraphs import (
    ChangedTextError,
    Document,
    Line,
    ParagraphMode,
    is_binary,
    paragraphs_of,
    read_lines,
)
from pipeline.sources.streams import START, STEP_BYTES, Place

logger = logging.getLogger(__name__)

T = TypeVar("T")

UNREADABLE = "unreadable"
"""Stands for the sha256 of what cannot be read."""
JSON_LINE_FACTOR = 100
"""A line of JSON holds a whole document, so it may be this many times a paragraph's limit."""
LONGEST_PIECES = 1 << 30
"""Bytes of one document. A longer one goes on under another name (``a.txt#1``), so that the
indices of its sentences, which begin at the piece's place, stay numbers of 32 bits."""
_READ_ERRORS: tuple[type[Exception], ...] = (*ERRORS, UnicodeError)
_BLOCK_BYTES = 1 << 20
_BUFFER_BYTES = 1 << 16
_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")
_LINE_END = re.compile(rb"\n")
_LONGEST_BLANK = 64
"""Bytes that a blank line may have to be seen where two blocks of a file meet."""
_STATEFUL = re.compile(r"utf[-_]?7|iso[-_]?2022|hz", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FilesConfig(Config):
    """How files are read."""

    called: ClassVar[str] = "text setting"

    paragraphs: ParagraphMode = "blank-line"
    text_field: str = "text"
    encoding: str = "utf-8"
    max_paragraph_characters: Count = 100_000

    def _check_together(self) -> None:
        try:
            "".encode(self.encoding)
        except LookupError as error:
            raise ValueError(
                f"encoding {self.encoding!r} is no text encoding; try utf-8"
            ) from error


class _Recoded(io.RawIOBase):
    """Text of some encoding as UTF-8; bytes that are not of the encoding stay as they are."""

    def __init__(self, stream: io.BufferedReader, encoding: str) -> None:
        self._stream = stream
        self._decoder = getincrementaldecoder(encoding)("surrogateescape")
        self._ready = io.BytesIO()
        self._is_done = False

    def readable(self) -> bool:
        """Returns True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills ``buffer``; returns the number of bytes, 0 at the end."""
        while not (count := self._ready.readinto(buffer)) and not self._is_done:
            block = self._stream.read(_BUFFER_BYTES)
            self._is_done = not block
            text = self._decoder.decode(block, final=self._is_done)
            self._ready = io.BytesIO(text.encode("utf-8", "surrogateescape"))
        return count


class _Piece(io.RawIOBase):
    """The next bytes of a stream, as many as are wanted."""

    def __init__(self, stream: io.BufferedReader, num_bytes: int) -> None:
        self._stream, self._left = stream, num_bytes

    def readable(self) -> bool:
        """Returns True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills ``buffer``; returns the number of bytes, 0 at the end."""
        count = self._stream.readinto1(memoryview(buffer)[: self._left])
        self._left -= count
        return count


@dataclass(frozen=True, slots=True)
class Announced:
    """What a file was when its source was described."""

    sha256: str
    """`UNREADABLE` where it could not be read."""
    num_bytes: int = 0
    modified_ns: int = 0

    @classmethod
    def of(cls, path: Path) -> Announced:
        """Returns what a file is now."""
        try:
            stat = path.stat()
            return cls(remembered_sha256(path), stat.st_size, stat.st_mtime_ns)
        except OSError:
            return cls(UNREADABLE)

    def still_holds(self, path: Path) -> bool:
        """Returns whether the file has the size and time that it had then."""
        try:
            stat = path.stat()
        except OSError:
            return False
        return (stat.st_size, stat.st_mtime_ns) == (self.num_bytes, self.modified_ns)


@dataclass(slots=True, eq=False)
class TextFileStream:
    """The text of one file, as one document or several.

    Of a long document that is read in pieces, the indices of sentences have a gap between two.
    """

    file: TextFile
    config: FilesConfig
    announced: Announced | None = None
    """None where the source was not described."""
    _left_at: tuple[int, io.BufferedReader] | None = field(default=None, init=False, repr=False)
    """How far a file was read that cannot be sought, and its text from there on."""

    @property
    def name(self) -> str:
        """The file's name in its source."""
        return self.file.name

    @property
    def is_one_document(self) -> bool:
        """Whether it is plain text."""
        return not self.file.is_json_lines

    @property
    def is_sought(self) -> bool:
        """Whether its bytes are its text."""
        return not (is_compressed(self.file.path) or self._is_recoded)

    @property
    def _is_recoded(self) -> bool:
        encoding = self.config.encoding
        return bool(_STATEFUL.match(encoding)) or "\n".encode(encoding) != b"\n"

    def survey(self) -> list[Place]:
        """Returns where lines of JSON or paragraphs of plain text begin, far enough apart.

        A short file, whose bytes are its text, is not read for it.
        """
        try:
            if self.is_sought and (size := self.file.path.stat().st_size) <= STEP_BYTES:
                return [Place(size, 0)]
            with ExitStack() as opened:
                text = self._opened(opened)
                if is_binary(text, self.config.encoding):
                    return [Place(_BUFFER_BYTES, 0)]
                lines_are_enough = self.config.paragraphs == "line" or self.file.is_json_lines
                return _places(text, _LINE_END if lines_are_enough else _BLANK_LINE)
        except _READ_ERRORS:
            return [START]

    def documents(self, begin: Place = START, end: Place | None = None) -> Iterator[Document]:
        """Yields the documents; what cannot be read gives a refusal, and so does an empty file."""
        with ExitStack() as opened:
            try:
                stream = self._opened_at(begin, opened)
            except OSError as error:
                yield Document(self.name, [self._unreadable(error)])
                return
            piece = stream
            if end is not None:
                of_piece = _Piece(stream, end.offset - begin.offset)
                piece = io.BufferedReader(of_piece, _BUFFER_BYTES)
            empty = Refusal("empty_file", "holds no text; remove it from the paths", self.name)
            is_whole = begin == START and end is None
            yield from self._documents_in(piece, begin, empty if is_whole else None)
            if end is not None and not self.is_sought:
                opened.pop_all()  # the next piece goes on here
                self._left_at = end.offset, stream

    def check_unchanged(self) -> None:
        """Refuses the file if it is not what was described.

        Raises:
            ChangedTextError: names it.
        """
        announced, path = self.announced, self.file.path
        if announced is None or announced.still_holds(path):
            return
        found = Announced.of(path).sha256
        if announced.sha256 != found:
            raise ChangedTextError(
                f"{told(path)}: changed since the run began (sha256 {announced.sha256[:12]} then, "
                f"{found[:12]} now); wait until nobody writes to it and start the run again"
            )

    def _opened(self, opened: ExitStack) -> io.BufferedReader:
        """Returns the text's bytes from their beginning."""
        raw = opened.enter_context(self.file.path.open("rb", buffering=0))
        stream = decompressed(raw, self.file.path)
        if self._is_recoded:
            recoded = _Recoded(stream, self.config.encoding)
            stream = io.BufferedReader(cast("io.RawIOBase", recoded), _BUFFER_BYTES)
        return stream

    def _opened_at(self, begin: Place, opened: ExitStack) -> io.BufferedReader:
        """Returns the text's bytes from a place on; goes on where the piece before has ended."""
        left_at, self._left_at = self._left_at, None
        if left_at is not None and left_at[0] == begin.offset:
            return opened.enter_context(left_at[1])
        stream = self._opened(opened)
        if self.is_sought:
            stream.seek(begin.offset)
            return stream
        left = begin.offset
        while left and (block := stream.read(min(left, _BLOCK_BYTES))):
            left -= len(block)
        return stream

    def _documents_in(
        self, stream: io.BufferedReader, begin: Place, empty: Refusal | None
    ) -> Iterator[Document]:
        limit = self.config.max_paragraph_characters
        lines = read_lines(
            stream,
            self.name,
            encoding=self.config.encoding,
            is_recoded=self._is_recoded,
            max_characters=limit * JSON_LINE_FACTOR if self.file.is_json_lines else limit,
            lines_before=begin.number,
        )
        if self.file.is_json_lines:
            yield from self._json_documents(lines, empty)
            return
        number, first_index = divmod(begin.offset, LONGEST_PIECES)
        name = f"{self.name}#{number}" if number else self.name
        mode = self.config.paragraphs
        paragraphs = paragraphs_of(lines, self.name, mode, max_characters=limit)
        yield Document(name, _or_empty(paragraphs, empty), first_index)

    def _json_documents(
        self, lines: Iterable[Line | Refusal], empty: Refusal | None
    ) -> Iterator[Document]:
        limit = self.config.max_paragraph_characters
        found = json_documents(
            lines, self.name, self.config.text_field, self.config.paragraphs, limit
        )
        whole = None if empty is None else Document(self.name, [empty])
        yield from _or_empty(found, whole)

    def _unreadable(self, error: OSError) -> Refusal:
        if self.file.unlisted:
            reason = "unreadable_folder"
            what = f"a folder that cannot be searched ({self.file.unlisted})"
        else:
            reason, what = "unreadable_file", f"cannot be opened ({error})"
        detail = f"{what}; check its permissions"
        logger.warning("%s: %s; its text is missing from this corpus", self.name, detail)
        return Refusal(reason, detail, self.name)


def _places(text: io.BufferedReader, pattern: re.Pattern[bytes]) -> list[Place]:
    """Returns the places in a text behind which a pattern ends, and its end.

    Where it cannot be read on, that is its end.
    """
    places: list[Place] = []
    before = lines = 0  # bytes before the block and lines before what is not yet counted
    carried = b""
    with suppress(*_READ_ERRORS):
        while read := text.read(_BLOCK_BYTES):
            block = carried + read
            counted = 0
            while True:
                wanted = STEP_BYTES + (places[-1].offset if places else 0)
                found = pattern.search(block, max(wanted - before - 1, 0))
                if found is None:
                    break
                lines += _line_ends(block, counted, found.end())
                counted = found.end()
                places.append(Place(before + counted, lines))
            kept = max(counted, len(block) - _LONGEST_BLANK)
            lines += _line_ends(block, counted, kept)
            before, carried = before + kept, block[kept:]
    end = Place(before + len(carried), lines + _line_ends(carried, 0, len(carried)))
    return places if places and places[-1].offset == end.offset else [*places, end]


def _line_ends(text: bytes, start: int, end: int) -> int:
    """Returns how many lines end in a part of a text, as Python reads lines."""
    found = text.count(b"\n", start, end)
    if (returns := text.count(b"\r", start, end)) == 0:
        return found
    return found + returns - text.count(b"\r\n", start, min(end + 1, len(text)))


def _or_empty(items: Iterable[T], empty: T | None) -> Iterator[T]:
    """Yields items, or, where there are none, what stands for nothing."""
    found = False
    for item in items:
        found = True
        yield item
    if not found and empty is not None:
        yield empty
