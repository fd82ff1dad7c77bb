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
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treeviews.pipeline.base.atomic_files import write_by_library
from treeviews.pipeline.base.json_files import check_file, read_object, write_sealed_json
from treeviews.pipeline.shards.arrow import strings
from treeviews.pipeline.vectors.word_lists import WordList, read_word_list, write_word_list

TableKept = Literal["float16", "float32"]
Kept = Literal["float16", "float32", "bytes"]

VECTORS_FILE, WORDS_FILE, FACTS_FILE = "vectors.safetensors", "words.parquet", "training.json"
EARLIER_WORDS_FILE = "words.json"
"""Where releases before 0.12 wrote the words."""
FOLDER_FILES = (VECTORS_FILE, WORDS_FILE, EARLIER_WORDS_FILE, FACTS_FILE)
REMEDY = "fetch or train them again, or give others"
READ_AT_ONCE_BYTES = 256 << 20
"""A table up to this size is read and held against its sha256 when it is opened; of a larger one
the size is, and the rest where somebody asks for it."""
_SAFETENSORS_TYPES = {"float16": "F16", "float32": "F32"}
_LITTLE_ENDIAN = {"F16": "<f2", "F32": "<f4"}
_HEADER_BYTES = 512
"""Of a table that is written."""
_ROWS_AT_ONCE = 16_384

Rows = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class VectorTable:
    """What a folder holds."""

    words: pa.Array
    """``large_string`` [V]."""
    rows: Rows
    """[1 + V, E], row 0 zero; of the file, where the folder can be mapped."""
    counts: NDArray[np.int64] | None
    """[V], or None where they are not known."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    mapped: Mapped | None = None


@dataclass(frozen=True, slots=True)
class Mapped:
    """Where the rows of a table lie in its file, so that all of them can be passed through."""

    path: Path
    offset: int
    shape: tuple[int, int]
    """[1 + V, E]."""
    dtype: str
    """Empty where the rows are not in one piece behind a zero row, so that they are read into
    memory."""

    def array(self) -> Rows:
        """Returns the rows as they are in the file, which is read where somebody looks."""
        with self.path.open("rb") as stream:
            # Private: torch takes no array that cannot be written, and nobody writes to this one.
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
        content.madvise(mmap.MADV_RANDOM)
        flat = np.frombuffer(content, self.dtype, self.shape[0] * self.shape[1], self.offset)
        return flat.reshape(self.shape)

    def blocks(self) -> Iterator[Rows]:
        """Yields all rows in order, some at a time, the unknown word's alone first.

        They are read beside the map, so that memory stays flat.
        """
        with self.path.open("rb") as stream:
            stream.seek(self.offset)
            for start in (0, *range(1, self.shape[0], _ROWS_AT_ONCE)):
                num = min(_ROWS_AT_ONCE, self.shape[0] - start) if start else 1
                flat = np.fromfile(stream, self.dtype, num * self.shape[1])
                yield flat.reshape(num, self.shape[1])


def files_of(folder: Path) -> tuple[str, str]:
    """Returns the names of the files that determine a folder's vectors."""
    is_earlier = (folder / EARLIER_WORDS_FILE).is_file() and not (folder / WORDS_FILE).is_file()
    return VECTORS_FILE, EARLIER_WORDS_FILE if is_earlier else WORDS_FILE


def read_width(folder: Path) -> int:
    """Returns E, of which the table's header alone is read.

    Raises:
        FileNotFoundError, ValueError: no table, or a broken one.
    """
    return _read_header(folder / VECTORS_FILE).shape[1]


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
    table, counts = _read_header(path), listed.counts
    mapped = table if table.dtype else None
    if mapped is not None:
        rows = mapped.array()
    else:
        rows, own_counts = _in_memory(path)
        counts = own_counts if counts is None else counts
    num_words = len(rows) - 1
    if len(listed.words) != num_words:
        shape = [num_words, rows.shape[1]]
        raise ValueError(
            f"{folder}: {len(listed.words)} words but vectors of shape {shape}; {REMEDY}"
        )
    if counts is not None and (counts.shape != (num_words,) or counts.min(initial=0) < 0):
        raise ValueError(f"{folder}: counts must be {num_words} numbers from 0 on; {REMEDY}")
    if rows[0].any():
        raise ValueError(f"{folder}: the unknown word's row is not zero; {REMEDY}")
    if whole or rows.nbytes <= READ_AT_ONCE_BYTES:
        for block in [rows] if mapped is None else mapped.blocks():
            # A sum is quickly had, and where it is too large, each number is looked at.
            if not (np.isfinite(block.sum(axis=0)).all() or np.isfinite(block).all()):
                raise ValueError(f"{path}: holds numbers that are not finite; {REMEDY}")
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


def _read_header(path: Path) -> Mapped:
    """Returns what a table's file says of its rows.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it is none of these, or cut short; or its rows lie apart.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "np"):  # the library checks that header and size go together
            pass
    except SafetensorError as error:
        raise ValueError(f"{path}: broken word vectors ({error}); {REMEDY}") from error
    with path.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        header = json.loads(stream.read(length))
    unknown, vectors = header.get("unknown"), header.get("vectors", {"shape": []})
    if len(vectors["shape"]) != 2:
        raise ValueError(
            f"{path}: broken word vectors (vectors of shape {vectors['shape']}); {REMEDY}"
        )
    num_words, width = vectors["shape"]
    shape = (1 + num_words, width)
    if unknown is None or vectors["dtype"] not in _LITTLE_ENDIAN:
        return Mapped(path, 0, shape, "")
    begin, end = unknown["data_offsets"]
    is_same = (unknown["dtype"], unknown["shape"]) == (vectors["dtype"], [1, width])
    if not is_same or end != vectors["data_offsets"][0]:
        raise ValueError(f"{path}: broken word vectors (rows lie apart); {REMEDY}")
    return Mapped(path, 8 + length + begin, shape, _LITTLE_ENDIAN[vectors["dtype"]])


def _in_memory(path: Path) -> tuple[NDArray[np.float32], NDArray[np.int64] | None]:
    """Returns the rows behind a zero one, written once, and the counts beside them, if any."""
    from safetensors.numpy import load_file

    tensors = load_file(path)
    rows, scales = tensors["vectors"], tensors.get("scales")
    table = np.zeros((len(rows) + 1, rows.shape[1]), dtype=np.float32)
    if scales is None:
        table[1:] = rows
        return table, tensors.get("counts")
    wide = scales.astype(np.float32)[:, None]
    np.multiply(rows, wide, out=table[1:], dtype=np.float32, casting="same_kind")
    return table, tensors.get("counts")


def checksum_of(
    words: pa.Array,
    shape: tuple[int, ...],
    blocks: Iterable[Rows],
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


def rms_of(blocks: Iterable[Rows]) -> float:
    """Returns the root mean square of a component of the known words; 0 without words.

    Args:
        blocks: all rows in order; the first block is the unknown word's row alone.
    """
    total, num_values = 0.0, 0
    for block in islice(blocks, 1, None):
        total += float(np.square(block, dtype=np.float64).sum())
        num_values += block.size
    return float(np.sqrt(total / num_values)) if num_values else 0.0


def kept_rows(rows: Rows, kept_as: TableKept) -> Rows:
    """Returns rows in the numbers in which they are kept.

    Raises:
        ValueError: a number is too large for half precision.
    """
    with np.errstate(over="ignore"):
        kept: Rows = rows.astype(kept_as, copy=False)
    if kept_as == "float16" and not np.isfinite(kept).all():
        raise ValueError(
            "a number is larger than half precision holds (65,504); keep all in full precision "
            "(--kept-as float32)"
        )
    return np.ascontiguousarray(kept)


def _header(num_words: int, width: int, kept_as: TableKept) -> bytes:
    """Returns what makes rows behind a zero one a file of safetensors."""
    row_bytes, code = width * np.dtype(kept_as).itemsize, _SAFETENSORS_TYPES[kept_as]
    shapes = {"unknown": (0, 1), "vectors": (1, num_words)}
    tensors = {
        name: {
            "dtype": code,
            "shape": [rows, width],
            "data_offsets": [first * row_bytes, (first + rows) * row_bytes],
        }
        for name, (first, rows) in shapes.items()
    }
    text = json.dumps(tensors).encode().ljust(_HEADER_BYTES - 8)
    return struct.pack("<Q", len(text)) + text


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
    listed = WordList(words if isinstance(words, pa.Array) else strings(words), counts)
    if kept_as != "bytes":
        write_vector_blocks(folder, listed, [vectors], vectors.shape[1], facts, kept_as=kept_as)
        return
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    scales = np.abs(vectors).max(axis=1, initial=0.0) / 127
    whole = np.rint(vectors / np.where(scales > 0, scales, 1.0)[:, None])
    tensors = {"vectors": whole.astype(np.int8), "scales": scales.astype(np.float32)}
    write_by_library(folder / VECTORS_FILE, partial(save_file, tensors))
    _seal_folder(folder, listed, facts)


def write_vector_blocks(
    folder: Path,
    listed: WordList,
    blocks: Iterable[Rows],
    width: int,
    facts: Mapping[str, Any],
    *,
    kept_as: TableKept = "float32",
) -> None:
    """Writes a folder of which a block is in memory at a time, the facts last.

    Args:
        listed: V words.
        blocks: the vectors in the order of the words, [m, width] each, V rows in all.
        width: numbers a vector.
    """
    folder.mkdir(parents=True, exist_ok=True)

    def write(path: Path) -> None:
        with path.open("wb") as stream:
            stream.write(_header(len(listed.words), width, kept_as))
            stream.write(kept_rows(np.zeros((1, width), np.float32), kept_as).data)
            for block in blocks:
                stream.write(kept_rows(block, kept_as).data)

    write_by_library(folder / VECTORS_FILE, write)
    _seal_folder(folder, listed, facts)


def _seal_folder(folder: Path, listed: WordList, facts: Mapping[str, Any]) -> None:
    """Writes the words of a table that is there, then the facts, with what openers ask of it."""
    write_word_list(folder / WORDS_FILE, listed)
    files = [folder / name for name in (VECTORS_FILE, WORDS_FILE)]
    noted: dict[str, Any] = {"bytes": {file.name: file.stat().st_size for file in files}}
    table = _read_header(files[0])
    num_words, num_rows = len(listed.words), table.shape[0] - 1
    assert num_words == num_rows, f"{num_rows} vectors of {num_words} words"
    if table.dtype:
        checksum = checksum_of(listed.words, table.shape, table.blocks(), listed.counts)
        noted |= {"vectors_checksum": checksum, "vectors_rms": rms_of(table.blocks())}
    write_sealed_json(folder / FACTS_FILE, {**facts, **noted}, files)
