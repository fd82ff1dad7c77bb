"""Lists of words: their files, and how words are found among millions without an object a word.

A file of words is Parquet, as a vocabulary and the words of a table are, JSON or text. In memory
words stay Arrow's. What finds them is their hashes in order, 12 bytes a word, made when the first
word is looked for; a hash that is found is compared with the word itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treeviews.pipeline.base.atomic_files import write_by_library
from treeviews.pipeline.base.json_files import read_strings
from treeviews.pipeline.shards.arrow import numbers, strings, values_of

LIST_VERSION = 1
NOWHERE = -1
_VERSION_KEY = "treeviews.word_list_version"
_PACKING = {
    "compression": "zstd",
    "compression_level": 3,
    "use_dictionary": False,
    "write_page_checksum": True,
}
_WORDS_AT_ONCE = 65_536
_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)


@dataclass(frozen=True, slots=True, eq=False)
class WordList:
    """Words in an order of their own."""

    words: pa.Array
    """``large_string`` [N], none null, none empty."""
    counts: NDArray[np.int64] | None
    """[N]; how often each stands in the text; None where that is not known."""


def write_word_list(path: Path, listed: WordList) -> None:
    """Writes a Parquet file: ``word``, and ``count`` where it is known; whole or not at all."""
    import pyarrow.parquet as pq

    columns, fields = [listed.words], [pa.field("word", pa.large_string(), nullable=False)]
    if listed.counts is not None:
        columns.append(numbers(listed.counts.astype(np.int64)))
        fields.append(pa.field("count", pa.int64(), nullable=False))
    schema = pa.schema(fields, {_VERSION_KEY: str(LIST_VERSION)})
    table = pa.Table.from_arrays(columns, schema=schema)
    write_by_library(path, partial(pq.write_table, table, **_PACKING))


def read_word_list(path: Path, *, remedy: str) -> WordList:
    """Returns the words of a file.

    Args:
        path: ``.parquet`` with a column ``word`` and perhaps ``count``; ``.json``, a list of
            strings; else UTF-8 text, a word a line.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it holds anything else; names file, row and remedy.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such list of words; {remedy}")
    if path.suffix == ".parquet":
        return _read_parquet(path, remedy)
    if path.suffix == ".json":
        return WordList(strings(read_strings(path, remedy=remedy)), None)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text (byte {error.start}); {remedy}") from error
    return WordList(strings([line for line in text.split("\n") if line]), None)


def _read_parquet(path: Path, remedy: str) -> WordList:
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            names = file.schema_arrow.names
            if "word" not in names:
                raise ValueError(f"{path}: has no column 'word' but {names[:5]}; {remedy}")
            table = file.read([name for name in ("word", "count") if name in names])
        words = table["word"].cast(pa.large_string()).combine_chunks()
        counts = table["count"].cast(pa.int64()).combine_chunks() if "count" in names else None
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not readable as Parquet ({error}); {remedy}") from error
    if words.null_count or (counts is not None and counts.null_count):
        raise ValueError(f"{path}: a word or count is null; {remedy}")
    return WordList(words, None if counts is None else values_of(counts).astype(np.int64))


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
        places = np.empty(len(wanted), dtype=np.int32)
        for start in range(0, len(wanted), _WORDS_AT_ONCE):
            some = wanted.slice(start, _WORDS_AT_ONCE)
            places[start : start + len(some)] = self._places(some)
        return places

    def _places(self, wanted: pa.Array) -> NDArray[np.int32]:
        hashes, (known, rows) = hashes_of(wanted), self._ordered
        at = np.searchsorted(known, hashes)
        places = np.full(len(wanted), NOWHERE, dtype=np.int32)
        left = np.arange(len(wanted), dtype=np.int64)
        while len(left):  # once more for each further word of the same hash
            left = left[at[left] < len(known)]
            left = left[known[at[left]] == hashes[left]]
            candidates = rows[at[left]]
            pairs = self.words.take(numbers(candidates)), wanted.take(numbers(left))
            is_same = values_of(pc.equal(*pairs))
            places[left[is_same]] = candidates[is_same]
            left = left[~is_same]
            at[left] += 1
        return places

    def distinct_places(self) -> NDArray[np.int64]:
        """Returns the places of words whose spelling stands nowhere before, in order."""
        return np.flatnonzero(self.places(self.words) == np.arange(len(self)))

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
    hashes = np.zeros(len(words), dtype=np.uint64)
    for start in range(0, len(words), _WORDS_AT_ONCE):
        some = words.slice(start, _WORDS_AT_ONCE)
        _, starts, content = some.buffers()
        offsets = np.frombuffer(starts, np.int64, len(some) + 1, 8 * some.offset)
        lengths = np.diff(offsets)
        is_any = lengths > 0
        if is_any.any():
            powers = np.multiply.accumulate(np.full(lengths.max(), _BASE, dtype=np.uint64))
            within = np.arange(lengths.sum()) - np.repeat(offsets[:-1] - offsets[0], lengths)
            terms = powers[within]
            characters = np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]]
            terms *= characters.astype(np.uint64) + np.uint64(1)
            first_bytes = (offsets[:-1] - offsets[0])[is_any]
            hashes[start : start + len(some)][is_any] = np.add.reduceat(terms, first_bytes)
    hashes ^= hashes >> np.uint64(32)
    hashes *= _MIX
    hashes ^= hashes >> np.uint64(29)
    return hashes
