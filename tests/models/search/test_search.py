"""Exact search against sorting all scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from models.search.exact import Hits, Score, search
from models.search.similarity import similarity

DRAW = np.random.default_rng(3)


def drawn(rows: int, width: int = 16) -> np.ndarray[Any, np.dtype[np.float32]]:
    return DRAW.normal(size=(rows, width)).astype(np.float32)


def whole(queries: Any, matrix: Any, k: int, score: Score) -> Hits:
    """The oracle: all scores, sorted; of equal ones the lower row comes first."""
    scores = similarity(queries, matrix) if score == "cosine" else queries @ matrix.T
    rows = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return Hits(rows, np.take_along_axis(scores, rows, axis=1))


@pytest.mark.parametrize("score", ["cosine", "dot"])
@pytest.mark.parametrize("rows_at_once", [7, 64, 1000])
def test_the_best_rows_are_those_of_sorting_all(score: Score, rows_at_once: int) -> None:
    queries, matrix = drawn(9), drawn(300)
    found = search(queries, matrix, 5, score=score, rows_at_once=rows_at_once)
    expected = whole(queries, matrix, 5, score)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-5)


@pytest.mark.parametrize("rows_at_once", [1, 4, 100])
def test_of_equal_scores_the_lower_row_comes_first(rows_at_once: int) -> None:
    matrix = np.array([[0, 1], [1, 0], [-1, 0], [1, 0], [0, -1], [1, 0]], dtype=np.float32)
    found = search(np.array([[1, 0]], dtype=np.float32), matrix, 6, rows_at_once=rows_at_once)
    assert found.rows.tolist() == [[1, 3, 5, 0, 4, 2]]
    assert found.scores.tolist() == [[1, 1, 1, 0, 0, -1]]


def test_rows_of_zeros_are_like_nothing() -> None:
    matrix = np.array([[-1, 0], [0, 0], [1, 0]], dtype=np.float32)
    found = search([1.0, 0.0], matrix, 3)
    assert (found.rows.tolist(), found.scores.tolist()) == ([2, 1, 0], [1, 0, -1])


def test_one_query_has_no_dimension_of_queries() -> None:
    matrix = drawn(20)
    assert search(matrix[4], matrix, 3).rows.shape == (3,)
    assert search(matrix[4], matrix, 3).rows[0] == 4
    assert search(torch.from_numpy(matrix[4]), torch.from_numpy(matrix), 3).rows[0] == 4


def test_there_are_no_more_hits_than_rows() -> None:
    assert search(drawn(2), drawn(3), 10).rows.shape == (2, 3)
    assert search(drawn(2), drawn(0), 10).rows.shape == (2, 0)
    assert search(drawn(0), drawn(3), 10).rows.shape == (0, 3)


def test_a_matrix_is_searched_where_it_lies_in_a_file(tmp_path: Path) -> None:
    matrix = drawn(500)
    np.save(tmp_path / "rows.npy", matrix.astype(np.float16))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    found = search(matrix[:3], mapped, 1, rows_at_once=50)
    assert found.rows.tolist() == [[0], [1], [2]]


@pytest.mark.parametrize(
    ("queries", "matrix", "options", "said"),
    [
        (drawn(1), drawn(4), {"k": 0}, "k must be a whole number from 1 on, got 0"),
        (drawn(1), drawn(4), {"score": "l2"}, "score must be one of cosine, dot, got 'l2'"),
        (drawn(1), drawn(4), {"rows_at_once": 0}, "rows_at_once must be 1 or more"),
        (drawn(1, 3), drawn(4), {}, "queries of 3 numbers cannot be searched among rows of 16"),
        (drawn(1), np.full((4, 16), np.nan), {}, "row 0 (from 0) is not finite"),
        (np.full((1, 16), np.inf), drawn(4), {}, "query 0 (from 0) is not finite"),
        (np.full((1, 16), 3e38), np.full((4, 16), 3e38), {"score": "dot"}, "float32's range"),
        (["where?"], drawn(4), {}, "give vectors of numbers"),
    ],
)
def test_what_cannot_be_searched_is_named(
    queries: Any, matrix: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError) as raised:
        search(queries, matrix, **options)
    assert said in str(raised.value)
