"""Documents of paragraphs: what every source yields, and how they are read from a file's lines.

A file is read in bounded memory, and what of it cannot be read is refused in its place.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from pipeline.base.refusal import Refusal, excerpt_of
from pipeline.sources.file_list import ERRORS


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


ParagraphMode = Literal["blank-line", "line"]
"""What ends a paragraph."""

_BINARY_PROBE_BYTES = 8192
_WIDE_ENCODINGS = re.compile(r"utf[-_]?(?:16|32)|ucs", re.IGNORECASE)
_READ_ERRORS: tuple[type[Exception], ...] = (*ERRORS, UnicodeError)
_UNDECODABLE = re.compile("[\udc80-\udcff]")


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
    """How far a text is read; goes on with each line."""

    lines: int = 0
    """Read so far."""
    characters: int | None = 0
    """Read so far, where each line end is one; None where it is not known of what came before."""

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
    is_recoded: bool = False,
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
        is_recoded: the stream is the file's text in UTF-8, whatever its encoding was.
    """
    at = at or TextPosition()
    is_begun = at.lines > 0
    try:
        if not is_begun and is_binary(stream, encoding):
            detail = "holds zero bytes, so it is no text; unpack it or set its encoding (utf-16?)"
            yield Refusal("binary_file", detail, name)
            return
    except ERRORS as error:
        yield _damaged(name, at.lines + 1, error)
        return
    is_utf_8 = encoding.lower().replace("_", "-") in {"utf-8", "utf8"}
    codec = "utf-8" if is_utf_8 or is_recoded else encoding
    codec += "-sig" if codec == "utf-8" and not is_begun else ""
    with io.TextIOWrapper(stream, encoding=codec, errors="surrogateescape") as text:
        while True:
            number, start = at.lines + 1, at.characters
            try:
                line = text.readline(max_characters + 1)
                giant = len(line) > max_characters and not line.endswith("\n")
                skipped = _skip_to_next_line(text, max_characters) if giant else 0
            except _READ_ERRORS as error:
                yield _damaged(name, number, error)
                return
            if not line:
                return
            at.advance(len(line) + skipped)
            read = Line(number, line.rstrip("\n"), start)
            yield _checked(read, f"{name}:{number}", encoding, giant=giant)


def is_binary(stream: io.BufferedReader, encoding: str) -> bool:
    """Returns whether a file is no text: its first bytes, which are looked at, hold a zero."""
    probe = stream.peek(_BINARY_PROBE_BYTES)
    return b"\0" in probe and not _WIDE_ENCODINGS.search(encoding)


def _checked(line: Line, position: str, encoding: str, *, giant: bool) -> Line | Refusal:
    text = line.text
    if giant:
        detail = f"more than {len(text) - 1:,} characters on one line; break it into lines"
        return Refusal("giant_line", detail, position, excerpt_of(text))
    if _UNDECODABLE.search(text):
        detail = f"bytes that are not {encoding}; convert the file or set its encoding"
        return Refusal("undecodable", detail, position, excerpt_of(text))
    return line


def _skip_to_next_line(text: io.TextIOWrapper, max_characters: int) -> int:
    """Returns the characters of what is left of a line, which is passed over."""
    skipped = 0
    while piece := text.readline(max_characters):
        skipped += len(piece)
        if piece.endswith("\n"):
            break
    return skipped


def _damaged(name: str, number: int, error: Exception) -> Refusal:
    detail = f"unreadable from here on ({type(error).__name__}: {error}); make or fetch it again"
    return Refusal("damaged_file", detail, f"{name}:{number}")


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
    found = _Lines(name, max_characters)
    for line in lines:
        if isinstance(line, Line) and mode == "blank-line" and line.text.strip():
            found.add(line)
            continue
        if found.characters:
            yield found.joined()
            found = _Lines(name, max_characters)
        if isinstance(line, Refusal):
            yield line
        elif line.text.strip():
            yield Paragraph(line.text, f"{name}:{line.number}", line.start)
    if found.characters:
        yield found.joined()


class _Lines:
    """The lines of one paragraph, as many as are held."""

    def __init__(self, name: str, max_characters: int) -> None:
        self._name, self._most = name, max_characters
        self._first: Line | None = None
        self._texts: list[str] = []
        self._ends: list[str] = []
        self.characters = 0

    def add(self, line: Line) -> None:
        """Adds a line that is not blank."""
        self._first = self._first or line
        if self.characters <= self._most:
            self._texts.append(line.text)
            self._ends.append(line.end)
        self.characters += len(line.text) + 1

    def joined(self) -> Paragraph | Refusal:
        """Returns them as a paragraph, or why they are none."""
        assert self._first is not None
        position = f"{self._name}:{self._first.number}"
        if self.characters - 1 > self._most:
            detail = (
                f"{self.characters:,} characters without a blank line, at most {self._most:,}; "
                "separate paragraphs by blank lines, or set paragraphs=line if every line is one"
            )
            return Refusal("giant_paragraph", detail, position, excerpt_of(" ".join(self._texts)))
        if len(self._texts) == 1:
            return Paragraph(self._texts[0], position, self._first.start)
        with_ends = [part for line in zip(self._texts, self._ends, strict=True) for part in line]
        given = "".join(with_ends[:-1])
        return Paragraph(" ".join(self._texts), position, self._first.start, given)
