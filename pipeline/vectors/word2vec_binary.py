"""word2vec's binary format: a header of two counts, then each word, a space and its float32.

Legend: E numbers a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from pipeline.shards.arrow import strings
from pipeline.vectors.source_files import HEADER, Block, RefusedRow, checked_width

_ROWS_AT_ONCE = 8_192
_BLOCK_BYTES = 32 << 20
"""Of wide rows fewer are read at once."""
_MAX_WORD_BYTES = 1 << 16
_REMEDY = "it was cut short or is another format; fetch it again"


class Word2VecReader:
    """Reads the rows of an open file."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        """Reads the header.

        Raises:
            ValueError: there is none, or what it says cannot be.
        """
        self._path, self._stream, self._rest = path, stream, b""
        header = HEADER.fullmatch(stream.readline(100))
        if header is None or not int(header[2]):
            raise ValueError(f"{path}: no header of word2vec's binary format; {_REMEDY}")
        self.promised: int | None = int(header[1])
        self.width = checked_width(path, int(header[2]))
        self._at_once = max(min(_ROWS_AT_ONCE, _BLOCK_BYTES // (4 * self.width)), 1)

    def blocks(self) -> Iterator[Block]:
        """Yields all rows, once.

        Raises:
            ValueError: the file is broken; names it and where.
        """
        assert self.promised is not None
        for first in range(1, self.promised + 1, self._at_once):
            yield self._block(first, min(self._at_once, self.promised + 1 - first))

    def _block(self, first: int, num_rows: int) -> Block:
        words: list[str] = []
        refused: list[RefusedRow] = []
        rows = np.empty((num_rows, self.width), dtype="<f4")
        for number in range(first, first + num_rows):
            raw, content = self._row(number)
            row = rows[len(words)]
            row[:] = np.frombuffer(content, "<f4")
            try:
                word = raw.decode()
            except UnicodeDecodeError:
                refused.append(RefusedRow(number, "not_utf8", "the word is no UTF-8 text"))
                continue
            if not word:
                refused.append(RefusedRow(number, "no_word", "the word is empty"))
            elif not np.isfinite(row).all():
                refused.append(RefusedRow(number, "no_number", "a number is not finite"))
            else:
                words.append(word)
        kept = rows[: len(words)].astype(np.float32, copy=False)
        return Block(strings(words), kept, first, num_rows, tuple(refused))

    def _row(self, number: int) -> tuple[bytes, bytes]:
        """Returns the next word and the bytes of its numbers.

        Raises:
            ValueError: the file ends before, or what comes is no word.
        """
        num_bytes = 4 * self.width
        while True:
            end = self._rest.find(b" ", self._at)
            if end >= 0 and len(self._rest) - end > num_bytes:
                break
            more = self._stream.read(self._at_once * num_bytes)
            if not more or (end < 0 and len(self._rest) - self._at > _MAX_WORD_BYTES):
                raise ValueError(
                    f"{self._path}: row {number:,} of {self.promised:,} is not whole; {_REMEDY}"
                )
            self._rest, self._at = self._rest[self._at :] + more, 0
        word, start = self._rest[self._at : end], end + 1
        self._at = start + num_bytes
        return word.lstrip(b"\n"), self._rest[start : self._at]

    _at = 0
