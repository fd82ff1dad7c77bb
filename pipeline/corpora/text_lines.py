"""Lines of a text file one at a time, in bounded memory, and what of it cannot be read."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.corpora.compression import ERRORS
from pipeline.corpora.document import excerpt_of
from pipeline.refusal import Refusal

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
