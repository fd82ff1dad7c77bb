"""GloVe's text, and word2vec's and fastText's, which have a header: a word and its numbers a line.

Blocks of lines are parsed by Arrow's reader of CSV, several at a time; a block in which anything
is unusual is read again line by line. Both ways give the numbers that Python's ``float`` gives,
rounded to float32. Legend: E numbers a word.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.shards.arrow import strings
from pipeline.vectors.source_files import HEADER, Block, RefusedRow, checked_width

BLOCK_BYTES = 4 << 20
MAX_LINE_BYTES = 1 << 20
"""A vector of 10,000 numbers takes a tenth of it."""
_CSV_BLOCK_BYTES = 1 << 20
_LINES_LOOKED_AT = 100
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""No part of a file's first word. Arrow drops it at the beginning of every block."""
_REMEDY = "fetch or train them again, or give others"


class TextReader:
    """Reads the lines of an open file."""

    def __init__(self, path: Path, stream: IO[bytes], *, threads: int = 0) -> None:
        """Reads the first lines, from which the width is known.

        Args:
            path: for messages.
            threads: that parse; 0 takes all cores.

        Raises:
            ValueError: the file is no text of word vectors; names it and the line.
        """
        self._path, self._stream = path, stream
        self._threads = threads or len(os.sched_getaffinity(0))
        self._line = 1
        head = self._read_block().removeprefix(_BYTE_ORDER_MARK)
        line = head.partition(b"\n")[0]
        header = HEADER.fullmatch(line)
        self.promised = int(header[1]) if header else None
        self._num_header_lines = 1 if header else 0
        lines = head.split(b"\n", _LINES_LOOKED_AT)[self._num_header_lines : _LINES_LOOKED_AT]
        widths = _widths(lines)
        width = int(header[2]) if header else widths.most_common(1)[0][0] if widths else 0
        if not width:
            found = len(line.split())
            raise ValueError(
                f"{path}:1: expected a word and its numbers, found {found} fields; {_REMEDY}"
            )
        self.width = checked_width(path, width)
        if header and widths and max(widths) < width:  # a word may have spaces, which count, too
            raise ValueError(
                f"{path}:1: the header says {width:,} numbers a word, the first lines have "
                f"{max(widths):,} at most; {_REMEDY}"
            )
        self._head = head[len(line) + 1 :] if header else head
        first = b"".join(lines[:1]).rstrip(b"\r")
        self._columns = _Columns(self.width, ends_in_space=first.endswith(b" "))

    def blocks(self) -> Iterator[Block]:
        """Yields the rows of all lines, once.

        Raises:
            ValueError: the file is broken; names it and where.
        """
        self._line, waiting = self._num_header_lines + 1, deque[Future[Block]]()
        with ThreadPoolExecutor(self._threads) as pool:
            content = self._head
            while content:
                waiting.append(pool.submit(self._columns.parse, content, self._line))
                self._line += content.count(b"\n")
                if len(waiting) > self._threads:
                    yield waiting.popleft().result()
                content = self._read_block()
            while waiting:
                yield waiting.popleft().result()

    def _read_block(self) -> bytes:
        """Returns some whole lines; b"" at the end.

        Raises:
            ValueError: a line is longer than any can be.
        """
        content = self._stream.read(BLOCK_BYTES)
        if content and not content.endswith(b"\n"):
            content += self._stream.readline(MAX_LINE_BYTES)
        cut = len(content) - 1 - content.rfind(b"\n")
        if cut > MAX_LINE_BYTES or (cut and len(content) > BLOCK_BYTES + MAX_LINE_BYTES - 1):
            line = self._line + content.count(b"\n")
            raise ValueError(
                f"{self._path}:{line}: a line of more than "
                f"{MAX_LINE_BYTES:,} characters, which is no word vector; {_REMEDY}"
            )
        return content


def _widths(lines: list[bytes]) -> Counter[int]:
    """Returns how many of the first lines have so many numbers, in the order they are met."""
    return Counter(len(line.rstrip().split(b" ")) - 1 for line in lines if line.strip())


class _Columns:
    """Parses lines of a word and E numbers."""

    def __init__(self, width: int, *, ends_in_space: bool) -> None:
        from pyarrow import csv

        self._width = width
        names = [str(number) for number in range(width + 1)]
        self._numbers = names[1:]
        types = dict.fromkeys(self._numbers, pa.float64()) | {"0": pa.large_string()}
        self._read = csv.ReadOptions(
            use_threads=False,
            block_size=_CSV_BLOCK_BYTES,
            column_names=[*names, "end"] if ends_in_space else names,
        )
        self._split = csv.ParseOptions(
            delimiter=" ", quote_char=False, escape_char=False, ignore_empty_lines=False
        )
        self._convert = csv.ConvertOptions(
            column_types=types,
            include_columns=names,
            null_values=[],
            strings_can_be_null=False,
            check_utf8=True,
        )

    def parse(self, content: bytes, first_line: int) -> Block:
        """Returns the rows of some whole lines.

        Args:
            first_line: the number of the first one, from 1.
        """
        if b"\r" in content:
            content = content.replace(b"\r\n", b"\n")
        is_odd = b"\r" in content or content.startswith(_BYTE_ORDER_MARK)
        fast = None if is_odd else self._parse_usual(content, first_line)
        return fast or self._parse_lines(content, first_line)

    def _parse_usual(self, content: bytes, first_line: int) -> Block | None:
        """Returns the rows where every line is as it should be."""
        from pyarrow import csv

        try:
            table = csv.read_csv(
                pa.BufferReader(content),
                read_options=self._read,
                parse_options=self._split,
                convert_options=self._convert,
            )
        except pa.ArrowInvalid:
            return None
        rows = np.empty((table.num_rows, self._width), dtype=np.float32)
        start = 0
        with np.errstate(over="ignore"):
            for batch in table.select(self._numbers).to_batches():
                rows[start : start + len(batch)] = batch.to_tensor(row_major=True).to_numpy()
                start += len(batch)
        words = table["0"].combine_chunks()
        lengths = np.diff(np.frombuffer(words.buffers()[1], np.int64, len(words) + 1))
        if not lengths.all() or not _is_finite(rows):
            return None
        return Block(words, rows, first_line, len(rows))

    def _parse_lines(self, content: bytes, first_line: int) -> Block:
        words: list[str] = []
        rows: list[NDArray[np.float32]] = []
        refused: list[RefusedRow] = []
        lines = content.split(b"\n")
        for number, line in enumerate(lines if lines[-1] else lines[:-1], first_line):
            parsed = self._parse_line(line, number)
            if isinstance(parsed, RefusedRow):
                refused.append(parsed)
            else:
                words.append(parsed[0])
                rows.append(parsed[1])
        table = np.array(rows, dtype=np.float32).reshape(len(rows), self._width)
        return Block(strings(words), table, first_line, len(rows) + len(refused), tuple(refused))

    def _parse_line(self, line: bytes, number: int) -> tuple[str, NDArray[np.float32]] | RefusedRow:
        # GloVe's large sets hold words with spaces in them, so fields count from the right.
        fields = line.rstrip(b" \t\r").rsplit(b" ", self._width)
        if len(fields) != self._width + 1 or not fields[0] or _ends_in_a_number(fields[0]):
            found = len(line.split())
            return RefusedRow(
                number,
                "ragged",
                f"expected a word and {self._width} numbers, found {found} fields; the row is "
                "ragged, or the file cut short or no word vectors",
            )
        try:
            word = fields[0].decode()
        except UnicodeDecodeError:
            return RefusedRow(number, "not_utf8", "the word is no UTF-8 text")
        row = np.empty(self._width, dtype=np.float32)
        for place, text in enumerate(fields[1:]):
            row[place] = _number(text)
            if not np.isfinite(row[place]):
                return RefusedRow(
                    number,
                    "no_number",
                    f"number {place + 1} of {self._width} is not a finite number",
                )
        return word, row


def _is_finite(rows: NDArray[np.float32]) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(rows.sum(axis=0)).all() or np.isfinite(rows).all())


def _number(text: bytes) -> Any:
    try:
        with np.errstate(over="ignore"):
            return np.float32(float(text)) if b"_" not in text else np.nan
    except ValueError:
        return np.nan


def _ends_in_a_number(word: bytes) -> bool:
    """Whether a word with spaces ends in a decimal number, so that its row has one too many."""
    _, space, tail = word.rpartition(b" ")
    return bool(space) and b"." in tail and bool(np.isfinite(_number(tail)))
