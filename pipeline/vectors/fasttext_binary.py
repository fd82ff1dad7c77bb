"""fastText's ``.bin``: words, and buckets of the n-grams of their characters.

A word's vector is the mean of its own row and of those of its n-grams, as fastText's
``get_word_vector`` gives it (Bojanowski et al. 2017, section 3.2, where it is the sum). Words that
the file does not list would have a vector of their n-grams alone; a table of words has no place for
them, and they are unknown. Quantised files (``.ftz``) are not read.
Legend: E numbers a word; W words; B buckets; G n-grams of a block of words.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pipeline.shards.arrow import strings
from pipeline.vectors.source_files import FASTTEXT_MAGIC, Block, RefusedRow, checked_width

_VERSIONS = (11, 12)
_ARGUMENTS = struct.Struct("<12id")
ROWS_AT_ONCE = 1_024
"""Words whose n-grams are looked up together: each has some thirty."""
_END_OF_SENTENCE = b"</s>"
"""Has no n-grams (fastText's ``Dictionary::initNgrams``)."""
_MAX_WORD_BYTES = 1 << 16
_FNV_START, _FNV_PRIME = np.uint32(2_166_136_261), np.uint32(16_777_619)
_WORD = 0
"""Kind of an entry that is no label."""


@dataclass(frozen=True, slots=True, eq=False)
class Subwords:
    """How words are taken apart, and the rows of the parts."""

    buckets: NDArray[np.floating[Any]]
    """[B, E]; without any words have no n-grams."""
    shortest: int
    longest: int
    """Characters of an n-gram; 0: words have none."""

    def averaged(self, own: NDArray[np.floating[Any]], words: list[bytes]) -> NDArray[np.float32]:
        """Returns the mean of each word's own row and its n-grams', float32 [W, E].

        Args:
            own: [W, E].
            words: UTF-8 between angle brackets; of b"" there are no n-grams.
        """
        table = np.array(own, dtype=np.float32)
        if not self.longest or not len(self.buckets):
            return table
        word_of_G, hashes_G = ngram_hashes(words, self.shortest, self.longest)
        if len(word_of_G):
            rows_G = hashes_G.astype(np.int64) % len(self.buckets)
            starts = np.flatnonzero(np.diff(word_of_G, prepend=-1))
            table[word_of_G[starts]] += np.add.reduceat(self.buckets[rows_G], starts, axis=0)
        table /= (1 + np.bincount(word_of_G, minlength=len(words)))[:, None].astype(np.float32)
        return table


class FastTextReader:
    """Reads the rows of a file that is not packed."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        """Reads the words.

        Args:
            stream: of the file itself, whose matrix is mapped.

        Raises:
            ValueError: it is no such file, cut short, or quantised.
        """
        self._path, self._stream = path, stream
        if self._bytes(4) != FASTTEXT_MAGIC:
            raise ValueError(f"{path}: no .bin of fastText; check the file")
        (version,) = self._unpack("<i")
        if version not in _VERSIONS:
            raise ValueError(f"{path}: version {version} of fastText's format, known: 11 and 12")
        width, _, _, _, _, _, _, model, buckets, shortest, longest, *_ = _ARGUMENTS.unpack(
            self._bytes(_ARGUMENTS.size)
        )
        is_supervised = model == 3
        if version == 11 and is_supervised:  # fastText itself does so for files that old
            longest = 0
        self.width = checked_width(path, width)
        self._read_words()
        num_words = len(self._words)
        self.promised: int | None = num_words
        num_buckets = max(buckets, 0) if longest else 0
        self._matrix = self._map_matrix(num_words + num_buckets)
        self._subwords = Subwords(
            self._matrix[num_words : num_words + num_buckets], shortest, longest
        )

    def _read_words(self) -> None:
        num_entries, num_words, _, _, num_pruned = self._unpack("<3i2q")
        if num_pruned > 0:
            raise ValueError(f"{self._path}: pruned and quantised (.ftz), which is not read")
        self._words: list[bytes] = []
        counts: list[int] = []
        rest = b""
        for number in range(num_entries):
            while (end := rest.find(b"\0", self._at)) < 0 or len(rest) < end + 10:
                more = self._stream.read(1 << 20)
                if not more or len(rest) - self._at > _MAX_WORD_BYTES + 10:
                    raise self._cut(f"word {number:,} of {num_entries:,}")
                rest, self._at = rest[self._at :] + more, 0
            count, kind = struct.unpack_from("<qb", rest, end + 1)
            if kind == _WORD:
                self._words.append(rest[self._at : end])
                counts.append(count)
            self._at = end + 10
        if len(self._words) != num_words:
            raise ValueError(f"{self._path}: {len(self._words)} words where {num_words} are told")
        self._counts = np.array(counts, dtype=np.int64)
        self._stream.seek(self._at - len(rest), 1)

    _at = 0

    def _map_matrix(self, needed: int) -> NDArray[np.float32]:
        (is_quantised,) = self._unpack("<b")
        if is_quantised:
            raise ValueError(f"{self._path}: quantised (.ftz), which is not read; give the .bin")
        num_rows, width = self._unpack("<2q")
        if width != self.width or num_rows < needed:
            raise ValueError(
                f"{self._path}: a matrix of shape [{num_rows}, {width}] for {needed:,} words and "
                f"buckets of {self.width} numbers; fetch it again"
            )
        start = self._stream.tell()
        if self._path.stat().st_size < start + 4 * num_rows * width:
            raise self._cut("the matrix")
        return np.memmap(self._path, "<f4", "r", start, (num_rows, width))

    def blocks(self) -> Iterator[Block]:
        """Yields the rows; see `VectorReader`."""
        for first in range(0, len(self._words), ROWS_AT_ONCE):
            raw = self._words[first : first + ROWS_AT_ONCE]
            table = self._averaged(raw, first)
            words, refused, kept = [], [], []
            finite = np.all(np.isfinite(table), axis=1).tolist()
            for place, word in enumerate(raw):
                number = first + place + 1
                try:
                    text = word.decode()
                except UnicodeDecodeError:
                    refused.append(RefusedRow(number, "not_utf8", "the word is no UTF-8 text"))
                    continue
                if not text:
                    refused.append(RefusedRow(number, "no_word", "the word is empty"))
                elif not finite[place]:
                    refused.append(RefusedRow(number, "no_number", "a number is not finite"))
                else:
                    words.append(text)
                    kept.append(place)
            counts = self._counts[first : first + ROWS_AT_ONCE][kept]
            yield Block(strings(words), table[kept], first + 1, len(raw), tuple(refused), counts)

    def _averaged(self, words: list[bytes], first: int) -> NDArray[np.float32]:
        taken_apart = [b"" if word == _END_OF_SENTENCE else b"<" + word + b">" for word in words]
        return self._subwords.averaged(self._matrix[first : first + len(words)], taken_apart)

    def _bytes(self, num: int) -> bytes:
        content = self._stream.read(num)
        if len(content) != num:
            raise self._cut("the header")
        return content

    def _unpack(self, form: str) -> tuple[int, ...]:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))

    def _cut(self, what: str) -> ValueError:
        return ValueError(f"{self._path}: cut short at {what}; fetch it again")


def ngram_hashes(
    words: list[bytes], shortest: int, longest: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Returns the n-grams of words as fastText hashes them (``Dictionary::computeSubwords``).

    Args:
        words: UTF-8 between angle brackets; of b"" there are none.
        shortest, longest: in characters; the brackets alone are no n-grams.

    Returns:
        The word of each n-gram, ascending, and its hash by FNV-1a, whose bytes are signed; [G].
    """
    content = np.frombuffer(b"".join(words), np.uint8)
    word_of_byte = np.repeat(np.arange(len(words)), [len(word) for word in words])
    starts = np.flatnonzero((content & 0xC0) != 0x80)  # of characters
    word_of = word_of_byte[starts]
    ends = np.append(starts, len(content))
    found: list[tuple[NDArray[np.int64], NDArray[np.uint32]]] = []
    for length in range(max(shortest, 1), longest + 1):
        last = len(starts) - length + 1
        if last <= 0:
            break
        begin = np.arange(last)
        inside = word_of[begin] == word_of[begin + length - 1]
        if length == 1:
            inside = _not_at_an_end(word_of)
        begin = begin[inside]
        found.append((word_of[begin], _fnv(content, starts[begin], ends[begin + length])))
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint32)
    word_of_G = np.concatenate([one for one, _ in found])
    order = np.argsort(word_of_G, kind="stable")
    return word_of_G[order], np.concatenate([one for _, one in found])[order]


def _not_at_an_end(word_of: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns which characters are neither the first nor the last of their word."""
    before, after = np.append(-1, word_of[:-1]), np.append(word_of[1:], -1)
    inner: NDArray[np.bool_] = (word_of == before) & (word_of == after)
    return inner


def _fnv(
    content: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.uint32]:
    """Returns the hash of each piece of the bytes."""
    hashes = np.full(len(starts), _FNV_START, dtype=np.uint32)
    signed = content.view(np.int8).astype(np.int32).view(np.uint32)
    longest = int((ends - starts).max(initial=0))
    for place in range(longest):
        at = starts + place
        is_in = at < ends
        hashed = (hashes[is_in] ^ signed[at[is_in]]) * _FNV_PRIME
        hashes[is_in] = hashed
    return hashes
