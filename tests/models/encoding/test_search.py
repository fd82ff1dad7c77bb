"""Cosines of lists of vectors, and exact search against sorting all scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from treeviews.models.encoding import search as search_module
from treeviews.models.encoding.search import Hits, Score, search, similarity, similarity_pairwise

A = np.array([[3, 4], [0, 2], [0, 0]], dtype=np.float32)
B = np.array([[1, 0], [6, 8]], dtype=np.float32)
DRAW = np.random.default_rng(3)


def drawn(rows: int, width: int = 16) -> np.ndarray[Any, np.dtype[np.float32]]:
    return DRAW.normal(size=(rows, width)).astype(np.float32)


def test_all_are_compared_with_all_and_pairs_at_their_place() -> None:
    np.testing.assert_allclose(similarity(A, B), [[0.6, 1], [0, 0.8], [0, 0]], atol=1e-6)
    np.testing.assert_allclose(similarity(A), [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(similarity_pairwise(A[:2], B), [0.6, 0.8], atol=1e-6)
    np.testing.assert_allclose(similarity_pairwise(A[0], B[1]), [1], atol=1e-6)
    assert similarity(A[0], B).shape == (1, 2) and similarity(A, B[0]).shape == (3, 1)
    zeros = np.zeros((2, 3), dtype=np.float32)
    assert not similarity(zeros).any() and not similarity_pairwise(zeros, zeros).any()


def test_no_cosine_is_above_1() -> None:
    vectors = drawn(300, 7)
    assert similarity(vectors).max() <= 1
    assert similarity_pairwise(vectors, -vectors).min() >= -1


@pytest.mark.parametrize("size", [1e20, 3e38, 1e-23, 1e-40])
@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
def test_vectors_of_any_length_have_a_direction(size: float, kind: Any) -> None:
    found = similarity(kind([[size, 0.0], [0.0, size]]), kind([[size, size]]))
    np.testing.assert_allclose(np.asarray(found), [[0.5**0.5], [0.5**0.5]], atol=1e-5)


def whole(queries: Any, matrix: Any, k: int, score: Score) -> Hits:
    """The oracle: all scores, sorted; of equal ones the lower row comes first."""
    scores = similarity(queries, matrix) if score == "cosine" else queries @ matrix.T
    rows = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return Hits(rows, np.take_along_axis(scores, rows, axis=1))


@pytest.mark.parametrize("score", ["cosine", "dot"])
@pytest.mark.parametrize("rows_at_once", [1, 7, 64, 1000])
def test_the_best_rows_are_those_of_sorting_all(
    score: Score, rows_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "ROWS_AT_ONCE", rows_at_once)
    queries, matrix = drawn(9), drawn(300)
    found = search(queries, matrix, 5, score=score)
    expected = whole(queries, matrix, 5, score)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-5)
    alike = np.array([[0, 1], [1, 0], [-1, 0], [1, 0], [0, -1], [1, 0]], dtype=np.float32)
    found = search(np.array([[1, 0]], dtype=np.float32), alike, 6, score=score)
    assert found.rows.tolist() == [[1, 3, 5, 0, 4, 2]], "of equal scores the lower row comes first"
    assert found.scores.tolist() == [[1, 1, 1, 0, 0, -1]]


def test_one_query_has_no_dimension_of_queries() -> None:
    matrix = drawn(20)
    assert search(matrix[4], matrix, 3).rows.shape == (3,)
    assert search(matrix[4], matrix, 3).rows[0] == 4
    assert search(torch.from_numpy(matrix[4]), torch.from_numpy(matrix), 3).rows[0] == 4
    assert search([1.0, 0.0], [[-1, 0], [0, 0], [1, 0]], 3).scores.tolist() == [1, 0, -1]


def test_there_are_no_more_hits_than_rows() -> None:
    assert search(drawn(2), drawn(3), 10).rows.shape == (2, 3)
    assert search(drawn(2), drawn(0), 10).rows.shape == (2, 0)
    assert search(drawn(0), drawn(3), 10).rows.shape == (0, 3)


def test_a_matrix_is_searched_where_it_lies_in_a_file(tmp_path: Path) -> None:
    matrix = drawn(500)
    np.save(tmp_path / "rows.npy", matrix.astype(np.float16))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert search(matrix[:3], mapped, 1).rows.tolist() == [[0], [1], [2]]


@pytest.mark.parametrize(
    ("function", "first", "second", "options", "said"),
    [
        (similarity, A, np.zeros((1, 3)), {}, "vectors of 2 numbers cannot be compared with such"),
        (similarity, ["It rains."], None, {}, "give vectors of numbers"),
        (similarity, np.zeros((2, 2, 2)), None, {}, "not an array of shape [2, 2, 2]"),
        (similarity_pairwise, A, B, {}, "as many vectors on both sides, got 3 and 2"),
        (search, A, A, {"k": 0}, "k must be a whole number from 1 on, got 0"),
        (search, A, A, {"score": "l2"}, "score must be one of cosine, dot, got 'l2'"),
        (search, drawn(1, 3), A, {}, "vectors of 3 numbers cannot be compared with such of 2"),
        (search, A, np.full((4, 2), np.nan), {}, "row 0 (from 0) is not finite"),
        (search, np.full((1, 2), np.inf), A, {}, "query 0 (from 0) is not finite"),
        (search, np.full((1, 2), 3e38), np.full((4, 2), 3e38), {"score": "dot"}, "float32's range"),
        (search, ["where?"], A, {}, "give vectors of numbers"),
    ],
)
def test_what_cannot_be_compared_or_searched_is_named(
    function: Callable[..., Any], first: Any, second: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError) as raised:
        function(first, second, **options)
    assert said in str(raised.value)
