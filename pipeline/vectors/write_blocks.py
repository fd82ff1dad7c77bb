"""Writes a folder of word vectors of which only a block is in memory at a time."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.base.atomic_files import write_by_library, write_text_atomically
from pipeline.base.json_files import write_sealed_json
from pipeline.vectors.train_word_vectors import FACTS_FILE, VECTORS_FILE, WORDS_FILE

_ALIGNMENT = 8
"""Bytes; where the numbers of a file of safetensors begin is a multiple of it."""


def write_vector_blocks(
    folder: Path,
    words: Sequence[str],
    blocks: Iterable[NDArray[np.float32]],
    size: int,
    facts: Mapping[str, Any],
) -> None:
    """Writes ``vectors.safetensors`` in float32, ``words.json`` and, last, the facts.

    Args:
        words: V of them.
        blocks: the vectors in the order of the words, [m, size] each, V rows in all.
        size: numbers a vector.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shape = (len(words), size)
    write_by_library(folder / VECTORS_FILE, partial(_write_table, blocks, shape))
    write_text_atomically(folder / WORDS_FILE, json.dumps(list(words), ensure_ascii=False))
    files = [folder / name for name in (VECTORS_FILE, WORDS_FILE)]
    write_sealed_json(folder / FACTS_FILE, dict(facts), files)


def _write_table(blocks: Iterable[NDArray[np.float32]], shape: tuple[int, int], path: Path) -> None:
    """Writes the format of safetensors: length of the header, header, numbers row by row."""
    num_bytes = shape[0] * shape[1] * 4
    entry = {"dtype": "F32", "shape": list(shape), "data_offsets": [0, num_bytes]}
    header = json.dumps({"vectors": entry}).encode()
    header += b" " * (-len(header) % _ALIGNMENT)
    num_rows = 0
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(header)) + header)
        for block in blocks:
            assert block.shape[1] == shape[1], "each vector has the width of the others"
            stream.write(np.ascontiguousarray(block, dtype="<f4").data)
            num_rows += len(block)
    assert num_rows == shape[0], f"{num_rows} vectors of {shape[0]} words"
