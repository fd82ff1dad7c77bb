"""Documents of paragraphs: what every source yields, and how they are read from a file's lines.

A file is read in bounded memory, and what of it cannot be read is refused in its place.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pipeline.base.refusal import Refusal, excerpt_of
from pipeline.text.file_list import ERRORS


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph of running text on one line."""

    text: str
    position: str
    """Where it begins, as ``file:line``."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text whose sentences are context for one another; consumed once, in order."""

    document_id: str
    """Stable name, unique in its source."""
    paragraphs: Iterable[Paragraph | Refusal]


class ChangedTextError(ValueError):
    """A text is not, or no longer, the one that its source described; nothing of it may be kept."""


class Source(Protocol):
    """Where text comes from."""

    def describe(self) -> dict[str, Any]:
        """Returns everything that determines the content, JSON-serialisable, for a digest."""
        ...

    def documents(self) -> Iterator[Document]:
        """Yields the documents, in the same order on every call.

        A document's paragraphs are read before the next document is asked for.

        Raises:
            ChangedTextError: what was read is not what was described.
        """
        ...

    def check_unchanged(self) -> None:
        """Does so for what was read last, where not all documents were asked for.

        Raises:
            ChangedTextError: it is not what was described.
        """
        ...

    def left_out(self) -> Mapping[str, int]:
        """Returns how many things beside the text were met and not read, by reason."""
        ...

    def fraction_read(self) -> float:
        """Returns how much of the text the last iteration has read, from 0 to 1."""
        ...


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


def read_lines(
    stream: io.BufferedReader, name: str, *, encoding: str, max_characters: int
) -> Iterator[Line | Refusal]:
    """Yields a file's lines; a line that can't be taken gives a refusal in its place.

    Refusals: ``binary_file`` (bytes of value 0 near its beginning) and ``damaged_file`` end the
    file, ``undecodable`` and ``giant_line`` cost the line.

    Args:
        stream: the file's bytes, decompressed.
        name: names the file in refusals.
        max_characters: no more of a line is ever held.
    """
    try:
        if b"\0" in stream.peek(_BINARY_PROBE_BYTES) and not _WIDE_ENCODINGS.search(encoding):
            detail = "holds zero bytes, so it is no text; unpack it or set its encoding (utf-16?)"
            yield Refusal("binary_file", detail, name)
            return
    except ERRORS as error:
        yield _damaged(name, 1, error)
        return
    codec = "utf-8-sig" if encoding.lower().replace("_", "-") in {"utf-8", "utf8"} else encoding
    with io.TextIOWrapper(stream, encoding=codec, errors="surrogateescape") as text:
        number = 0
        while True:
            number += 1
            try:
                line = text.readline(max_characters + 1)
                giant = len(line) > max_characters and not line.endswith("\n")
                if giant:
                    _skip_to_next_line(text, max_characters)
            except _READ_ERRORS as error:
                yield _damaged(name, number, error)
                return
            if not line:
                return
            yield _checked(line.rstrip("\n"), f"{name}:{number}", number, encoding, giant=giant)


def _checked(
    text: str, position: str, number: int, encoding: str, *, giant: bool
) -> Line | Refusal:
    if giant:
        detail = f"more than {len(text) - 1:,} characters on one line; break it into lines"
        return Refusal("giant_line", detail, position, excerpt_of(text))
    if _UNDECODABLE.search(text):
        detail = f"bytes that are not {encoding}; convert the file or set its encoding"
        return Refusal("undecodable", detail, position, excerpt_of(text))
    return Line(number, text)


def _skip_to_next_line(text: io.TextIOWrapper, max_characters: int) -> None:
    while (piece := text.readline(max_characters)) and not piece.endswith("\n"):
        pass


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
    collected: list[str] = []
    first = characters = 0
    for line in lines:
        if isinstance(line, Line) and mode == "blank-line" and line.text.strip():
            first = first if characters else line.number
            if characters <= max_characters:
                collected.append(line.text)
            characters += len(line.text) + 1
            continue
        if characters:
            yield _joined(collected, f"{name}:{first}", characters, max_characters)
            collected, characters = [], 0
        if isinstance(line, Refusal):
            yield line
        elif line.text.strip():
            yield Paragraph(line.text, f"{name}:{line.number}")
    if characters:
        yield _joined(collected, f"{name}:{first}", characters, max_characters)


def _joined(
    lines: list[str], position: str, characters: int, max_characters: int
) -> Paragraph | Refusal:
    text = " ".join(lines)
    if characters - 1 <= max_characters:
        return Paragraph(text, position)
    detail = (
        f"{characters:,} characters without a blank line, at most {max_characters:,}; separate "
        "paragraphs by blank lines, or set paragraphs=line if every line is one"
    )
    return Refusal("giant_paragraph", detail, position, excerpt_of(text))
