"""Finds words among millions of them, without a Python object a word.

The words stay in Arrow's memory. What finds them is their hashes in order, 12 bytes a word, made
when the first word is looked for; a hash that is found is compared with the word itself.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.shards.arrow import numbers, values_of

NOWHERE = -1
_WORDS_AT_ONCE = 65_536
_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)


class WordIndex:
    """Words in an order of their own, each found by its spelling."""

    def __init__(self, words: pa.Array | pa.ChunkedArray) -> None:
        """Takes over the words.

        Args:
            words: strings without nulls; of one that stands twice the first is found.
        """
        whole = words.combine_chunks() if isinstance(words, pa.ChunkedArray) else words
        self.words = whole.cast(pa.large_string())

    def __len__(self) -> int:
        return len(self.words)

    def places(self, wanted: pa.Array) -> NDArray[np.int32]:
        """Returns where each of these strings stands, int32 [N], `NOWHERE` where it does not."""
        if wanted.type != self.words.type:
            wanted = wanted.cast(self.words.type)
        found = np.empty(len(wanted), dtype=np.int32)
        for start in range(0, len(wanted), _WORDS_AT_ONCE):
            some = wanted.slice(start, _WORDS_AT_ONCE)
            found[start : start + len(some)] = self._places(some)
        return found

    def _places(self, wanted: pa.Array) -> NDArray[np.int32]:
        hashes, (known, rows) = hashes_of(wanted), self._ordered
        at = np.searchsorted(known, hashes)
        found = np.full(len(wanted), NOWHERE, dtype=np.int32)
        left = np.arange(len(wanted), dtype=np.int64)
        while len(left):  # once more for each further word of the same hash
            left = left[at[left] < len(known)]
            left = left[known[at[left]] == hashes[left]]
            candidates = rows[at[left]]
            pairs = self.words.take(numbers(candidates)), wanted.take(numbers(left))
            is_same = values_of(pc.equal(*pairs))
            found[left[is_same]] = candidates[is_same]
            left = left[~is_same]
            at[left] += 1
        return found

    def first_places(self) -> NDArray[np.int32]:
        """Returns, for each word, where the first of its spelling stands; mostly its own place."""
        return self.places(self.words)

    @cached_property
    def _ordered(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        hashes = hashes_of(self.words)
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        return hashes[order], order


def hashes_of(words: pa.Array) -> NDArray[np.uint64]:
    """Returns a hash of each string, uint64 [N]: a polynomial of its bytes modulo 2^64, mixed.

    Args:
        words: ``large_string`` without nulls.
    """
    found = np.zeros(len(words), dtype=np.uint64)
    for start in range(0, len(words), _WORDS_AT_ONCE):
        offsets, content = flat_bytes(words.slice(start, _WORDS_AT_ONCE))
        lengths = np.diff(offsets)
        is_any = lengths > 0
        if is_any.any():
            powers = np.multiply.accumulate(np.full(lengths.max(), _BASE, dtype=np.uint64))
            terms = powers[np.arange(len(content)) - np.repeat(offsets[:-1], lengths)]
            terms *= content.astype(np.uint64) + np.uint64(1)
            some = found[start : start + _WORDS_AT_ONCE]
            some[is_any] = np.add.reduceat(terms, offsets[:-1][is_any])
    found ^= found >> np.uint64(32)
    found *= _MIX
    found ^= found >> np.uint64(29)
    return found


def flat_bytes(words: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Returns the bytes of all strings in one, and where each begins in it, [N + 1].

    Args:
        words: ``large_string`` without nulls.
    """
    _, starts, content = words.buffers()
    if not len(words):
        return np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint8)
    offsets = np.frombuffer(starts, np.int64, len(words) + 1, 8 * words.offset)
    all_bytes = np.frombuffer(content or b"", np.uint8)
    return offsets - offsets[0], all_bytes[offsets[0] : offsets[-1]]
