"""Writes a folder of word vectors, see `folder`: its table row by row, then words and facts."""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.base.atomic_files import write_by_library
from pipeline.base.json_files import write_sealed_json
from pipeline.shards.arrow import strings
from pipeline.vectors.folder import (
    DTYPES,
    FACTS_FILE,
    VECTORS_FILE,
    WORDS_FILE,
    checksum_of,
    mapped_rows,
    rms_of,
)
from pipeline.vectors.word_list import WordList, write_word_list

TableKept = Literal["float16", "float32"]
Kept = Literal["float16", "float32", "bytes"]
_HEADER_BYTES = 512
"""Of the file; its length is known before the number of rows is."""
_ROWS_AT_ONCE = 16_384


class TableWriter:
    """Writes a table row by row; how many there are is told at the end.

    Args:
        stream: an empty file, open for reading and writing.
    """

    def __init__(self, stream: IO[bytes], width: int, kept_as: TableKept) -> None:
        self._stream, self._width, self._kept_as = stream, width, kept_as
        self.num_rows = 0
        stream.write(bytes(_HEADER_BYTES))
        stream.write(bytes(self._row_bytes))

    @property
    def _row_bytes(self) -> int:
        return self._width * np.dtype(self._kept_as).itemsize

    def add(self, rows: NDArray[np.float32]) -> None:
        """Adds rows [n, E] of finite numbers.

        Raises:
            ValueError: a number is too large for half precision.
        """
        with np.errstate(over="ignore"):
            kept = rows.astype(self._kept_as, copy=False)
        if self._kept_as == "float16" and not np.isfinite(kept).all():
            raise ValueError(
                "a number is larger than half precision holds (65,504); keep all in full precision "
                "(--kept-as float32)"
            )
        self._stream.write(np.ascontiguousarray(kept).data)
        self.num_rows += len(rows)

    def keep(self, places: NDArray[np.int64]) -> None:
        """Keeps the rows of these places alone, which are in order; the others are overwritten."""
        start = _HEADER_BYTES + self._row_bytes
        self._stream.flush()
        dtype = np.dtype(self._kept_as)
        with mmap.mmap(self._stream.fileno(), 0) as content:
            rows = np.frombuffer(content, dtype, self.num_rows * self._width, start)
            table = rows.reshape(self.num_rows, self._width)
            for first in range(0, len(places), _ROWS_AT_ONCE):
                some = places[first : first + _ROWS_AT_ONCE]
                if some[-1] != first + len(some) - 1:  # else they lie where they belong
                    table[first : first + len(some)] = table[some]
            del rows, table
        self._stream.truncate(start + len(places) * self._row_bytes)
        self.num_rows = len(places)

    def finish(self) -> None:
        """Writes the header, which makes the file one of safetensors."""
        code, middle = DTYPES[self._kept_as], self._row_bytes
        end = middle * (1 + self.num_rows)
        tensors = {
            "unknown": {"dtype": code, "shape": [1, self._width], "data_offsets": [0, middle]},
            "vectors": {
                "dtype": code,
                "shape": [self.num_rows, self._width],
                "data_offsets": [middle, end],
            },
        }
        text = json.dumps(tensors).encode().ljust(_HEADER_BYTES - 8)
        self._stream.flush()
        os.pwrite(self._stream.fileno(), struct.pack("<Q", len(text)) + text, 0)


def write_table(path: Path, fill: Callable[[IO[bytes]], None]) -> None:
    """Has a `TableWriter` fill a file that appears whole or not at all.

    Args:
        fill: takes the open file.
    """

    def write(temporary: Path) -> None:
        with temporary.open("w+b") as stream:
            fill(stream)

    write_by_library(path, write)


def write_vectors(
    folder: Path,
    words: Sequence[str] | pa.Array,
    vectors: NDArray[np.float32],
    facts: Mapping[str, Any],
    *,
    counts: NDArray[np.int64] | None = None,
    kept_as: Kept = "float16",
) -> None:
    """Writes a folder, the facts of how its vectors were made last.

    Args:
        words: V of them.
        vectors: [V, E].
        counts: [V]; how often each word stands in the text, if that is known.
        kept_as: in what numbers; a byte is 127 for the largest of its row, whose scale stands
            beside it, and such a table is read into memory.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if kept_as == "bytes":
        from safetensors.numpy import save_file

        write_by_library(folder / VECTORS_FILE, partial(save_file, _in_bytes(vectors)))
    else:

        def fill(stream: IO[bytes]) -> None:
            table = TableWriter(stream, vectors.shape[1], kept_as)
            table.add(vectors)
            table.finish()

        write_table(folder / VECTORS_FILE, fill)
    arrow = words if isinstance(words, pa.Array) else strings(words)
    seal_folder(folder, WordList(arrow, counts), facts)


def write_vector_blocks(
    folder: Path,
    words: Sequence[str] | pa.Array,
    blocks: Iterable[NDArray[np.float32]],
    width: int,
    facts: Mapping[str, Any],
) -> None:
    """Writes a folder of float32 of which a block is in memory at a time, the facts last.

    Args:
        words: V of them.
        blocks: the vectors in the order of the words, [m, width] each, V rows in all.
        width: numbers a vector.
    """
    folder.mkdir(parents=True, exist_ok=True)

    def fill(stream: IO[bytes]) -> None:
        table = TableWriter(stream, width, "float32")
        for block in blocks:
            table.add(block)
        assert table.num_rows == len(words), f"{table.num_rows} vectors of {len(words)} words"
        table.finish()

    write_table(folder / VECTORS_FILE, fill)
    arrow = words if isinstance(words, pa.Array) else strings(words)
    seal_folder(folder, WordList(arrow, None), facts)


def seal_folder(folder: Path, listed: WordList, facts: Mapping[str, Any]) -> None:
    """Writes the words of a table that is there, then the facts, with what openers ask of it."""
    write_word_list(folder / WORDS_FILE, listed)
    files = [folder / name for name in (VECTORS_FILE, WORDS_FILE)]
    path = files[0]
    mapped = mapped_rows(path)
    noted: dict[str, Any] = {"bytes": {file.name: file.stat().st_size for file in files}}
    if mapped is not None:
        checksum = checksum_of(listed.words, mapped.shape, mapped.blocks(), listed.counts)
        noted |= {"vectors_checksum": checksum, "vectors_rms": rms_of(mapped.blocks())}
    write_sealed_json(folder / FACTS_FILE, {**facts, **noted}, files)


def _in_bytes(vectors: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    scales = np.abs(vectors).max(axis=1, initial=0.0) / 127
    whole = np.rint(vectors / np.where(scales > 0, scales, 1.0)[:, None])
    return {"vectors": whole.astype(np.int8), "scales": scales.astype(np.float32)}
