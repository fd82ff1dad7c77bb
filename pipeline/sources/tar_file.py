"""A tar archive of texts as a stream, read through in order: nothing is unpacked.

Each text is a document. Its place in the stream is told by the bytes of all texts before it, so an
archive is cut between texts and, where one is long, between its paragraphs.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import PurePosixPath
from typing import cast

from pipeline.base.foreign_text import printable
from pipeline.base.refusal import Refusal
from pipeline.sources.file_list import (
    ERRORS,
    SUFFIXES,
    decompressed,
    is_compressed,
    why_not_text,
)
from pipeline.sources.opened_file import BUFFER_BYTES, FileStream, Recoded
from pipeline.sources.paragraphs import (
    Document,
    Paragraph,
    TextPosition,
    is_binary,
    paragraphs_of,
    read_lines,
)
from pipeline.sources.streams import START, STEP_BYTES, Place
from pipeline.sources.text_file import Piece, document_from, or_empty, places_in, skip

_ERRORS: tuple[type[Exception], ...] = (*ERRORS, ValueError)  # the last: numbers of a header
_TEXT = frozenset(SUFFIXES["text"])


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


@dataclass(slots=True, eq=False)
class _Member:
    """A text of the archive, which is read once."""

    name: str
    start: int
    """Bytes of all texts before it."""
    size: int
    stream: io.BufferedReader
    taken: int = 0
    """Bytes that were read."""
    is_damaged: bool = False

    @property
    def stop(self) -> int:
        """Where the next one begins."""
        return self.start + self.size


@dataclass(slots=True, eq=False)
class TarStream(FileStream):
    """The texts of a tar archive, plain or compressed, in its order.

    What else is in it is left out, and no text is what is no regular file (a link, a device) or has
    a name that leads out of the archive or came before.
    """

    left_out: Counter[str] = field(default_factory=Counter)
    """How many members are left out, by reason, of those that were surveyed."""
    _left_at: tuple[int, Iterator[_Member | Refusal]] | None = field(
        default=None, init=False, repr=False
    )
    """How far the archive was read, and what follows."""

    @property
    def is_sought(self) -> bool:
        """Whether what is before a text is passed over."""
        return not is_compressed(self.file.path)

    def knows_characters(self, place: Place) -> bool:
        """Whether a text begins there, or was read up to there."""
        return place.number == 0 or place.offset in self._characters

    def survey(self) -> Iterator[Place]:
        """Yields where texts and, in long ones, paragraphs begin, far enough apart."""
        self.left_out.clear()
        last = START
        total = 0
        for member in self._members(self.left_out):
            if isinstance(member, Refusal):
                break
            total = member.stop
            for place in chain(self._places_in(member), [Place(total, 0)]):
                if place.offset - last.offset >= STEP_BYTES:
                    last = place
                    yield place
        if last == START or last.offset != total:
            yield Place(total, 0)

    def documents(self, begin: Place = START, end: Place | None = None) -> Iterator[Document]:
        """Yields the texts; what cannot be read gives a refusal, and so does an empty archive."""
        left_at, self._left_at = self._left_at, None
        is_next = left_at is not None and left_at[0] == begin.offset
        members = left_at[1] if left_at and is_next else self._members(Counter())
        is_empty = True
        for member in members:
            if isinstance(member, Refusal):
                yield Document(self.name, [member])
                return
            if member.start < begin.offset and member.stop <= begin.offset:
                continue
            if end is None or member.start < end.offset:
                is_empty = False
                yield self._document(member, begin, end)
            if end is not None and end.offset < max(member.stop, member.start + 1):
                self._left_at = end.offset, chain([member], members)
                return
        if is_empty and begin == START and end is None:
            yield Document(self.name, [self.empty])

    def _places_in(self, member: _Member) -> Iterator[Place]:
        with suppress(*ERRORS):
            if self.is_recoded or is_binary(member.stream, self.config.encoding):
                return
            is_line = self.config.paragraphs == "line"
            for place, _ in pairwise(places_in(member.stream, lines_are_enough=is_line)):
                yield Place(member.start + place.offset, place.number)

    def _document(self, member: _Member, begin: Place, end: Place | None) -> Document:
        """Returns what of a text lies between two places."""
        start = max(begin.offset - member.start, 0)
        stop = member.size if end is None else min(end.offset - member.start, member.size)
        name = f"{self.name}/{member.name}"
        is_whole = start == 0 and stop == member.size
        empty = Refusal("empty_file", "holds no text", name) if is_whole else None
        at = TextPosition()
        if start:
            at = TextPosition(begin.number, self._characters.get(begin.offset))
        items = self._items(member, start, stop, at)
        return document_from(start, name, or_empty(items, empty))

    def _items(
        self, member: _Member, start: int, stop: int, at: TextPosition
    ) -> Iterator[Paragraph | Refusal]:
        name = f"{self.name}/{member.name}"
        limit = self.config.max_paragraph_characters
        try:
            skip(member.stream, start - member.taken)
        except ERRORS as error:
            member.is_damaged = True
            yield _damaged(name, error)
            return
        piece = Piece(member.stream, stop - start)
        text: io.BufferedReader = io.BufferedReader(cast("io.RawIOBase", piece), BUFFER_BYTES)
        if self.is_recoded:
            recoded = Recoded(text, self.config.encoding)
            text = io.BufferedReader(cast("io.RawIOBase", recoded), BUFFER_BYTES)
        lines = read_lines(
            text,
            name,
            encoding=self.config.encoding,
            is_recoded=self.is_recoded,
            max_characters=limit,
            at=at,
        )
        for item in paragraphs_of(lines, name, self.config.paragraphs, max_characters=limit):
            if isinstance(item, Refusal) and item.reason == "damaged_file":
                member.is_damaged = True
            yield item
        member.taken = stop - piece.left
        if stop < member.size and at.characters is not None:
            self._characters[member.start + stop] = at.characters

    def _members(self, left_out: Counter[str]) -> Iterator[_Member | Refusal]:
        """Yields the texts; where the archive cannot be read on, lastly why."""
        names = set[str]()
        total = begun = 0
        with ExitStack() as opened:
            try:
                archive = self._archive(opened)
                while (header := archive.next()) is not None:
                    if header.offset < begun or header.size < 0:
                        raise tarfile.ReadError("a size that leads back")
                    begun = header.offset + 1
                    archive.members.clear()  # type: ignore[attr-defined]  # it would keep all
                    path = PurePosixPath(_printable(header.name))
                    if reason := _why_left_out(header, path, names, left_out):
                        left_out[reason] += 1
                    elif header.isreg():
                        stream = cast("io.BufferedReader", archive.extractfile(header))
                        yield (member := _Member(str(path), total, header.size, stream))
                        if member.is_damaged:
                            return
                        total = member.stop
            except (PermissionError, FileNotFoundError) as error:
                yield self.unreadable(error)
            except _ERRORS as error:
                yield _damaged(self.name, error)

    def _archive(self, opened: ExitStack) -> tarfile.TarFile:
        raw = opened.enter_context(self.file.path.open("rb", buffering=0))
        stream = decompressed(raw, self.file.path)
        return tarfile.open(
            fileobj=stream,
            mode="r:" if self.is_sought else "r|",
            tarinfo=_Header,
            encoding="utf-8",
            errors="surrogateescape",
        )


def _why_left_out(
    header: tarfile.TarInfo, path: PurePosixPath, names: set[str], left_out: Counter[str]
) -> str:
    """Returns why a member is no text; "" of a text, and of a folder, which is passed over.

    Args:
        names: of the texts before; keeps this one's.
    """
    leads_out = path.is_absolute() or ".." in path.parts or "\\" in header.name
    is_text = header.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and header.sparse is None
    reason = ""
    if header.isdir():
        pass
    elif header.issym() or header.islnk():
        reason = "link in an archive"
    elif not is_text:
        reason = "no regular file in an archive"
    elif leads_out:
        reason = "name that leads out of an archive"
    elif any(part.startswith(".") for part in path.parts):
        reason = "hidden"
    elif path.suffix.lower() not in _TEXT:
        reason = why_not_text(path, left_out, ())
    elif str(path) in names:
        reason = "second of its name in an archive"
    else:
        names.add(str(path))
    return reason


def _printable(name: str) -> str:
    return printable(os.fsencode(name).decode("utf-8", "backslashreplace"))


def _damaged(name: str, error: Exception) -> Refusal:
    detail = f"unreadable from here on ({type(error).__name__}: {error}); make or fetch it again"
    return Refusal("damaged_file", detail, name)
