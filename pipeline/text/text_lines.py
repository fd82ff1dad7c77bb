"""Lines of texts: how they are read and refused, where they may be cut, paragraphs made of them."""

from __future__ import annotations

import codecs
import io
import lzma
import re
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from treeviews.pipeline.base.refusal import Refusal, excerpt_of
from treeviews.pipeline.text import documents
from treeviews.pipeline.text.documents import Document, Paragraph, ParagraphMode, Place
from treeviews.pipeline.text.text_files import FilesConfig

UNPACKING_ERRORS: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""What reading a damaged compressed file may raise."""
READ_ERRORS: tuple[type[Exception], ...] = (*UNPACKING_ERRORS, tarfile.TarError, UnicodeError)
"""What reading damaged text may raise."""

_BLOCK_BYTES = 1 << 20
_BINARY_PROBE_BYTES = 8192
_UNDECODABLE = re.compile("[\udc80-\udcff]")
_WIDE_ENCODINGS = re.compile(r"utf[-_]?(?:16|32)|ucs", re.IGNORECASE)


class TextName(NamedTuple):
    """A text of a stream: a file, a member of an archive, a row."""

    name: str
    start: int = 0
    """Bytes of the stream's text before it."""


class Line(NamedTuple):
    """One line of a text without its end, or one row of a table."""

    of: TextName
    before: Place
    """Bytes of the stream's text before it, and lines of the text, or rows of the table."""
    text: str | Refusal
    start: int | None = None
    """Characters of the text before it, where each line end is one; None where not known."""


def read_lines(
    stream: io.BufferedReader,
    of: TextName,
    config: FilesConfig,
    *,
    max_characters: int,
    before: Place | None = None,
) -> Iterator[Line]:
    """Yields a text's lines; a line that can't be taken holds a refusal.

    Refusals: ``binary_file`` (bytes of value 0 near its beginning) and ``damaged_file`` end the
    text, ``undecodable`` and ``giant_line`` cost the line, ``empty_file`` stands for a text of
    blank lines, if it is too short to be cut.

    Args:
        stream: the text's bytes, decompressed.
        max_characters: of a line; a longer one is never held.
        before: where the stream begins, by default at the text's beginning.
    """
    start, is_blank = (None, False) if before else (0, True)
    offset, number = before or (of.start, 0)
    encoding = "utf-8" if config.is_recoded else config.encoding
    is_utf8 = codecs.lookup(encoding).name == "utf-8"
    try:
        if not number and is_binary(stream, config):
            yield Line(of, Place(offset, 0), binary(of.name))
            return
        lines = _ended_lines(stream, config, 4 * max_characters + 2)
        for raw in lines:
            line = raw.decode(encoding, "surrogateescape")
            if is_utf8 and not number:
                line = line.removeprefix("\ufeff")
            content = line.removesuffix("\n").removesuffix("\r")
            place, number = Place(offset, number), number + 1
            offset += len(raw)
            position = f"{of.name}:{number}"
            refusal = giant(content, position, max_characters) or undecodable(content, position)
            yield Line(of, place, refusal or content, start)
            is_blank = is_blank and not content.strip()
            start = None if start is None else start + len(content) + 1
            if len(content) > max_characters:  # the rest of the line is passed over
                start = None
                while not raw.endswith((b"\n", b"\r")) and (raw := next(lines, b"")):
                    offset += len(raw)
        if is_blank and offset - of.start < documents.STEP_BYTES:
            yield Line(of, Place(of.start, 0), empty(of.name))
    except READ_ERRORS as error:
        yield Line(of, Place(offset, number), damaged(f"{of.name}:{number + 1}", error))


def giant(line: str, position: str, most: int) -> Refusal | None:
    """Returns why a line is refused that is too long."""
    if len(line) <= most:
        return None
    detail = f"more than {most:,} characters on one line; break it into lines"
    return Refusal("giant_line", detail, position, excerpt_of(line))


def undecodable(text: str, position: str) -> Refusal | None:
    """Returns why a text is refused that has bytes of another encoding, as lone surrogates."""
    if text.isascii() or not _UNDECODABLE.search(text):
        return None
    detail = "bytes of another encoding; convert the file or set its encoding"
    return Refusal("undecodable", detail, position, excerpt_of(text))


def _ended_lines(stream: io.BufferedReader, config: FilesConfig, limit: int) -> Iterator[bytes]:
    """Yields lines with their ends, as Python reads them; of a longer one, parts."""
    readline, held = _line_reader(stream, config), b""
    while read := readline(limit):
        if not held and b"\r" not in read:
            yield read
            continue
        lines = (held + read).splitlines(keepends=True)
        last = lines[-1]  # a line feed may follow a return
        is_open = last.endswith(b"\r") or not (last.endswith(b"\n") or len(last) >= limit)
        held = lines.pop() if is_open else b""
        yield from lines
    if held:
        yield held


def _line_reader(stream: io.BufferedReader, config: FilesConfig) -> Callable[[int], bytes]:
    """Returns what reads up to the next line feed, or so much; UTF-8 where it is recoded."""
    if not config.is_recoded:
        return stream.readline
    text = io.TextIOWrapper(stream, config.encoding, "surrogateescape", newline="\n")
    return lambda most: text.readline(most).encode("utf-8", "surrogateescape")


def binary(name: str) -> Refusal:
    """Returns what stands for a file that is no text."""
    detail = "holds zero bytes, so it is no text; unpack it or set its encoding (utf-16?)"
    return Refusal("binary_file", detail, name)


def empty(name: str) -> Refusal:
    """Returns what stands for the paragraphs of a text that has none."""
    return Refusal("empty_file", "holds no text; remove it from the paths", name)


def is_binary(stream: io.BufferedReader, config: FilesConfig) -> bool:
    """Returns whether a file is no text: its first bytes, which are looked at, hold a zero."""
    probe = stream.peek(_BINARY_PROBE_BYTES)[:_BINARY_PROBE_BYTES]
    return b"\0" in probe and not _WIDE_ENCODINGS.search(config.encoding)


def damaged(position: str, error: Exception) -> Refusal:
    """Returns what stands for text that cannot be read."""
    shown = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    detail = f"unreadable from here on ({shown}); make or fetch it again"
    return Refusal("damaged_file", detail, position)


def places_in(
    text: io.BufferedReader, config: FilesConfig, *, lines_are_enough: bool
) -> Iterator[Place]:
    """Yields the places in a text behind blank lines, far enough apart, and its end.

    Where it cannot be read on, that is its end.

    Args:
        lines_are_enough: behind any line.
    """
    last = offset = number = 0
    is_cut = False
    with suppress(*READ_ERRORS):
        for line in _ended_lines(text, config, _BLOCK_BYTES):
            if is_cut:
                yield Place(offset, number)
                last = offset
            begin, offset = offset, offset + len(line)
            is_whole = line.endswith((b"\n", b"\r"))
            number += is_whole
            is_far = (offset if lines_are_enough else begin) - last >= documents.STEP_BYTES
            is_cut = is_far and is_whole and (lines_are_enough or not line.strip(b" \t\r\n"))
    yield Place(offset, number)


def paragraphs_of(
    lines: Iterable[Line], name: str, mode: ParagraphMode, most: int
) -> Iterator[Paragraph | Refusal]:
    """Yields the paragraphs of a text; refusals pass through and end the paragraph before them.

    Args:
        name: names the text in positions.
        mode: ``blank-line``: lines up to a blank one are joined; ``line``: every line is one.
        most: characters of a paragraph; a longer one is refused as ``giant_paragraph``, and no more
            than this of it is held.
    """
    held: list[Line] = []
    characters = 0
    for line in lines:
        text = line.text if isinstance(line.text, str) else ""
        if mode == "blank-line" and text.strip():
            if characters <= most:
                held.append(line)
            characters += len(text) + 1
            continue
        if held:
            yield _joined(held, name, characters - 1, most)
            held, characters = [], 0
        if isinstance(line.text, Refusal):
            yield line.text
        elif text.strip():
            yield _joined([line], name, 0, most)
    if held:
        yield _joined(held, name, characters - 1, most)


def _joined(lines: Sequence[Line], name: str, characters: int, most: int) -> Paragraph | Refusal:
    """Returns lines as one paragraph, or why they are none."""
    text = " ".join(str(line.text) for line in lines)
    position = f"{name}:{lines[0].before.number + 1}"
    if characters > most:
        detail = (
            f"{characters:,} characters without a blank line, at most {most:,}; separate "
            "paragraphs by blank lines, or set paragraphs=line if every line is one"
        )
        return Refusal("giant_paragraph", detail, position, excerpt_of(text))
    return Paragraph(text, position, lines[0].start)


def row_document(text: str | Refusal, position: str, mode: ParagraphMode, most: int) -> Document:
    """Returns the text of a row, or why there is none, as a document.

    A paragraph's position is the row's and the line in the text, as ``a.jsonl:3:1``.

    Args:
        position: of the row, and the document's name.
        mode, most: of the text's paragraphs; see `paragraphs_of`.
    """
    if isinstance(text, Refusal):
        return Document(text.position, [text])
    return Document(position, paragraphs_of(_lines_of(text), position, mode, most))


def _lines_of(text: str) -> Iterator[Line]:
    start = 0
    for number, line in enumerate(io.StringIO(text, newline=None)):
        yield Line(TextName(""), Place(0, number), line.removesuffix("\n"), start)
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
