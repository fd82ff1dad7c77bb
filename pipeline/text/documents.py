"""Documents of paragraphs, which every source yields, and how they are read from lines.

A source is a list of streams, such as files. Where a stream can be cut is found by reading it once
(`Stream.survey`); after that each piece is read by itself, on any machine that has the stream. Text
is read in bounded memory, and what of it cannot be read is refused in its place.
"""

from __future__ import annotations

import codecs
import io
import lzma
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from treeviews.pipeline.base.refusal import Refusal, excerpt_of

UNPACKING_ERRORS: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""What reading a damaged compressed file may raise."""
READ_ERRORS: tuple[type[Exception], ...] = (*UNPACKING_ERRORS, tarfile.TarError, UnicodeError)
"""What reading damaged text may raise."""
STEP_BYTES = 500_000
"""Least text between two places at which a stream can be cut."""
ParagraphMode = Literal["blank-line", "line"]
"""What ends a paragraph."""

_BINARY_PROBE_BYTES = 8192
_WIDE_ENCODINGS = re.compile(r"utf[-_]?(?:16|32)|ucs", re.IGNORECASE)
_UNDECODABLE = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph of running text on one line."""

    text: str
    position: str
    """Where it begins, as ``file:line``."""
    start: int | None = None
    """Characters of the document before it, where each line end is one, as Python's ``open`` reads
    it; None where that is not known. In a row's field a line end is as many as it has there."""
    given: str | None = None
    """As it stands in the document from ``start`` on, with line ends; None where ``text`` is it."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text whose sentences are context for one another; consumed once, in order."""

    document_id: str
    """Stable name, unique in its source."""
    paragraphs: Iterable[Paragraph | Refusal]
    first_index: int = 0
    """Index of its first sentence; where this is a later piece of the document, one that no
    sentence before has."""


class ChangedTextError(ValueError):
    """A text is not, or no longer, the one that its source described; nothing of it may be kept."""


class Place(NamedTuple):
    """A place in a stream."""

    offset: int
    """Bytes of text before it, compression undone."""
    number: int
    """What stands before it: lines of a text, otherwise documents."""


START = Place(0, 0)


class Stream(Protocol):
    """Text that is read in one go, such as a file's."""

    @property
    def is_one_document(self) -> bool:
        """Whether its text is one document, which is cut only where it is long."""

    @property
    def is_sought(self) -> bool:
        """Whether reading from a place on takes no time for what is before it."""

    def survey(self) -> Iterator[Place]:
        """Yields where it can be cut, in order, `STEP_BYTES` or more apart; last, its end.

        There is always an end: what cannot be read is refused when that piece is read. No more is
        read than finding the places takes that are asked for.
        """

    def documents(self, begin: Place = START, end: Place | None = None) -> Iterator[Document]:
        """Yields the documents of a piece; each is read before the next is asked for.

        Args:
            begin: where the piece begins, as `survey` gave it.
            end: where the next one begins; None reads on to the end.
        """

    def check_unchanged(self) -> None:
        """Does nothing where the stream is what its source described.

        Raises:
            ChangedTextError: it is not.
        """


class Source(Protocol):
    """Where text comes from."""

    has_places: bool
    """Whether its paragraphs say where in their documents they start."""

    def describe(self) -> dict[str, Any]:
        """Returns everything that determines the content, JSON-serialisable, for a digest."""

    def to_dict(self) -> dict[str, Any]:
        """Returns what `text_sources.reopen` makes the same source from in another process.

        With what `describe` found, so that a change of the text in between is noticed there.
        """

    def streams(self) -> Sequence[Stream]:
        """Returns the streams, in the same order on every call."""

    def left_out(self) -> Mapping[str, int]:
        """Returns how many things beside the text were met and not read, by reason."""


def documents_of(source: Source) -> Iterator[Document]:
    """Yields all documents of a source, in order.

    Raises:
        ChangedTextError: what was read is not what was described.
    """
    for stream in source.streams():
        yield from stream.documents()
        stream.check_unchanged()


def places_apart(places: Iterable[Place]) -> Iterator[Place]:
    """Yields those places that are far enough apart, and the last one, which is the end."""
    last = end = START
    for end in places:
        if end.offset - last.offset >= STEP_BYTES:
            last = end
            yield end
    if last == START or last != end:
        yield end


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end."""

    number: int
    """1 for the first."""
    text: str
    start: int | None
    """Characters of the text before it, as `Paragraph.start` counts them; None where not known."""
    end: str = "\n"
    """What ended it, of the characters that count."""


@dataclass(slots=True)
class TextPosition:
    """How far a text was read; goes on with each line."""

    lines: int = 0
    characters: int | None = 0
    """Each line end is one; None where it is not known of what came before."""

    def advance(self, num_characters: int) -> None:
        """Goes on by a line of so many characters, its end among them."""
        self.lines += 1
        if self.characters is not None:
            self.characters += num_characters


def read_lines(
    stream: io.BufferedReader,
    name: str,
    *,
    encoding: str,
    max_characters: int,
    at: TextPosition | None = None,
) -> Iterator[Line | Refusal]:
    """Yields a file's lines; a line that can't be taken gives a refusal in its place.

    Refusals: ``binary_file`` (bytes of value 0 near its beginning) and ``damaged_file`` end the
    file, ``undecodable`` and ``giant_line`` cost the line.

    Args:
        stream: the file's bytes, decompressed.
        name: names the file in refusals.
        max_characters: no more of a line is ever held.
        at: where in the file the stream begins, by default at the file's beginning; goes on with
            each line.
    """
    at = at or TextPosition()
    try:
        if not at.lines and is_binary(stream, encoding):
            detail = "holds zero bytes, so it is no text; unpack it or set its encoding (utf-16?)"
            yield Refusal("binary_file", detail, name)
            return
        may_have_mark = not at.lines and codecs.lookup(encoding).name == "utf-8"
        codec = "utf-8-sig" if may_have_mark else encoding
        with io.TextIOWrapper(stream, encoding=codec, errors="surrogateescape") as text:
            while line := text.readline(max_characters + 1):
                number, start = at.lines + 1, at.characters
                is_giant = len(line) > max_characters and not line.endswith("\n")
                skipped = _skip_to_next_line(text, max_characters) if is_giant else 0
                at.advance(len(line) + skipped)
                position = f"{name}:{number}"
                if is_giant:
                    detail = (
                        f"more than {max_characters:,} characters on one line; break it into lines"
                    )
                    yield Refusal("giant_line", detail, position, excerpt_of(line))
                elif _UNDECODABLE.search(line):
                    detail = "bytes of another encoding; convert the file or set its encoding"
                    yield Refusal("undecodable", detail, position, excerpt_of(line.rstrip("\n")))
                else:
                    yield Line(number, line.rstrip("\n"), start)
    except READ_ERRORS as error:
        yield damaged(f"{name}:{at.lines + 1}", error)


def is_binary(stream: io.BufferedReader, encoding: str) -> bool:
    """Returns whether a file is no text: its first bytes, which are looked at, hold a zero."""
    probe = stream.peek(_BINARY_PROBE_BYTES)[:_BINARY_PROBE_BYTES]
    return b"\0" in probe and not _WIDE_ENCODINGS.search(encoding)


def damaged(position: str, error: Exception) -> Refusal:
    """Returns what stands for text that cannot be read."""
    shown = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    detail = f"unreadable from here on ({shown}); make or fetch it again"
    return Refusal("damaged_file", detail, position)


def _skip_to_next_line(text: io.TextIOWrapper, max_characters: int) -> int:
    """Returns the characters of what is left of a line, which is passed over."""
    skipped = 0
    while piece := text.readline(max_characters):
        skipped += len(piece)
        if piece.endswith("\n"):
            break
    return skipped


def paragraphs_of(
    lines: Iterable[Line | Refusal], name: str, mode: ParagraphMode, *, max_characters: int
) -> Iterator[Paragraph | Refusal]:
    """Yields the paragraphs of a file; refusals pass through and end the paragraph before them.

    Args:
        name: names the file in positions.
        mode: ``blank-line``: lines up to a blank one are joined; ``line``: every line is one.
        max_characters: a longer paragraph is refused as ``giant_paragraph``; of it, no more than
            this is held.
    """
    held: list[Line] = []
    characters = 0
    for line in lines:
        if isinstance(line, Line) and mode == "blank-line" and line.text.strip():
            if characters <= max_characters:
                held.append(line)
            characters += len(line.text) + 1
            continue
        if held:
            yield _joined(held, name, characters - 1, max_characters)
            held, characters = [], 0
        if isinstance(line, Refusal):
            yield line
        elif line.text.strip():
            yield Paragraph(line.text, f"{name}:{line.number}", line.start)
    if held:
        yield _joined(held, name, characters - 1, max_characters)


def _joined(lines: Sequence[Line], name: str, characters: int, most: int) -> Paragraph | Refusal:
    """Returns lines as one paragraph, or why they are none."""
    first = lines[0]
    position = f"{name}:{first.number}"
    text = " ".join(line.text for line in lines)
    if characters > most:
        detail = (
            f"{characters:,} characters without a blank line, at most {most:,}; separate "
            "paragraphs by blank lines, or set paragraphs=line if every line is one"
        )
        return Refusal("giant_paragraph", detail, position, excerpt_of(text))
    if len(lines) == 1:
        return Paragraph(text, position, first.start)
    given = "".join(part for line in lines for part in (line.text, line.end))
    return Paragraph(text, position, first.start, given.removesuffix(lines[-1].end))


def row_document(
    text: str | Refusal, position: str, mode: ParagraphMode, max_characters: int
) -> Document:
    """Returns the text of a row, or why there is none, as a document.

    A paragraph's position is the row's and the line in the text, as ``a.jsonl:3:1``.

    Args:
        position: of the row, and the document's name.
        mode, max_characters: of the text's paragraphs; see `paragraphs_of`.
    """
    if isinstance(text, Refusal):
        return Document(text.position, [text])
    lines = _lines_of(text)
    return Document(position, paragraphs_of(lines, position, mode, max_characters=max_characters))


def _lines_of(text: str) -> Iterator[Line]:
    start = 0
    for number, line in enumerate(io.StringIO(text, newline=""), start=1):
        content = line.rstrip("\r\n")
        yield Line(number, content, start, line[len(content) :])
        start += len(line)


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
