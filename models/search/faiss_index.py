"""FAISS's inverted file over flat vectors: rows in cells of like ones, of which a few are searched.

Jégou, Douze & Schmid 2011, "Product quantization for nearest neighbor search", section IV, without
the quantization: the vectors stay as they are.
"""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from models.search.exact import Hits, Score, alone, check_search, check_vectors, is_one, row_blocks
from models.search.similarity import matrix_of, normalized

ROWS_AT_ONCE = 65_536
ROWS_A_CELL_LEARNS_FROM = 64
"""Below 39, FAISS warns that a cell's centre is a guess."""
SHARE_SEARCHED = 1 / 4
"""Of the cells: vectors of sentences lie in no clear clusters."""

NEIGHBOURS = 32
"""M of the paper on graphs, of each row."""
CANDIDATES_IN_BUILDING = 200
"""efConstruction."""
LEAST_CANDIDATES = 200
"""efSearch; at least k of them."""


class FaissIndex:
    """An index that compares a query with the rows of a share of the cells."""

    kind = "faiss"

    def __init__(self, matrix: npt.NDArray[Any], score: Score) -> None:
        """Learns the cells from a sample of the rows, and sorts all into them.

        Raises:
            ValueError: a row is not finite.
        """
        self._score = score
        num_rows, self._width = matrix.shape
        num_cells = max(1, min(round(2 * num_rows**0.5), num_rows // ROWS_A_CELL_LEARNS_FROM))
        centres = faiss.IndexFlatIP(self._width)
        self._index = faiss.IndexIVFFlat(
            centres, self._width, num_cells, faiss.METRIC_INNER_PRODUCT
        )
        self._index.nprobe = max(1, round(num_cells * SHARE_SEARCHED))
        for _ in row_blocks(matrix, score, ROWS_AT_ONCE):
            pass  # a row that is not finite is named by its place in the matrix, not in the sample
        sample = np.linspace(0, num_rows - 1, min(num_rows, 64 * num_cells)).astype(np.int64)
        learned = next(row_blocks(matrix[sample], score, len(sample)))[1]
        self._index.train(np.ascontiguousarray(learned))
        for _, block in row_blocks(matrix, score, ROWS_AT_ONCE):
            self._index.add(np.ascontiguousarray(block))

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def search(self, queries: Any, k: int = 10) -> Hits:
        """Returns the k rows that suit each query best; see `models.search.index.Index`.

        Where the cells that are searched hold fewer, all are.
        """
        check_search(k, self._score)
        wanted = matrix_of(queries)
        check_vectors(wanted, self._width)
        if self._score == "cosine":
            wanted = normalized(wanted)
        k = min(k, len(self))
        scores, rows = self._index.search(np.ascontiguousarray(wanted), k)
        if (short := np.flatnonzero((rows < 0).any(axis=1))).size:
            everywhere = faiss.SearchParametersIVF()
            everywhere.nprobe = self._index.nlist
            scores[short], rows[short] = self._index.search(wanted[short], k, params=everywhere)
        hits = Hits(rows.astype(np.int64), scores)
        return alone(hits) if is_one(queries) else hits


class HnswIndex:
    """FAISS's graph of neighbours, walked from far to near.

    Malkov & Yashunin 2020, "Efficient and robust approximate nearest neighbor search using
    hierarchical navigable small world graphs", algorithms 1 and 5.
    """

    kind = "hnsw"

    def __init__(self, matrix: npt.NDArray[Any], score: Score) -> None:
        """Links the rows, in their order.

        Raises:
            ValueError: a row is not finite.
        """
        self._score = score
        self._width = matrix.shape[1]
        self._index = faiss.IndexHNSWFlat(self._width, NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
        self._index.hnsw.efConstruction = CANDIDATES_IN_BUILDING
        for _, block in row_blocks(matrix, score, ROWS_AT_ONCE):
            self._index.add(np.ascontiguousarray(block))

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def search(self, queries: Any, k: int = 10) -> Hits:
        """Returns the k rows that suit each query best; see `models.search.index.Index`.

        Where the graph leads to fewer, all rows are compared.
        """
        check_search(k, self._score)
        wanted = matrix_of(queries)
        check_vectors(wanted, self._width)
        if self._score == "cosine":
            wanted = normalized(wanted)
        k = min(k, len(self))
        wider = faiss.SearchParametersHNSW()  # type: ignore[attr-defined]
        wider.efSearch = max(LEAST_CANDIDATES, 2 * k)
        scores, rows = self._index.search(np.ascontiguousarray(wanted), k, params=wider)
        if (short := np.flatnonzero((rows < 0).any(axis=1))).size:
            flat = faiss.downcast_index(self._index.storage)
            scores[short], rows[short] = flat.search(wanted[short], k)
        hits = Hits(rows.astype(np.int64), scores)
        return alone(hits) if is_one(queries) else hits
