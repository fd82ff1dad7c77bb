"""How often words stand side by side in a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.shards.shards import read_shard

IntArray = npt.NDArray[np.int64]
_NONE: IntArray = np.zeros(0, dtype=np.int64)


class BigramCounts:
    """Counts of ordered pairs of words, whatever their case."""

    def __init__(self, keys: IntArray, counts: IntArray, num_words: int) -> None:
        """Takes sorted keys ``left * num_words + right`` [n] and the count of each [n]."""
        self._keys, self._counts, self._num_words = keys, counts, num_words

    def of(self, left: IntArray, right: IntArray) -> IntArray:
        """Returns the count of each pair, given by the words' numbers; broadcasts."""
        wanted = left * self._num_words + right
        if not len(self._keys):
            return np.zeros(wanted.shape, dtype=np.int64)
        place = np.searchsorted(self._keys, wanted).clip(max=len(self._keys) - 1)
        return np.where(self._keys[place] == wanted, self._counts[place], 0)


def count_bigrams(sentences: Path, words: Sequence[str], *, num_shards: int) -> BigramCounts:
    """Counts the pairs of these words in the first shards of a sentence stage.

    Args:
        words: distinct and in lower case; the index of a word is its number.

    Raises:
        FileNotFoundError: a shard is missing.
        ValueError: a shard is broken or of another schema version.
    """
    known = pa.array(words, pa.string())
    parts = [(_NONE, _NONE)]
    parts += [_pairs_of_shard(sentences, number, known) for number in range(num_shards)]
    keys = np.concatenate([keys for keys, _ in parts])
    counts = np.concatenate([counts for _, counts in parts])
    distinct, place = np.unique(keys, return_inverse=True)
    summed = np.bincount(place, weights=counts, minlength=len(distinct)).astype(np.int64)
    return BigramCounts(distinct, summed, len(words))


def _pairs_of_shard(sentences: Path, number: int, known: pa.Array) -> tuple[IntArray, IntArray]:
    column = read_shard(sentences, "sentences", number, ["tokens"])["tokens"]
    lengths = pc.list_value_length(column).to_numpy()
    lowered = pc.utf8_lower(pc.list_flatten(column).cast(pa.string()))
    ids = pc.index_in(lowered, value_set=known).fill_null(-1).to_numpy().astype(np.int64)
    is_last = np.zeros(len(ids), dtype=np.bool_)
    is_last[np.cumsum(lengths) - 1] = True
    left, right = ids[:-1], ids[1:]
    kept = (left >= 0) & (right >= 0) & ~is_last[:-1]
    keys, counts = np.unique(left[kept] * len(known) + right[kept], return_counts=True)
    return keys, counts
