"""Files of text as streams: plain text, lines of JSON, and tar archives of texts.

A stream is one text, or those of an archive end to end. A place in it is told by the bytes of all
text before it, compression undone. Text that cannot be read from the middle on, as of UTF-16, is
the same text in UTF-8; of an archive such a text is never cut. Nothing is unpacked.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import PurePosixPath
from typing import Any, cast

from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.base.refusal import Refusal, excerpt_of
from treeviews.pipeline.text.documents import (
    READ_ERRORS,
    START,
    STEP_BYTES,
    Document,
    Line,
    Paragraph,
    Place,
    TextPosition,
    checked_text,
    damaged,
    is_binary,
    paragraphs_of,
    places_apart,
    read_lines,
    row_document,
)
from treeviews.pipeline.text.text_files import (
    BUFFER_BYTES,
    SUFFIXES,
    FileStream,
    LeftOut,
    is_compressed,
)

LONGEST_PIECES = 1 << 30
"""Bytes of one document. A longer one goes on under another name (``a.txt#1``), so that the
indices of its sentences, which begin at the piece's place, stay numbers of 32 bits."""
ROW_FACTOR = 100
"""A row of JSON or CSV holds a whole document, so it may be this many times a paragraph's limit."""
_BLOCK_BYTES = 1 << 20
_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")
_LINE_END = re.compile(rb"\n")
_LONGEST_BLANK = 64
"""Bytes that a blank line may have to be seen where two blocks of a file meet."""
_TAR_ERRORS: tuple[type[Exception], ...] = (*READ_ERRORS, ValueError)  # numbers of a header
_TEXT = frozenset(SUFFIXES["text"])


class _Piece(io.RawIOBase):
    """The next bytes of a stream, as many as are wanted; `left` of them are not yet read."""

    def __init__(self, stream: io.BufferedReader, num_bytes: int) -> None:
        self._stream, self.left = stream, num_bytes

    def readable(self) -> bool:
        """Returns True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills ``buffer``; returns the number of bytes, 0 at the end."""
        # The call that meets the damage of a gzip file loses all that it read: so in small ones.
        wanted = min(self.left, io.DEFAULT_BUFFER_SIZE)
        count = self._stream.readinto1(memoryview(buffer)[:wanted])
        self.left -= count
        return count


@dataclass(slots=True, eq=False)
class _Text:
    """One text of a stream, which is read once."""

    name: str
    stream: io.BufferedReader
    start: int = 0
    """Bytes of all texts before it."""
    size: int = sys.maxsize
    read: int = 0
    """Bytes that were read."""
    is_damaged: bool = False

    @property
    def stop(self) -> int:
        """Where the next one begins."""
        return self.start + self.size


@dataclass(slots=True, eq=False)
class TextStream(FileStream):
    """The text of one file, as one document or several.

    Of a long document that is read in pieces, the indices of sentences have a gap between two.
    """

    left_out: LeftOut = field(default_factory=LeftOut)
    """How many members of an archive are left out, by reason, of those that were surveyed."""
    _rest: tuple[int, Iterator[_Text | Refusal]] | None = field(
        default=None, init=False, repr=False
    )
    """How far the file was read, and what follows."""
    _characters: dict[int, int] = field(default_factory=lambda: {0: 0}, init=False, repr=False)
    """Offset of a place -> characters of its document before it; of places that were read up to."""

    @property
    def _format(self) -> str:
        return self.config.format_of(self.file.path)

    @property
    def is_one_document(self) -> bool:
        """Whether it is plain text."""
        return self._format == "text"

    @property
    def is_sought(self) -> bool:
        """Whether its bytes are its text."""
        is_text = not (is_compressed(self.file.path) or self.config.is_recoded)
        return is_text and self._format != "tar"

    def survey(self) -> Iterator[Place]:
        """Yields where texts and, in long ones, paragraphs begin, far enough apart.

        A short file, whose bytes are its text, is not read for it.
        """
        with suppress(OSError):
            if self.is_sought and (size := self.file.path.stat().st_size) <= STEP_BYTES:
                return iter([Place(size, 0)])
        self.left_out.clear()
        return places_apart(
            chain.from_iterable(map(self._places_in, self._texts(0, self.left_out)))
        )

    def _places_in(self, text: _Text | Refusal) -> Iterator[Place]:
        """Yields where a text may be cut, and its end."""
        if isinstance(text, Refusal):
            return
        is_member = self._format == "tar"
        is_line = self.config.paragraphs == "line" or self._format == "json-lines"
        places: Iterator[Place] = iter(())
        with suppress(*READ_ERRORS):
            if is_binary(text.stream, self.config.encoding):
                places = iter(() if is_member else [Place(BUFFER_BYTES, 0)])
            elif not (is_member and self.config.is_recoded):
                places = places_in(text.stream, lines_are_enough=is_line)
        if not is_member:
            yield from places
            return
        for place, _ in pairwise(places):
            yield Place(text.start + place.offset, place.number)
        yield Place(text.stop, 0)

    def documents(self, begin: Place = START, end: Place | None = None) -> Iterator[Document]:
        """Yields the documents; what cannot be read gives a refusal, and so does an empty file."""
        rest, self._rest = self._rest, None
        is_next = rest is not None and rest[0] == begin.offset
        texts = rest[1] if rest and is_next else self._texts(begin.offset, LeftOut())
        is_empty = True
        for text in texts:
            if isinstance(text, Refusal):
                yield Document(text.position, [text])
                return
            if text.start < begin.offset and text.stop <= begin.offset:
                continue
            if end is None or text.start < end.offset:
                for document in self._documents_in(text, begin, end):
                    is_empty = False
                    yield document
            if end is not None and end.offset < max(text.stop, text.start + 1):
                self._rest = end.offset, chain([text], texts)
                return
        if is_empty and begin == START and end is None:
            yield Document(self.name, [self.empty])

    def _documents_in(self, text: _Text, begin: Place, end: Place | None) -> Iterator[Document]:
        """Yields what of a text lies between two places of the stream."""
        start = max(begin.offset - text.start, 0)
        stop = text.size if end is None else min(end.offset - text.start, text.size)
        at = TextPosition()
        if start:
            at = TextPosition(begin.number, self._characters.get(begin.offset))
        lines = self._lines(text, start, stop, at)
        if self._format == "json-lines":
            yield from self._json_documents(lines)
            return
        number, first_index = divmod(start, LONGEST_PIECES)
        config = self.config
        items = paragraphs_of(
            lines, text.name, config.paragraphs, max_characters=config.max_paragraph_characters
        )
        if start == 0 and stop == text.size:
            items = _or_empty(items, Refusal("empty_file", self.empty.detail, text.name))
        yield Document(f"{text.name}#{number}" if number else text.name, items, first_index)

    def _lines(
        self, text: _Text, start: int, stop: int, at: TextPosition
    ) -> Iterator[Line | Refusal]:
        """Yields the lines between two places of a text."""
        limit = self.config.max_paragraph_characters
        if self._format == "json-lines":
            limit *= ROW_FACTOR
        try:
            skip(text.stream, start - text.read)
        except READ_ERRORS as error:
            text.is_damaged = True
            yield damaged(text.name, error)
            return
        is_cut = stop < text.size
        piece = _Piece(text.stream, stop - start if is_cut else sys.maxsize)
        stream: io.BufferedReader = io.BufferedReader(cast("io.RawIOBase", piece), BUFFER_BYTES)
        for line in read_lines(
            stream, text.name, encoding=self.config.codec, max_characters=limit, at=at
        ):
            if isinstance(line, Refusal) and line.reason == "damaged_file":
                text.is_damaged = True
            yield line
        if is_cut:
            text.read = stop - piece.left
            if at.characters is not None:
                self._characters[text.start + stop] = at.characters

    def _json_documents(self, lines: Iterable[Line | Refusal]) -> Iterator[Document]:
        """Yields one document a line of JSON; blank lines are passed over.

        A line that is no JSON object (``bad_json``), or has no text in its field
        (``missing_text``, ``empty_text``), gives a document of one refusal.
        """
        config = self.config
        for line in lines:
            if isinstance(line, Refusal):
                yield Document(line.position, [line])
            elif line.text.strip():
                position = f"{self.name}:{line.number}"
                text = _json_text(line.text, position, config.text_field)
                limit = config.max_paragraph_characters
                yield row_document(text, position, config.paragraphs, limit)

    def _texts(self, offset: int, left_out: LeftOut) -> Iterator[_Text | Refusal]:
        """Yields the texts; where the file cannot be read on, lastly why.

        Args:
            offset: of the stream's text, from where it is wanted.
            left_out: counts the members of an archive that are no texts.
        """
        with ExitStack() as opened:
            try:
                stream = self.open(opened)
            except OSError as error:
                yield self.unreadable(error)
                return
            if self._format == "tar":
                yield from self._members(stream, left_out)
            else:
                read = stream.seek(offset) if self.is_sought else 0
                yield _Text(self.name, self.recoded(stream), read=read)

    def _members(self, stream: io.BufferedReader, left_out: LeftOut) -> Iterator[_Text | Refusal]:
        names = set[str]()
        total = 0
        try:
            archive = tarfile.open(  # noqa: SIM115 - the stream is closed elsewhere
                fileobj=stream, mode="r|", tarinfo=_Header, encoding="utf-8"
            )
            while (header := archive.next()) is not None:
                if header.size < 0:
                    raise tarfile.ReadError("a member of negative size")
                archive.members.clear()  # type: ignore[attr-defined]  # it would keep all
                name = printable(os.fsencode(header.name).decode("utf-8", "backslashreplace"))
                path = PurePosixPath(name)
                if not _is_text(header, path, names, left_out):
                    continue
                member = self.recoded(cast("io.BufferedReader", archive.extractfile(header)))
                text = _Text(f"{self.name}/{path}", member, total, header.size)
                yield text
                if text.is_damaged:
                    return
                total = text.stop
        except _TAR_ERRORS as error:
            yield damaged(self.name, error)


def _is_text(
    header: tarfile.TarInfo, path: PurePosixPath, names: set[str], left_out: LeftOut
) -> bool:
    """Returns whether a member is a text; counts what is left out.

    Args:
        names: of the texts before; keeps this one's.
    """
    is_text = False
    if header.isdir():
        pass
    elif not header.isreg() or header.sparse is not None:
        left_out.add(path, "no regular file in an archive")
    elif path.is_absolute() or ".." in path.parts or "\\" in header.name:
        left_out.add(path, "name that leads out of an archive")
    elif any(part.startswith(".") for part in path.parts):
        left_out.add(path, "hidden")
    elif path.suffix.lower() not in _TEXT:
        left_out.add_unlike_text(path)
    elif str(path) in names:
        left_out.add(path, "second of its name in an archive")
    else:
        is_text = True
        names.add(str(path))
    return is_text


class _Header(tarfile.TarInfo):
    """A member's header, which is refused where ``tarfile`` takes damage for the archive's end."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        """Returns the header in a block of 512 bytes.

        Raises:
            tarfile.TarError: the block is none.
        """
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"no end of the archive, but {error}") from error


def _json_text(line: str, position: str, text_field: str) -> str | Refusal:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of 5,000 digits
        return Refusal("bad_json", f"not JSON ({error}); mend the line", position, excerpt_of(line))
    text = value.get(text_field) if isinstance(value, dict) else None
    return checked_text(text, position, text_field, excerpt_of(line))


def _or_empty(
    items: Iterable[Paragraph | Refusal], empty: Refusal
) -> Iterator[Paragraph | Refusal]:
    """Yields items, or, where there are none, what stands for nothing."""
    iterator = iter(items)
    yield next(iterator, empty)
    yield from iterator


def skip(stream: io.BufferedReader, num_bytes: int) -> None:
    """Reads past so many bytes."""
    while num_bytes > 0 and (block := stream.read(min(num_bytes, _BLOCK_BYTES))):
        num_bytes -= len(block)


def places_in(text: io.BufferedReader, *, lines_are_enough: bool) -> Iterator[Place]:
    """Yields the places in a text behind blank lines, far enough apart, and its end.

    Where it cannot be read on, that is its end.

    Args:
        lines_are_enough: behind any line.
    """
    pattern = _LINE_END if lines_are_enough else _BLANK_LINE
    last = -1  # where the last place is
    before = lines = 0  # bytes before the block and lines before what is not yet counted
    carried = b""
    with suppress(*READ_ERRORS):
        while read := text.read1(_BLOCK_BYTES):
            block = carried + read
            counted = 0
            while end := pattern.search(block, max(STEP_BYTES + max(last, 0) - before - 1, 0)):
                lines += _line_ends(block, counted, end.end())
                counted = end.end()
                last = before + counted
                yield Place(last, lines)
            kept = max(counted, len(block) - _LONGEST_BLANK)
            lines += _line_ends(block, counted, kept)
            before, carried = before + kept, block[kept:]
    end_place = Place(before + len(carried), lines + _line_ends(carried, 0, len(carried)))
    if last != end_place.offset:
        yield end_place


def _line_ends(text: bytes, start: int, end: int) -> int:
    """Returns how many lines end in a part of a text, as Python reads lines."""
    line_feeds = text.count(b"\n", start, end)
    if (returns := text.count(b"\r", start, end)) == 0:
        return line_feeds
    return line_feeds + returns - text.count(b"\r\n", start, min(end + 1, len(text)))
