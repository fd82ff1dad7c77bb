"""Files as streams: plain text, lines of JSON, and tar archives of texts.

A stream is one text, or those of an archive end to end. A place in it is told by the bytes of all
text before it, compression undone. Text that cannot be read from the middle on, as of UTF-16, is
the same text in UTF-8; of an archive such a text is never cut. Nothing is unpacked.
"""

from __future__ import annotations

import io
import json
import logging
import os
import tarfile
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from itertools import chain, groupby, pairwise
from operator import attrgetter
from pathlib import PurePosixPath
from typing import Any, ClassVar, cast

from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.base.refusal import Refusal, excerpt_of
from treeviews.pipeline.text import documents
from treeviews.pipeline.text.documents import (
    START,
    Document,
    Place,
    Stream,
    places_apart,
)
from treeviews.pipeline.text.text_files import (
    SUFFIXES,
    FilesConfig,
    TextFile,
    decompressed,
    is_compressed,
    unlike_text,
)
from treeviews.pipeline.text.text_lines import (
    READ_ERRORS,
    Line,
    TextName,
    checked_text,
    damaged,
    empty,
    is_binary,
    paragraphs_of,
    places_in,
    read_lines,
    row_document,
)

logger = logging.getLogger(__name__)

LONGEST_PIECES = 1 << 30
"""Bytes of one document. A longer one goes on under another name (``a.txt#1``), so that the
indices of its sentences, which begin at the piece's place, stay numbers of 32 bits."""
ROW_FACTOR = 100
"""A row of JSON or CSV holds a whole document, so it may be this many times a paragraph's limit."""
BINARY_BYTES = 1 << 16
"""What a file that is no text counts for."""
_TAR_ERRORS: tuple[type[Exception], ...] = (*READ_ERRORS, ValueError)  # numbers of a header


class FileStream(Stream):
    """A file as a stream, whatever it holds.

    Args:
        file: as its source described it, if it was described.
        config: how it is read.
    """

    holds_rows = False
    """Whether each line is a document of its own."""
    _order: ClassVar = attrgetter("offset")
    """What of two places says which is before the other."""

    def __init__(self, file: TextFile, config: FilesConfig) -> None:
        self.file, self.config = file, config
        self.name = file.name
        self.format = config.format_of(file.path)
        self.left_out = Counter[str]()
        """Members of an archive that are left out, by reason, of those that were surveyed."""
        self._rest: tuple[Place, Iterator[Line]] | None = None
        """How far the file was read, and what follows."""

    @abstractmethod
    def places(self) -> Iterator[Place]:
        """Yields where the file may be cut, however close together, and its end."""

    @abstractmethod
    def lines_in(self, stream: io.BufferedReader, begin: Place) -> Iterator[Line]:
        """Yields the lines or rows of the open file, from a place or an earlier one on."""

    def survey(self) -> Iterator[Place]:
        """Yields where it can be cut, far enough apart, and its end."""
        return places_apart(self.places())

    def documents(self, begin: Place = START, end: Place | None = None) -> Iterator[Document]:
        """Yields the documents; what cannot be read gives a refusal, and so does an empty file.

        Of a long document that is read in pieces, the indices of sentences have a gap between two.
        """
        mode, most = self.config.paragraphs, self.config.max_paragraph_characters
        is_empty = begin == START and end is None
        for of, lines in groupby(self._between(begin, end), attrgetter("of")):
            is_empty = False
            if self.holds_rows:
                yield from (row_document(line.text, of.name, mode, most) for line in lines)
                continue
            first = next(lines)
            number, first_index = divmod(first.before.offset - of.start, LONGEST_PIECES)
            items = paragraphs_of(chain([first], lines), of.name, mode, most)  # noqa: B031 - the only reader
            yield Document(f"{of.name}#{number}" if number else of.name, items, first_index)
        if is_empty:
            yield Document(self.name, [empty(self.name)])

    def lines(self, begin: Place) -> Iterator[Line]:
        """Yields all lines or rows in order, from the one at a place or an earlier one on."""
        with ExitStack() as opened:
            try:
                stream = self.open(opened)
            except OSError as error:
                detail = f"cannot be opened ({error}); check its permissions"
                logger.warning("%s: %s; its text is missing from this corpus", self.name, detail)
                yield self.refused(Refusal("unreadable_file", detail, self.name), begin)
                return
            yield from self.lines_in(stream, begin)

    def _between(self, begin: Place, end: Place | None) -> Iterator[Line]:
        rest, self._rest = self._rest, None
        lines, order = rest[1] if rest and rest[0] == begin else self.lines(begin), self._order
        for line in lines:
            if end is not None and order(line.before) >= order(end):
                self._rest = end, chain([line], lines)
                return
            if order(line.before) >= order(begin):
                yield line

    def check_unchanged(self) -> None:
        """Refuses the file if it is not what was described; names it."""
        self.file.check_unchanged()

    def open(self, opened: ExitStack) -> io.BufferedReader:
        """Returns the file's bytes from their beginning, decompressed."""
        raw = opened.enter_context(self.file.path.open("rb", buffering=0))
        return decompressed(raw, self.file.path)

    def refused(self, refusal: Refusal, before: Place = START) -> Line:
        """Returns what stands for all that follows."""
        return Line(TextName(refusal.position), before, refusal)


class TextStream(FileStream):
    """The text of one file, as one document, a document a line of JSON, or a tar archive's."""

    def __init__(self, file: TextFile, config: FilesConfig) -> None:
        super().__init__(file, config)
        self.is_one_document = self.format == "text"
        self.holds_rows = self.format == "json-lines"
        # Whether its bytes are its text.
        is_text = not (is_compressed(file.path) or config.is_recoded)
        self.is_sought = is_text and self.format != "tar"

    def survey(self) -> Iterator[Place]:
        """Yields where texts and, in long ones, paragraphs begin, far enough apart.

        A short file, whose bytes are its text, is not read for it.
        """
        with suppress(OSError):
            size = self.file.path.stat().st_size
            if self.is_sought and size <= documents.STEP_BYTES:
                return iter([Place(size, 0)])
        self.left_out.clear()
        return super().survey()

    def places(self) -> Iterator[Place]:
        """Yields where texts may be cut, and their ends."""
        is_line = self.config.paragraphs == "line" or self.holds_rows
        with ExitStack() as opened, suppress(*_TAR_ERRORS):
            stream = self.open(opened)
            if self.format == "tar":
                for of, text, size in self._members(stream, self.left_out):
                    if not (self.config.is_recoded or is_binary(text, self.config)):
                        places = places_in(text, self.config, lines_are_enough=is_line)
                        for place, _ in pairwise(places):
                            yield Place(of.start + place.offset, place.number)
                    yield Place(of.start + size, 0)
            elif is_binary(stream, self.config):
                yield Place(BINARY_BYTES, 0)
            else:
                yield from places_in(stream, self.config, lines_are_enough=is_line)

    def lines_in(self, stream: io.BufferedReader, begin: Place) -> Iterator[Line]:
        """Yields the lines of all texts; of those of an archive, too.

        A line that is no JSON object is refused (``bad_json``), and so is one that has no text in
        its field (``missing_text``, ``empty_text``).
        """
        if self.format == "tar":
            return self._lines_of_members(stream)
        is_sought = begin != START and self.is_sought
        if is_sought:
            stream.seek(begin.offset)
        most = self.config.max_paragraph_characters * (ROW_FACTOR if self.holds_rows else 1)
        of, before = TextName(self.name), begin if is_sought else None
        lines = read_lines(stream, of, self.config, max_characters=most, before=before)
        return self._rows(lines) if self.holds_rows else lines

    def _rows(self, lines: Iterator[Line]) -> Iterator[Line]:
        """Yields the texts in lines of JSON, blank ones left out."""
        for line in lines:
            position = f"{self.name}:{line.before.number + 1}"
            text = line.text
            if isinstance(text, str):
                if not text.strip():
                    continue
                text = _json_text(text, position, self.config.text_field)
            yield Line(TextName(position), line.before, text)

    def _lines_of_members(self, stream: io.BufferedReader) -> Iterator[Line]:
        most, place = self.config.max_paragraph_characters, START
        try:
            for of, text, size in self._members(stream, Counter()):
                place = Place(of.start, 0)
                for line in read_lines(text, of, self.config, max_characters=most):
                    yield line
                    if isinstance(line.text, Refusal) and line.text.reason == "damaged_file":
                        return
                place = Place(of.start + size, 0)
        except _TAR_ERRORS as error:
            yield self.refused(damaged(self.name, error), place)

    def _members(
        self, stream: io.BufferedReader, left_out: Counter[str]
    ) -> Iterator[tuple[TextName, io.BufferedReader, int]]:
        """Yields the texts of an archive, and their sizes.

        Args:
            left_out: counts the members that are no texts.
        """
        names, total = set[str](), 0
        archive = tarfile.open(  # noqa: SIM115 - the stream is closed elsewhere
            fileobj=stream, mode="r|", tarinfo=_Header, encoding="utf-8"
        )
        archive.fileobj.seekable = lambda: False  # type: ignore  # what decodes a member asks it
        while (header := archive.next()) is not None:
            if header.size < 0:
                raise tarfile.ReadError("a member of negative size")
            archive.members.clear()  # type: ignore[attr-defined]  # it would keep all
            name = printable(os.fsencode(header.name).decode("utf-8", "backslashreplace"))
            path = PurePosixPath(name)
            if _is_text(header, path, names, left_out):
                member = cast("io.BufferedReader", archive.extractfile(header))
                yield TextName(f"{self.name}/{path}", total), member, header.size
                total += header.size


def _is_text(
    header: tarfile.TarInfo, path: PurePosixPath, names: set[str], left_out: Counter[str]
) -> bool:
    """Returns whether a member is a text; counts what is left out.

    Args:
        names: of the texts before; keeps this one's.
    """
    reason = ""
    if header.isdir():
        return False
    if not header.isreg() or header.sparse is not None:
        reason = "no regular file in an archive"
    elif path.is_absolute() or ".." in path.parts or "\\" in header.name:
        reason = "name that leads out of an archive"
    elif any(part.startswith(".") for part in path.parts):
        reason = "hidden"
    elif path.suffix.lower() not in SUFFIXES["text"]:
        reason = unlike_text(path)
    elif str(path) in names:
        reason = "second of its name in an archive"
    if reason:
        left_out[reason] += 1
    else:
        names.add(str(path))
    return not reason


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
