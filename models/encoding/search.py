"""Cosines of vectors, exact search among them, and a whole corpus' embeddings as one matrix.

A vector of zeros, such as that of a sentence that could not be taken, is like nothing: its
cosines are 0.

Legend: n and m vectors, d their width; q queries, k results of a query; N sentences of all shards.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from treeviews.pipeline.base.atomic_files import locked, write_by_library, write_bytes_atomically
from treeviews.pipeline.base.digest import digest_of
from treeviews.pipeline.shards.arrow import vectors_of
from treeviews.pipeline.shards.manifests import (
    DTYPE,
    MANIFEST_NAME,
    WIDTH,
    ShardManifest,
    parser_problems,
    read_dataset_manifest,
)
from treeviews.pipeline.shards.schema import EMBEDDING, EMBEDDINGS, Vectors
from treeviews.pipeline.shards.shards import read_row_groups

FloatArray = npt.NDArray[np.float32]
Score = Literal["cosine", "dot"]

ROWS_AT_ONCE = 16_384
QUERIES_AT_ONCE = 512
"""Together 32 MiB of scores, and twice as much while they are ordered."""
_LOW_BITS = np.uint64((1 << 32) - 1)


def normalized(vectors: FloatArray) -> FloatArray:
    """Returns each vector at length 1, float32 [n, d]; one of zeros stays one."""
    most = np.abs(vectors).max(axis=-1, keepdims=True, initial=0)
    # Squares of float32 leave its range long before the numbers themselves do.
    scaled = vectors / np.where(most > 0, most, 1)
    lengths = np.linalg.norm(scaled, axis=-1, keepdims=True)
    return (scaled / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)


def similarity(a: Any, b: Any = None) -> FloatArray:
    """Returns the cosine of each vector of one list with each of another, float32 [n, m].

    Args:
        a: [n, d], or one vector [d], which counts as a list of one.
        b: [m, d] likewise; None compares ``a`` with itself.

    Raises:
        ValueError: they are no vectors of numbers, or of different widths.
    """
    first, second = matrix_of(a), matrix_of(a if b is None else b)
    _check_widths(first, second)
    cosines: FloatArray = (normalized(first) @ normalized(second).T).clip(-1, 1)
    return cosines


def similarity_pairwise(a: Any, b: Any) -> FloatArray:
    """Returns the cosine of each vector with the one at its place in the other list, float32 [n].

    Args:
        a: [n, d], or one vector [d], which counts as a list of one.
        b: [n, d] likewise.

    Raises:
        ValueError: they are no vectors of numbers, or of different shapes.
    """
    first, second = matrix_of(a), matrix_of(b)
    _check_widths(first, second)
    if len(first) != len(second):
        raise ValueError(
            f"pairs need as many vectors on both sides, got {len(first)} and {len(second)}; "
            "similarity compares all with all"
        )
    cosines: FloatArray = (normalized(first) * normalized(second)).sum(-1).clip(-1, 1)
    return cosines


def _check_widths(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> None:
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"vectors of {first.shape[1]} numbers cannot be compared with such of "
            f"{second.shape[1]}: encode both with the same encoder"
        )


def matrix_of(value: Any) -> FloatArray:
    """Returns vectors of numpy or torch as a matrix, float32 [n, d]; one vector is a list of one.

    Raises:
        ValueError: it is none.
    """
    if hasattr(value, "detach"):  # a tensor, wherever it lies
        value = value.detach().float().cpu().numpy()
    try:
        array = np.asarray(value).astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"give vectors of numbers, not {type(value).__name__}") from error
    if array.ndim == 1 and len(array):
        return array[None]
    if array.ndim != 2:
        raise ValueError(f"give vectors [n, d], not an array of shape {list(array.shape)}")
    return array


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """The rows that suit queries best, the best one first.

    Of one query that was given as a vector both are [k], of several [q, k]. Where there are fewer
    rows than asked for, k is their number.
    """

    rows: npt.NDArray[np.int64]
    """Places in the matrix that was searched."""
    scores: FloatArray

    def __len__(self) -> int:
        return len(self.rows)


def search(queries: Any, matrix: Any, k: int = 10, *, score: Score = "cosine") -> Hits:
    """Returns the k rows of a matrix that suit each query best; looks at all of them, in blocks.

    No matrix of all scores is made. A score and its row are packed into one whole number, which
    orders them as they are to stand: higher scores first, and of equal ones the lower row. So
    nothing depends on how the rows are cut into blocks but the rounding of a product.

    Args:
        queries: [q, d], or one vector [d]; numpy's or torch's.
        matrix: [m, d]; may be one that numpy maps from a file, of which it reads a block at a time.
        k: results of a query.
        score: ``cosine``, which is 0 for vectors of zeros, or ``dot``, the plain product.

    Raises:
        ValueError: no vectors, of different widths or with numbers that are not finite; or k or the
            score is none.
    """
    if k < 1:
        raise ValueError(f"k must be a whole number from 1 on, got {k!r}")
    if score not in get_args(Score):
        raise ValueError(f"score must be one of {', '.join(get_args(Score))}, got {score!r}")
    wanted = matrix_of(queries)
    rows = matrix if isinstance(matrix, np.ndarray) and matrix.ndim == 2 else matrix_of(matrix)
    _check_widths(wanted, rows)
    _check_finite(wanted, "query")
    if score == "cosine":
        wanted = normalized(wanted)
    k = min(k, len(rows))
    best = [
        _best(wanted[first : first + QUERIES_AT_ONCE], rows, k, score)
        for first in range(0, len(wanted), QUERIES_AT_ONCE)
    ]
    keys = np.concatenate([np.zeros((0, k), np.uint64), *best])
    places = (_LOW_BITS - (keys & _LOW_BITS)).astype(np.int64)
    bits = (keys >> np.uint64(32)).astype(np.uint32)
    scores = np.where(bits >> 31, bits & np.uint32((1 << 31) - 1), ~bits).view(np.float32)
    is_alone = (queries.ndim if hasattr(queries, "ndim") else np.ndim(queries)) == 1
    return Hits(places[0], scores[0]) if is_alone else Hits(places, scores)


def _check_finite(vectors: FloatArray, called: str, first: int = 0) -> None:
    is_finite = np.isfinite(vectors).all(axis=1)
    if not is_finite.all():
        raise ValueError(f"{called} {first + int(np.argmin(is_finite))} (from 0) is not finite")


def _best(
    queries: FloatArray, rows: npt.NDArray[Any], k: int, score: Score
) -> npt.NDArray[np.uint64]:
    """Returns the keys of the best rows, [q, k], the best one first."""
    best = np.zeros((len(queries), 0), dtype=np.uint64)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        block = np.asarray(rows[first : first + ROWS_AT_ONCE], dtype=np.float32)
        _check_finite(block, "row", first)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = queries @ (normalized(block) if score == "cosine" else block).T
        if not np.isfinite(scores).all():
            raise ValueError("products of these vectors leave float32's range; take score='cosine'")
        keys = _keys(scores, first)
        if keys.shape[1] > k:
            keys = np.partition(keys, keys.shape[1] - k, axis=1)[:, -k:]
        best = np.sort(np.concatenate([best, keys], axis=1), axis=1)[:, -k:]
    return best[:, ::-1]


def _keys(scores: FloatArray, first_row: int) -> npt.NDArray[np.uint64]:
    """Returns numbers that are higher where a score is, and of equal scores where the row is lower.

    A positive float's bits grow with it, a negative one's with its distance from 0.
    """
    bits = (scores + np.float32(0)).view(np.uint32)  # -0 becomes 0
    ordered = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)).astype(np.uint64)
    rows = np.arange(first_row, first_row + scores.shape[1], dtype=np.uint64)
    return (ordered << np.uint64(32)) | (_LOW_BITS - rows)


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingMatrix:
    """The vectors of a corpus' sentences in its order, whatever shards they are in."""

    vectors: npt.NDArray[np.float32] | npt.NDArray[np.float16]
    """[N, d], mapped from a file and not to be written to; zeros where a sentence has none."""
    missing: npt.NDArray[np.int64]
    """Rows without an embedding, in order."""
    first_rows: npt.NDArray[np.int64]
    """Row at which each shard begins, and N; [shards + 1]."""

    def __len__(self) -> int:
        return len(self.vectors)

    def place_of(self, row: int) -> tuple[int, int]:
        """Returns the shard of a row and its row there, where the other stages have its sentence.

        Raises:
            IndexError: no such row.
        """
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} is not among {len(self)}")
        shard = int(np.searchsorted(self.first_rows, row, side="right")) - 1
        return shard, int(row - self.first_rows[shard])


def open_embeddings(folder: str | Path, *, unpacked: str | Path | None = None) -> EmbeddingMatrix:
    """Returns the embeddings of a finished stage as one matrix that is mapped from a file.

    Parquet is packed and cannot be mapped. When a stage is first opened, its rows are unpacked into
    one file of numpy's format beside the shards; every later opening maps that file, and processes
    share its pages. It may be deleted at any time.

    Args:
        folder: ``embeddings-…`` of a corpus.
        unpacked: folder of the unpacked file; by default the stage's own. It takes 2 or 4 bytes a
            number.

    Raises:
        FileNotFoundError: the stage is not complete.
        ValueError: it is no stage of embeddings, or damaged, or its shards differ in encoder,
            width or type; names the shards and the remedy.
    """
    place = Path(folder)
    shards = read_dataset_manifest(place, EMBEDDINGS).shards
    into = place if unpacked is None else Path(unpacked)
    digest = digest_of({"shards": [shard.sha256 for shard in shards]})
    vectors, missing = into / f"vectors-{digest}.npy", into / f"missing-{digest}.npy"
    if not (vectors.exists() and missing.exists()):
        into.mkdir(parents=True, exist_ok=True)
        with locked(into / "unpacking.lock", lambda: None):
            if not (vectors.exists() and missing.exists()):
                _unpack(place, shards, vectors, missing)
    first_rows = np.cumsum([0, *(shard.rows for shard in shards)])
    return EmbeddingMatrix(np.load(vectors, mmap_mode="r"), np.load(missing), first_rows)


def _unpack(place: Path, shards: Sequence[ShardManifest], vectors: Path, missing: Path) -> None:
    """Writes the rows of all shards into one file, and then those that have no vector."""
    for problem in parser_problems(shards):
        raise ValueError(
            f"{place}: {problem}: delete the others and {MANIFEST_NAME} and run the stage again"
        )
    facts: dict[str, Any] = {WIDTH: 0, DTYPE: "float32"}  # nobody says them of no shard
    for shard in shards:
        facts |= {key: shard.extra[key] for key in facts if key in shard.extra}
    kind = Vectors(facts[WIDTH], facts[DTYPE])
    nulls: list[npt.NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]

    def write(path: Path) -> None:
        shape = (sum(shard.rows for shard in shards), kind.width)
        matrix = np.lib.format.open_memmap(path, mode="w+", dtype=kind.dtype, shape=shape)
        row = 0
        for shard in shards:
            for group in read_row_groups(place, EMBEDDINGS, shard.number, sha256=shard.sha256):
                values, is_null = vectors_of(group[EMBEDDING])
                matrix[row : row + len(values)] = values
                nulls.append(row + np.flatnonzero(is_null))
                row += len(values)
        matrix.flush()

    write_by_library(vectors, write)
    content = io.BytesIO()
    np.save(content, np.concatenate(nulls))
    write_bytes_atomically(missing, content.getvalue())
