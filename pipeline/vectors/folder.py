"""A folder of word vectors: a table that is mapped, not read, and a list of its words.

    vectors.safetensors   "unknown" [1, E], zeros, and behind it "vectors" [V, E]: float16, float32
    words.parquet         the words in the same order, with counts where they are known
    training.json         where they come from; sealed, with the sha256 of the other two

The two tensors lie side by side, so that [1 + V, E] is one piece of the file: id 0 is the unknown
word. A table of whole numbers ("vectors" int8 with "scales", for folders that travel) and folders
of earlier releases, whose words are in ``words.json``, are read into memory.
Legend: V words, E dimensions.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.base.json_files import check_file, read_object
from pipeline.vectors.word_list import read_word_list

VECTORS_FILE, WORDS_FILE, FACTS_FILE = "vectors.safetensors", "words.parquet", "training.json"
EARLIER_WORDS_FILE = "words.json"
"""Where releases before 0.12 wrote the words."""
FOLDER_FILES = (VECTORS_FILE, WORDS_FILE, EARLIER_WORDS_FILE, FACTS_FILE)
REMEDY = "fetch or train them again, or give others"

DTYPES = {"float16": "F16", "float32": "F32"}
"""What safetensors calls numpy's."""
_LITTLE_ENDIAN = {"F16": "<f2", "F32": "<f4"}
_ROWS_AT_ONCE = 16_384
READ_AT_ONCE_BYTES = 256 << 20
"""A table up to this size is read and held against its sha256 when it is opened; of a larger one
the size is, and the rest where somebody asks for it."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorTable:
    """What a folder holds."""

    words: pa.Array
    """``large_string`` [V]."""
    rows: NDArray[np.floating[Any]]
    """[1 + V, E], row 0 zero; of the file, where the folder can be mapped."""
    counts: NDArray[np.int64] | None
    """[V], or None where they are not known."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    mapped: Mapped | None = None


@dataclass(frozen=True, slots=True)
class Mapped:
    """Where the rows of a mapped table lie, so that all of them can be passed through."""

    path: Path
    offset: int
    shape: tuple[int, int]
    dtype: str

    def array(self) -> NDArray[np.floating[Any]]:
        """Returns the rows as they are in the file, which is read where somebody looks."""
        with self.path.open("rb") as stream:
            # Private: torch takes no array that cannot be written, and nobody writes to this one.
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
        content.madvise(mmap.MADV_RANDOM)
        flat = np.frombuffer(content, self.dtype, self.shape[0] * self.shape[1], self.offset)
        return flat.reshape(self.shape)

    def blocks(self) -> Iterator[NDArray[np.floating[Any]]]:
        """Yields all rows in order, some at a time, the unknown word's alone first.

        They are read beside the map, so that memory stays flat.
        """
        with self.path.open("rb") as stream:
            stream.seek(self.offset)
            for start in (0, *range(1, self.shape[0], _ROWS_AT_ONCE)):
                num = min(_ROWS_AT_ONCE, self.shape[0] - start) if start else 1
                flat = np.fromfile(stream, self.dtype, num * self.shape[1])
                yield flat.reshape(num, self.shape[1])


def is_vector_folder(folder: Path) -> bool:
    """Returns whether word vectors lie in a folder."""
    return (folder / VECTORS_FILE).exists()


def files_of(folder: Path) -> tuple[str, str]:
    """Returns the names of the files that determine a folder's vectors."""
    is_earlier = (folder / EARLIER_WORDS_FILE).is_file() and not (folder / WORDS_FILE).is_file()
    return VECTORS_FILE, EARLIER_WORDS_FILE if is_earlier else WORDS_FILE


def read_width(folder: Path) -> int:
    """Returns E, of which the table's header alone is read.

    Raises:
        FileNotFoundError, ValueError: no table, or a broken one.
    """
    shape = _shape_of(_header(folder / VECTORS_FILE)[0], folder / VECTORS_FILE)
    return shape[1]


def mapped_rows(path: Path) -> Mapped | None:
    """Returns where the rows of a table lie, or None where it is to be read into memory.

    Raises:
        FileNotFoundError, ValueError: no table, or a broken one.
    """
    return _mapped(path, *_header(path))


def open_folder(folder: Path, *, whole: bool = False) -> VectorTable:
    """Returns the words of a folder and their table.

    Args:
        whole: a large table is held against its sha256, too, for which it is read once.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: one is damaged or none of this kind; names it and the remedy.
    """
    path, words_path = (folder / name for name in files_of(folder))
    for file in (path, words_path):
        if not file.is_file():
            raise FileNotFoundError(f"{file}: missing; not a folder of word vectors")
    facts = _checked_facts(folder, (path, words_path), whole=whole)
    listed = read_word_list(words_path, remedy=REMEDY)
    header, start = _header(path)
    mapped = _mapped(path, header, start)
    counts = listed.counts
    try:
        if mapped is not None:
            rows, num_words = mapped.array(), mapped.shape[0] - 1
        else:
            rows, own_counts = _in_memory(path)
            counts, num_words = (own_counts if counts is None else counts), len(rows) - 1
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError(_broken(path, error)) from error
    if len(listed.words) != num_words:
        shape = [num_words, rows.shape[1]]
        raise ValueError(
            f"{folder}: {len(listed.words)} words but vectors of shape {shape}; {REMEDY}"
        )
    if counts is not None and (counts.shape != (num_words,) or counts.min(initial=0) < 0):
        raise ValueError(f"{path}: counts must be {num_words} numbers from 0 on; {REMEDY}")
    if whole or rows.nbytes <= READ_AT_ONCE_BYTES:
        _check_finite(path, [rows] if mapped is None else mapped.blocks())
    if rows[0].any():
        raise ValueError(f"{path}: the unknown word's row is not zero; {REMEDY}")
    return VectorTable(listed.words, rows, counts, facts, mapped)


def _checked_facts(folder: Path, files: Sequence[Path], *, whole: bool) -> dict[str, Any]:
    """Returns the facts of a folder, whose files are those they tell of; {} where it has none."""
    path = folder / FACTS_FILE
    if not path.is_file():
        return {}
    facts = read_object(path, (), remedy=REMEDY)
    for file in files:
        if whole or file.stat().st_size <= READ_AT_ONCE_BYTES:
            check_file(file, facts, REMEDY)
        elif facts.get("bytes", {}).get(file.name, file.stat().st_size) != file.stat().st_size:
            raise ValueError(f"{file}: not of the size noted when it was written; {REMEDY}")
    return facts


def _check_finite(path: Path, blocks: Iterable[NDArray[np.floating[Any]]]) -> None:
    for block in blocks:
        # A sum is quickly had, and where it is too large, each number is looked at.
        if not (np.isfinite(block.sum(axis=0)).all() or np.isfinite(block).all()):
            raise ValueError(f"{path}: holds numbers that are not finite; {REMEDY}")


def _broken(path: Path, error: object) -> str:
    kind = type(error).__name__
    return f"{path}: broken word vectors ({kind}: {error}); {REMEDY}"


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """Returns what a safetensors file says of its tensors, and where their bytes begin.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it is none of these, or cut short.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "np"):  # the library checks that header and size go together
            pass
    except SafetensorError as error:
        raise ValueError(_broken(path, error)) from error
    with path.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        header: dict[str, Any] = json.loads(stream.read(length))
    return header, 8 + length


def _shape_of(header: Mapping[str, Any], path: Path) -> tuple[int, int]:
    shape = header.get("vectors", {}).get("shape", [])
    if len(shape) != 2:
        raise ValueError(f"{path}: broken word vectors (vectors of shape {shape}); {REMEDY}")
    return shape[0], shape[1]


def _mapped(path: Path, header: Mapping[str, Any], start: int) -> Mapped | None:
    """Returns where the rows lie, or None where they are not in one piece behind a zero row."""
    num_words, width = _shape_of(header, path)
    unknown, vectors = header.get("unknown"), header["vectors"]
    if unknown is None or vectors["dtype"] not in DTYPES.values():
        return None
    same = (unknown["dtype"], unknown["shape"]) == (vectors["dtype"], [1, width])
    if not same or unknown["data_offsets"][1] != vectors["data_offsets"][0]:
        raise ValueError(f"{path}: broken word vectors (rows lie apart); {REMEDY}")
    offset = start + unknown["data_offsets"][0]
    return Mapped(path, offset, (1 + num_words, width), _LITTLE_ENDIAN[vectors["dtype"]])


def _in_memory(path: Path) -> tuple[NDArray[np.float32], NDArray[np.int64] | None]:
    """Returns the rows behind a zero one, written once, and the counts beside them, if any."""
    from safetensors.numpy import load_file

    tensors = load_file(path)
    rows, scales = tensors["vectors"], tensors.get("scales")
    table = np.empty((len(rows) + 1, rows.shape[1]), dtype=np.float32)
    table[0] = 0
    if scales is None:
        table[1:] = rows
    else:
        wide = scales.astype(np.float32)[:, None]
        np.multiply(rows, wide, out=table[1:], dtype=np.float32, casting="same_kind")
    return table, tensors.get("counts")


def checksum_of(
    words: pa.Array,
    shape: tuple[int, ...],
    blocks: Iterable[NDArray[np.floating[Any]]],
    counts: NDArray[np.int64] | None,
) -> str:
    """Returns a sha256 over words, values and counts, however the vectors are kept.

    Args:
        words: the known ones; the unknown one, "", stands before them.
        shape: [1 + V, E].
        blocks: all rows in order, the unknown one's included; taken as float32.
        counts: of the known words.
    """
    digest = hashlib.sha256()
    for start in range(0, len(words), _ROWS_AT_ONCE):
        some = words.slice(start, _ROWS_AT_ONCE).to_pylist()
        digest.update("".join(f"\n{word}" for word in some).encode())
    digest.update(str(tuple(shape)).encode())
    for block in blocks:
        digest.update(np.ascontiguousarray(block, dtype="<f4").data)
    if counts is not None:
        digest.update(np.concatenate([[0], counts]).astype("<i8").tobytes())
    return digest.hexdigest()


def rms_of(blocks: Iterable[NDArray[np.floating[Any]]]) -> float:
    """Returns the root mean square of a component of the known words; 0 without words.

    Args:
        blocks: all rows in order; the first block is the unknown word's row alone.
    """
    total, num_values = 0.0, 0
    for block in islice(blocks, 1, None):
        total += float(np.square(block, dtype=np.float64).sum())
        num_values += block.size
    return float(np.sqrt(total / num_values)) if num_values else 0.0
