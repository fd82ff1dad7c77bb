"""Exact search: of a matrix the k rows that suit each query best, block by block.

No matrix of all scores is made. A score and its row are packed into one whole number, which orders
them as they are to stand: higher scores first, and of equal ones the lower row. So nothing depends
on how the rows are cut into blocks but the rounding of a product.

Legend: q queries, m rows, d their width, k results of a query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from models.search.similarity import FloatArray, is_tensor, matrix_of, normalized

Score = Literal["cosine", "dot"]

ROWS_AT_ONCE = 16_384
QUERIES_AT_ONCE = 512
"""Together 32 MiB of scores, and twice as much while they are ordered."""
_MOST_ROWS = 1 << 32
_LOW_BITS = np.uint64(_MOST_ROWS - 1)


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


def search(
    queries: Any,
    matrix: Any,
    k: int = 10,
    *,
    score: Score = "cosine",
    rows_at_once: int = ROWS_AT_ONCE,
) -> Hits:
    """Returns the k rows of a matrix that suit each query best; looks at all of them.

    Args:
        queries: [q, d], or one vector [d]; numpy's or torch's.
        matrix: [m, d]; may be one that numpy maps from a file, of which it reads a block at a time.
        k: results of a query.
        score: ``cosine``, which is 0 for vectors of zeros, or ``dot``, the plain product.
        rows_at_once: rows whose scores are held at a time.

    Raises:
        ValueError: no vectors, of different widths or with numbers that are not finite; or k, the
            score or the size of blocks is none.
    """
    check_search(k, score)
    if rows_at_once < 1:
        raise ValueError(f"rows_at_once must be 1 or more, got {rows_at_once}")
    wanted = matrix_of(queries)
    rows = matrix if isinstance(matrix, np.ndarray) and matrix.ndim == 2 else matrix_of(matrix)
    check_vectors(wanted, rows.shape[1])
    if len(rows) >= _MOST_ROWS:
        raise ValueError(f"{len(rows)} rows are more than can be numbered; search parts of them")
    if score == "cosine":
        wanted = normalized(wanted)
    k = min(k, len(rows))
    found = [
        _best(wanted[first : first + QUERIES_AT_ONCE], rows, k, score, rows_at_once)
        for first in range(0, len(wanted), QUERIES_AT_ONCE)
    ]
    keys = np.concatenate([np.zeros((0, k), np.uint64), *found])
    hits = Hits((_LOW_BITS - (keys & _LOW_BITS)).astype(np.int64), _scores_of(keys))
    return alone(hits) if is_one(queries) else hits


def check_search(k: int, score: str) -> None:
    """Refuses what cannot be asked for.

    Raises:
        ValueError: names it.
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k must be a whole number from 1 on, got {k!r}")
    if score not in get_args(Score):
        raise ValueError(f"score must be one of {', '.join(get_args(Score))}, got {score!r}")


def check_vectors(vectors: FloatArray, width: int) -> None:
    """Refuses vectors that cannot be searched for, or among.

    Raises:
        ValueError: they are of another width, or not finite; names the first.
    """
    if vectors.shape[1] != width:
        raise ValueError(
            f"queries of {vectors.shape[1]} numbers cannot be searched among rows of {width}: "
            "encode both with the same encoder"
        )
    check_finite(vectors, "query")


def check_finite(vectors: FloatArray, called: str, first: int = 0) -> None:
    """Refuses numbers that have no order.

    Args:
        called: what a vector is, for the message.
        first: number of the first one.

    Raises:
        ValueError: names the first vector with such a number.
    """
    is_finite = np.isfinite(vectors).all(axis=1)
    if not is_finite.all():
        raise ValueError(f"{called} {first + int(np.argmin(is_finite))} (from 0) is not finite")


def is_one(queries: Any) -> bool:
    """Returns whether queries are a single vector."""
    return (queries.ndim if is_tensor(queries) else np.ndim(queries)) == 1


def alone(hits: Hits) -> Hits:
    """Returns the hits of the only query without the dimension of queries."""
    return Hits(hits.rows[0], hits.scores[0])


def row_blocks(
    rows: npt.NDArray[Any], score: Score, rows_at_once: int
) -> Iterator[tuple[int, FloatArray]]:
    """Yields blocks of rows as float32, at length 1 if cosines are asked for, with their places.

    Raises:
        ValueError: a row is not finite.
    """
    for first in range(0, len(rows), rows_at_once):
        block = np.asarray(rows[first : first + rows_at_once], dtype=np.float32)
        check_finite(block, "row", first)
        yield first, normalized(block) if score == "cosine" else block


def _best(
    queries: FloatArray, rows: npt.NDArray[Any], k: int, score: Score, rows_at_once: int
) -> npt.NDArray[np.uint64]:
    """Returns the keys of the best rows, [q, k], the best one first."""
    best = np.zeros((len(queries), 0), dtype=np.uint64)
    for first, block in row_blocks(rows, score, rows_at_once):
        with np.errstate(over="ignore", invalid="ignore"):
            scores = queries @ block.T
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


def _scores_of(keys: npt.NDArray[np.uint64]) -> FloatArray:
    ordered = (keys >> np.uint64(32)).astype(np.uint32)
    bits = np.where(ordered >> 31, ordered & np.uint32((1 << 31) - 1), ~ordered)
    return bits.view(np.float32)
