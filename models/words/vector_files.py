"""Reads word vectors: this project's folders, GloVe's text and word2vec's text with a header."""

from __future__ import annotations

import gzip
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from models.words.word_vectors import WordVectors
from pipeline.base.json_files import check_file, read_object, read_strings

VECTORS_FILE = "vectors.safetensors"
WORDS_FILE = "words.json"
FACTS_FILE = "training.json"
"""What a training leaves beside them, with their sha256; other folders have none."""
LINES_PER_BLOCK = 2_000
MAX_LINE_CHARACTERS = 1 << 20
"""Of text; a vector of 10,000 numbers takes a tenth of it."""
_COUNT = re.compile("[0-9]{1,9}")
_REMEDY = "fetch or train them again, or give others"


def load_word_vectors(path: Path) -> WordVectors:
    """Returns the word vectors of a folder or of a text file.

    Args:
        path: a folder with ``words.json`` and ``vectors.safetensors``: "vectors" [V - 1, E],
            "counts" [V - 1] if known, and "scales" [V - 1] if the vectors are whole numbers; or
            UTF-8 text, ``.gz`` or not, one word and its numbers a line (GloVe), optionally
            under a header of two counts (word2vec).

    Raises:
        FileNotFoundError: nothing there.
        ValueError: the content is broken; the message names file and line.
    """
    if path.is_dir():
        return _load_folder(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such word vectors; give a folder or a text file")
    with _opened_text(path) as stream:
        return _read_rows(path, stream)


def read_word_size(path: Path) -> int:
    """Returns the dimension of a word vector, of which no other is read; arguments as above.

    Raises:
        FileNotFoundError, ValueError: as `load_word_vectors`, of what is read.
    """
    if not path.is_dir():
        with _opened_text(path) as stream:
            return _first_line(path, next(_lines(path, stream), ""))[0]
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path / VECTORS_FILE, "np") as tensors:
            shape: list[int] = tensors.get_slice("vectors").get_shape()
    except SafetensorError as error:
        raise ValueError(
            f"{path / VECTORS_FILE}: broken word vectors ({error}); {_REMEDY}"
        ) from error
    if len(shape) != 2:
        raise ValueError(f"{path / VECTORS_FILE}: vectors of shape {shape}; {_REMEDY}")
    return shape[1]


def _load_folder(folder: Path) -> WordVectors:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    for name in (VECTORS_FILE, WORDS_FILE):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"{folder / name}: missing; not a folder of word vectors")
    facts = folder / FACTS_FILE
    if facts.is_file():
        known = read_object(facts, (), remedy=_REMEDY)
        for name in (VECTORS_FILE, WORDS_FILE):
            check_file(folder / name, known, _REMEDY)
    words = read_strings(folder / WORDS_FILE, remedy=_REMEDY)
    try:
        tensors = load_file(folder / VECTORS_FILE)
        rows, counts = (
            _with_unknown(tensors["vectors"], tensors.get("scales")),
            tensors.get("counts"),
        )
    except (SafetensorError, KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError(
            f"{folder / VECTORS_FILE}: broken word vectors ({type(error).__name__}: {error}); "
            f"{_REMEDY}"
        ) from error
    if len(words) != len(rows) - 1:
        shape = list(tensors["vectors"].shape)
        raise ValueError(f"{folder}: {len(words)} words but vectors of shape {shape}; {_REMEDY}")
    if counts is not None and (counts.shape != (len(words),) or counts.min(initial=0) < 0):
        raise ValueError(
            f"{folder / VECTORS_FILE}: counts must be {len(words)} numbers from 0 on; {_REMEDY}"
        )
    # A sum is quickly had, and where it is too large for float32, each number is looked at.
    if not (np.isfinite(rows.sum(axis=0)).all() or np.isfinite(rows).all()):
        raise ValueError(f"{folder / VECTORS_FILE}: holds numbers that are not finite; {_REMEDY}")
    return WordVectors.of_table(words, rows, counts=counts)


def _with_unknown(
    rows: NDArray[np.generic], scales: NDArray[np.generic] | None
) -> NDArray[np.float32]:
    """Returns vectors as float32 behind the zero row of the unknown word, written once.

    Raises:
        ValueError, TypeError, IndexError: they are no table of numbers, or the scales do not fit.
    """
    num_words, width = rows.shape
    table = np.empty((num_words + 1, width), dtype=np.float32)
    table[0] = 0
    if scales is None:
        table[1:] = rows
    else:
        wide = scales.astype(np.float32)[:, None]
        np.multiply(rows, wide, out=table[1:], dtype=np.float32, casting="same_kind")
    return table


@dataclass
class _TextRows:
    """The rows of a text file read so far."""

    path: Path
    size: int
    words: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    blocks: list[NDArray[np.float32]] = field(default_factory=list)
    num_rows: int = 0

    def add(self, lines: list[str], first_line: int) -> None:
        """Parses a block of lines; ``first_line`` is the 1-based number of its first one."""
        words, texts = [], []
        for number, line in enumerate(lines, first_line):
            word, text = self._split(line, number)
            words.append(word)
            texts.append(text)
        values = _parse_numbers(" ".join(texts))
        if len(values) != len(lines) * self.size or not np.isfinite(values).all():
            raise ValueError(self._broken_number(texts, first_line))
        fresh = []
        for row, word in enumerate(words):
            if word not in self.seen:
                self.seen.add(word)
                fresh.append(row)
        self.words.extend(words[row] for row in fresh)
        self.blocks.append(values.reshape(-1, self.size)[fresh])
        self.num_rows += len(lines)

    def _split(self, line: str, number: int) -> tuple[str, str]:
        # GloVe's large sets hold words with spaces in them, so fields count from the right.
        fields = line.rstrip().rsplit(" ", self.size)
        word = fields[0]
        if len(fields) != self.size + 1 or not word or _ends_in_a_number(word):
            raise ValueError(
                f"{self.path}:{number}: expected a word and {self.size} numbers, found "
                f"{len(line.split())} fields; the row is ragged, or the file cut short or no word "
                f"vectors: {_REMEDY}"
            )
        return word, " ".join(fields[1:])

    def _broken_number(self, texts: list[str], first_line: int) -> str:
        """Says where a number is none; not what stands there: the file may be no vectors at all."""
        for number, text in enumerate(texts, first_line):
            for place, value in enumerate(text.split(" "), 1):
                parsed = _parse_numbers(value)
                if len(parsed) != 1 or not np.isfinite(parsed[0]):
                    return (
                        f"{self.path}:{number}: number {place} of {self.size} is not a finite "
                        f"number; {_REMEDY}"
                    )
        return f"{self.path}: broken numbers between lines {first_line} and {number}; {_REMEDY}"

    def finish(self) -> WordVectors:
        """Returns all that was read."""
        rows = np.concatenate(self.blocks)
        duplicates = self.num_rows - len(self.words)
        return WordVectors.from_rows(self.words, rows, num_duplicates=duplicates)


def _parse_numbers(text: str) -> NDArray[np.float32]:
    """Returns the numbers up to the first thing that is none; numpy only warns about it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return np.fromstring(text, dtype=np.float32, sep=" ")
        except ValueError:
            return np.empty(0, dtype=np.float32)


def _ends_in_a_number(word: str) -> bool:
    """Whether a word with spaces ends in a decimal number, so that its row has one too many."""
    _, space, tail = word.rpartition(" ")
    return bool(space) and "." in tail and len(_parse_numbers(tail)) == 1


@contextmanager
def _opened_text(path: Path) -> Iterator[IO[str]]:
    """Yields the text, zipped or not; errors of reading it are told by file and remedy."""
    open_text = gzip.open if path.suffix == ".gz" else open
    try:
        with open_text(path, "rt", encoding="utf-8", newline="\n") as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: not UTF-8 text ({error.reason} at byte {error.start} of a block); "
            "word2vec's binary format is not read, convert it to text"
        ) from error
    except (gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"{path}: broken gzip file ({error}); fetch it again") from error


def _lines(path: Path, stream: IO[str]) -> Iterator[str]:
    """Yields the lines, none longer than a vector can be.

    Raises:
        ValueError: a line is longer; names it.
    """
    number = 0
    while line := stream.readline(MAX_LINE_CHARACTERS + 1):
        number += 1
        if len(line) > MAX_LINE_CHARACTERS:
            raise ValueError(
                f"{path}:{number}: a line of more than {MAX_LINE_CHARACTERS:,} characters, which "
                f"is no word vector; {_REMEDY}"
            )
        yield line


def _first_line(path: Path, line: str) -> tuple[int, int | None]:
    """Returns the numbers a word, and how many words the line promises if it is a header.

    Raises:
        ValueError: it is neither a header nor a word and its numbers.
    """
    fields = line.split()
    if len(fields) < 2:
        raise ValueError(
            f"{path}:1: expected a word and its numbers, found {len(fields)} fields; {_REMEDY}"
        )
    if len(fields) == 2 and all(map(_COUNT.fullmatch, fields)):
        return int(fields[1]), int(fields[0])
    return len(fields) - 1, None


def _read_rows(path: Path, stream: IO[str]) -> WordVectors:
    lines = _lines(path, stream)
    first = next(lines, "")
    size, promised = _first_line(path, first)
    rows = _TextRows(path, size)
    line = 2
    if promised is None:
        rows.add([first], 1)
    while block := list(islice(lines, LINES_PER_BLOCK)):
        rows.add(block, line)
        line += len(block)
    if not rows.num_rows and promised == 0:
        raise ValueError(f"{path}:1: the header promises no words; give another file")
    if promised is not None and rows.num_rows != promised:
        raise ValueError(
            f"{path}:1: the header promises {promised} words, the file holds {rows.num_rows}; "
            "it was cut short"
        )
    return rows.finish()
