"""Files of word vectors that others wrote, in blocks of rows: text and word2vec's binary format.

Text is GloVe's, and word2vec's and fastText's, which have a header: a word and its numbers a line.
Blocks of lines are parsed by Arrow's reader of CSV; a block in which anything is unusual is read
again line by line. Both ways give the numbers that Python's ``float`` gives,
rounded to float32. Binary is a header of two counts, then each word, a space and its float32.
Legend: E numbers a word.
"""

from __future__ import annotations

import errno
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treeviews.pipeline.base.refusal import Refusal, shortened
from treeviews.pipeline.shards.arrow import strings
from treeviews.pipeline.vectors.vector_folder import REMEDY

Format = Literal["text", "word2vec"]
MAX_LINE_BYTES = 1 << 20
"""A vector of 10,000 numbers takes a tenth of it."""
BLOCK_BYTES = 4 << 20
_HEADER = re.compile(rb"\s*([0-9]{1,9})[ \t]+([1-9][0-9]{,4})\s*")
"""Of word2vec's formats: the number of words, and of the numbers a word, some thousands at most."""
_LINE = re.compile(rb"[^ \n]+( [-+.0-9eE]+)+ ?\r?")
_LINES_LOOKED_AT = 100
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""No part of a file's first word. Arrow drops it at the beginning of every block."""
_CSV_BLOCK_BYTES = 1 << 20
_BINARY_BLOCK_BYTES = 32 << 20
_MAX_WORD_BYTES = 1 << 16
_NOT_UTF8 = "not_utf8", "the word is no UTF-8 text"
_FOREIGN = {
    (793_712_314).to_bytes(4, "little"): "fastText's .bin, which is not read; give the .vec that "
    "lies beside it, or convert it by gensim: load_facebook_vectors(PATH)",
    b"\x80": "gensim's own format, which is not read; convert it by gensim: "
    "KeyedVectors.load(PATH)",
}
"""The first bytes of what is not read -> what it is, and how to make a file of it that is."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some rows of a file, in order."""

    words: pa.Array
    """``large_string`` [n], none empty."""
    rows: NDArray[np.float32]
    """[n, E], all finite."""
    num_read: int
    """Lines or rows, refused ones included."""
    refused: tuple[Refusal, ...] = ()
    """Their positions are the numbers of lines or rows, from 1."""


@contextmanager
def open_unpacked(path: Path, member: str = "") -> Iterator[io.BufferedReader]:
    """Yields a file's bytes, unpacked by its suffix: .gz, .bz2, .xz, .zst, .zip.

    Args:
        member: of a .zip, the file in it; where it has one, none need be named.

    Raises:
        FileNotFoundError: no such file.
        ValueError: what is packed is broken, or a .zip holds several files and none was named.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such word vectors; give a folder or a file")
    if (suffix := path.suffix.lower()) not in {".gz", ".bz2", ".xz", ".zst", ".zip"}:
        with path.open("rb") as stream:
            yield stream
        return
    from treeviews.pipeline.text.text_files import decompressed
    from treeviews.pipeline.text.text_lines import UNPACKING_ERRORS  # not on a bare GPU machine

    # Of a zip RuntimeError: encrypted, or packed in a way that Python does not know.
    broken: tuple[type[Exception], ...] = (*UNPACKING_ERRORS, zipfile.BadZipFile, RuntimeError)
    try:
        with path.open("rb") as stream:
            if suffix == ".zip":
                archive = zipfile.ZipFile(stream)
                raw = archive.open(_member(path, archive, member))
                yield io.BufferedReader(cast("io.RawIOBase", raw))
            else:
                yield decompressed(stream, path)
    except broken as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # the disk's; what is broken has no number, or a place before its beginning
        raise ValueError(
            f"{path}: broken {suffix} file ({error}); fetch it again, or unpack it by another "
            "program"
        ) from error


def _member(path: Path, archive: zipfile.ZipFile, member: str) -> str:
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    if member in names or (len(names) == 1 and not member):
        return member or names[0]
    wrong = f"has no member {member!r}" if member else "has not one file in it"
    raise ValueError(
        f"{path}: {wrong}; name one of {shortened(names)} (--member on a command line)"
    )


def format_of(path: Path, member: str = "") -> Format:
    """Returns which format a file has, by its first bytes.

    Raises:
        FileNotFoundError, ValueError: as `open_unpacked`; or a format that other libraries convert.
    """
    with open_unpacked(path, member) as stream:
        head = stream.read(1 << 20)
    for beginning, description in _FOREIGN.items():
        if head.startswith(beginning):
            raise ValueError(
                f'{path}: {description}.save_word2vec_format("vectors.bin", binary=True)'
            )
    line, _, rest = head.partition(b"\n")
    lines = rest.split(b"\n", _LINES_LOOKED_AT)[:_LINES_LOOKED_AT]
    is_binary = _HEADER.fullmatch(line) and rest and not any(map(_LINE.fullmatch, lines))
    return "word2vec" if is_binary else "text"


class TextReader:
    """Reads the lines of an open file."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        """Reads the first lines, from which the width is known.

        Args:
            path: for messages.

        Raises:
            ValueError: the file is no text of word vectors; names it and the line.
        """
        self._path, self._stream, self._line = path, stream, 1
        head = self._read_block().removeprefix(_BYTE_ORDER_MARK)
        first, _, rest = head.partition(b"\n")
        header = _HEADER.fullmatch(first)
        self._promised = int(header[1]) if header else None
        self._head = rest if header else head
        lines = filter(bytes.strip, head.split(b"\n", _LINES_LOOKED_AT)[:_LINES_LOOKED_AT])
        widths = Counter(len(line.rstrip().split(b" ")) - 1 for line in lines)
        width = int(header[2]) if header else max(widths, key=widths.__getitem__, default=0)
        if not width:
            raise ValueError(
                f"{path}:1: expected a word and its numbers, found {len(first.split())} fields; "
                f"{REMEDY}"
            )
        self.width = width
        self._line += header is not None

    def blocks(self) -> Iterator[Block]:
        """Yields the rows of all lines, once.

        Raises:
            ValueError: the file is broken; names it and where.
        """
        content, num_read = self._head, 0
        while content:
            block = self._parse(content, self._line)
            num_read += block.num_read
            yield block
            self._line += content.count(b"\n")
            content = self._read_block()
        if self._promised not in (None, num_read) or self._promised == 0:
            raise ValueError(
                f"{self._path}:1: the header promises {self._promised} words, the file holds "
                f"{num_read}; it was cut short: fetch it again, or give another"
            )

    def _read_block(self) -> bytes:
        """Returns some whole lines; b"" at the end.

        Raises:
            ValueError: a line is longer than any can be.
        """
        content = self._stream.read(BLOCK_BYTES)
        if content and not content.endswith(b"\n"):
            content += self._stream.readline(MAX_LINE_BYTES)
        if len(content) - 1 - content.rfind(b"\n") >= MAX_LINE_BYTES:
            line = self._line + content.count(b"\n")
            raise ValueError(
                f"{self._path}:{line}: a line of more than "
                f"{MAX_LINE_BYTES:,} characters, which is no word vector; {REMEDY}"
            )
        return content

    def _parse(self, content: bytes, first_line: int) -> Block:
        """Returns the rows of some whole lines.

        Args:
            first_line: the number of the first one, from 1.
        """
        content = content.replace(b"\r\n", b"\n").replace(b" \n", b"\n")
        is_odd = b"\r" in content or content.startswith(_BYTE_ORDER_MARK)
        fast = None if is_odd else self._parse_usual(content)
        return fast or self._parse_lines(content, first_line)

    def _parse_usual(self, content: bytes) -> Block | None:
        """Returns the rows where every line is as it should be."""
        from pyarrow import csv

        names = [str(number) for number in range(1, self.width + 1)]
        try:
            table = csv.read_csv(
                pa.BufferReader(content),
                csv.ReadOptions(block_size=_CSV_BLOCK_BYTES, column_names=["word", *names]),
                csv.ParseOptions(
                    delimiter=" ", quote_char=False, escape_char=False, ignore_empty_lines=False
                ),
                csv.ConvertOptions(
                    column_types={"word": pa.large_string(), **dict.fromkeys(names, pa.float64())},
                    null_values=[],
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid:
            return None
        rows = np.empty((table.num_rows, self.width), dtype=np.float32)
        start = 0
        with np.errstate(over="ignore"):
            for batch in table.select(names).to_batches():
                rows[start : start + len(batch)] = batch.to_tensor(row_major=True).to_numpy()
                start += len(batch)
        words = table["word"].combine_chunks()
        if pc.any(pc.equal(words, "")).as_py() or not _is_finite(rows):
            return None
        return Block(words, rows, len(rows))

    def _parse_lines(self, content: bytes, first_line: int) -> Block:
        words: list[str] = []
        rows: list[NDArray[np.float32]] = []
        refused: list[Refusal] = []
        lines = content.split(b"\n")
        for number, line in enumerate(lines if lines[-1] else lines[:-1], first_line):
            parsed = self._parse_line(line, number)
            if isinstance(parsed, Refusal):
                refused.append(parsed)
            else:
                words.append(parsed[0])
                rows.append(parsed[1])
        table = np.array(rows, dtype=np.float32).reshape(len(rows), self.width)
        return Block(strings(words), table, len(rows) + len(refused), tuple(refused))

    def _parse_line(self, line: bytes, number: int) -> tuple[str, NDArray[np.float32]] | Refusal:
        # GloVe's large sets hold words with spaces in them, so fields count from the right.
        fields = line.rstrip(b" \t\r").rsplit(b" ", self.width)
        if len(fields) != self.width + 1 or not fields[0] or _ends_in_a_number(fields[0]):
            detail = (
                f"expected a word and {self.width} numbers, found {len(line.split())} fields; the "
                "row is ragged, or the file cut short or no word vectors"
            )
            return Refusal("ragged", detail, str(number))
        try:
            word = fields[0].decode()
        except UnicodeDecodeError:
            return Refusal(*_NOT_UTF8, str(number))
        row = np.array([_number(text) for text in fields[1:]], dtype=np.float32)
        if not np.isfinite(row).all():
            place = int(np.argmin(np.isfinite(row))) + 1
            detail = f"number {place} of {self.width} is not a finite number"
            return Refusal("no_number", detail, str(number))
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


class BinaryReader:
    """Reads the rows of an open file of word2vec's binary format."""

    def __init__(self, path: Path, stream: io.BufferedReader) -> None:
        """Reads the header.

        Raises:
            ValueError: there is none.
        """
        self._path, self._stream = path, stream
        header = _HEADER.fullmatch(stream.readline(100))
        if header is None:
            raise ValueError(f"{path}: no header of word2vec's binary format; fetch it again")
        self._promised = int(header[1])
        self.width = int(header[2])

    def blocks(self) -> Iterator[Block]:
        """Yields all rows, once.

        Raises:
            ValueError: the file is broken; names it and where.
        """
        at_once = max(min(8_192, _BINARY_BLOCK_BYTES // (4 * self.width)), 1)
        for first in range(1, self._promised + 1, at_once):
            yield self._block(range(first, min(first + at_once, self._promised + 1)))

    def _block(self, numbers: range) -> Block:
        words: list[str] = []
        refused: list[Refusal] = []
        rows = np.empty((len(numbers), self.width), dtype=np.float32)
        for number in numbers:
            word, content = self._read_word(), self._stream.read(4 * self.width)
            if len(content) < 4 * self.width:
                raise ValueError(
                    f"{self._path}: row {number:,} of {self._promised:,} is not whole; it was cut "
                    "short or is another format; fetch it again"
                )
            row = rows[len(words)]
            row[:] = np.frombuffer(content, "<f4")
            try:
                text = word.decode()
            except UnicodeDecodeError:
                refused.append(Refusal(*_NOT_UTF8, str(number)))
                continue
            if not text:
                refused.append(Refusal("no_word", "the word is empty", str(number)))
            elif not np.isfinite(row).all():
                refused.append(Refusal("no_number", "a number is not finite", str(number)))
            else:
                words.append(text)
        return Block(strings(words), rows[: len(words)], len(numbers), tuple(refused))

    def _read_word(self) -> bytes:
        """Returns the bytes before the next space, without the line end of the row before."""
        word = b""
        while (end := (ahead := self._stream.peek()).find(b" ")) < 0:
            word += self._stream.read(len(ahead))
            if not ahead or len(word) > _MAX_WORD_BYTES:
                return word  # of no row
        return (word + self._stream.read(end + 1))[:-1].lstrip(b"\n")
