"""An index: a matrix that is searched many times, exactly or faster by a library.

    index = build_index(encoder.encode(sentences))          # faiss, else exact
    hits = index.search(encoder.encode(["Where is it?"]), k=5)

`faiss` searches cells of like rows, `hnsw` walks a graph of neighbours: both look at some of the
rows, so that a query may miss a few that the exact search finds.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from models.search.exact import ROWS_AT_ONCE, Hits, Score, check_search, row_blocks, search
from models.search.similarity import FloatArray, matrix_of
from pipeline.base.bundled import how_to_install

Kind = Literal["auto", "exact", "faiss", "hnsw"]
LIBRARY = "faiss"
"""The module that all kinds but the exact one need."""
WORTH_AN_INDEX = 10_000
"""Rows; fewer are searched exactly in a few milliseconds."""


class Index(Protocol):
    """Vectors that can be searched."""

    kind: str
    """How: ``exact``, ``faiss`` or ``hnsw``."""

    def __len__(self) -> int:
        """Returns the number of rows."""
        ...

    def search(self, queries: Any, k: int = 10) -> Hits:
        """Returns the k rows that suit each query best.

        Args:
            queries: [q, d], or one vector [d].
            k: results of a query.

        Raises:
            ValueError: queries of another width or that are not finite, or k is below 1.
        """
        ...


class ExactIndex:
    """The matrix itself, of which a search looks at every row."""

    kind = "exact"

    def __init__(self, matrix: FloatArray, score: Score) -> None:
        self._matrix, self._score = matrix, score

    def __len__(self) -> int:
        return len(self._matrix)

    def search(self, queries: Any, k: int = 10) -> Hits:
        """Returns the k rows that suit each query best; see `models.search.exact.search`."""
        return search(queries, self._matrix, k, score=self._score)


def build_index(matrix: Any, kind: Kind = "auto", *, score: Score = "cosine") -> Index:
    """Returns an index over the rows of a matrix.

    Args:
        matrix: [m, d]; numpy's or torch's.
        kind: ``exact``, ``faiss``, ``hnsw``, or ``auto``: exact for fewer than `WORTH_AN_INDEX`
            rows, else faiss if it is installed, else exact.
        score: ``cosine`` or ``dot``.

    Raises:
        ValueError: no matrix, no rows, numbers that are not finite, or another kind or score.
        ModuleNotFoundError: the library of this kind is not installed; names the remedy.
    """
    check_search(1, score)
    if kind not in get_args(Kind):
        raise ValueError(f"kind must be one of {', '.join(get_args(Kind))}, got {kind!r}")
    rows: npt.NDArray[Any] = matrix if isinstance(matrix, np.ndarray) else matrix_of(matrix)
    if rows.ndim != 2 or not len(rows):
        raise ValueError(f"an index needs rows [m, d], got shape {list(rows.shape)}")
    if kind == "auto":
        kind = "exact" if len(rows) < WORTH_AN_INDEX or not find_spec(LIBRARY) else "faiss"
    if kind == "exact":
        for _ in row_blocks(rows, score, ROWS_AT_ONCE):
            pass  # a row that is not finite is found now, not by the first search
        return ExactIndex(rows, score)
    if find_spec(LIBRARY) is None:
        raise ModuleNotFoundError(
            f"an index of kind {kind!r} needs {LIBRARY}, which is not installed: "
            f"{how_to_install('search')}, or take kind='exact'"
        )
    from models.search.faiss_index import FaissIndex, HnswIndex

    return FaissIndex(rows, score) if kind == "faiss" else HnswIndex(rows, score)
