"""hnswlib's graph of neighbours, walked from far to near.

Malkov & Yashunin 2020, "Efficient and robust approximate nearest neighbor search using hierarchical
navigable small world graphs", algorithms 1 and 5.
"""

from __future__ import annotations

from typing import Any

import hnswlib
import numpy as np
import numpy.typing as npt

from models.search.exact import Hits, Score, alone, check_search, check_vectors, is_one, row_blocks
from models.search.similarity import matrix_of, normalized

ROWS_AT_ONCE = 65_536
NEIGHBOURS = 32
"""M of the paper, of each row; 12 to 48 for widths such as ours, by hnswlib's own advice."""
CANDIDATES_IN_BUILDING = 200
"""efConstruction."""
LEAST_CANDIDATES = 200
"""ef of a search; at least k of them."""


class HnswIndex:
    """An index that follows the links of a graph towards a query."""

    kind = "hnsw"

    def __init__(self, matrix: npt.NDArray[Any], score: Score) -> None:
        """Links the rows, in their order and with one thread, so that the graph is always the same.

        Raises:
            ValueError: a row is not finite.
        """
        self._score = score
        num_rows, self._width = matrix.shape
        self._index = hnswlib.Index(space="ip", dim=self._width)
        self._index.init_index(
            max_elements=num_rows,
            M=NEIGHBOURS,
            ef_construction=CANDIDATES_IN_BUILDING,
            random_seed=0,
        )
        for first, block in row_blocks(matrix, score, ROWS_AT_ONCE):
            places = np.arange(first, first + len(block))
            self._index.add_items(block, places, num_threads=1)

    def __len__(self) -> int:
        return int(self._index.get_current_count())

    def search(self, queries: Any, k: int = 10) -> Hits:
        """Returns the k rows that suit each query best; see `models.search.index.Index`."""
        check_search(k, self._score)
        wanted = matrix_of(queries)
        check_vectors(wanted, self._width)
        if self._score == "cosine":
            wanted = normalized(wanted)
        k = min(k, len(self))
        self._index.set_ef(max(LEAST_CANDIDATES, 2 * k))
        rows, distances = self._index.knn_query(wanted, k=k)
        hits = Hits(rows.astype(np.int64), (1 - distances).astype(np.float32))
        return alone(hits) if is_one(queries) else hits
