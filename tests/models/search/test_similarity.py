"""Cosines of lists of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from models.search.similarity import similarity, similarity_pairwise

A = np.array([[3, 4], [0, 2], [0, 0]], dtype=np.float32)
B = np.array([[1, 0], [6, 8]], dtype=np.float32)


def test_all_are_compared_with_all() -> None:
    np.testing.assert_allclose(similarity(A, B), [[0.6, 1], [0, 0.8], [0, 0]], atol=1e-6)


def test_one_list_is_compared_with_itself() -> None:
    np.testing.assert_allclose(similarity(A), [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 0]], atol=1e-6)


def test_vectors_of_zeros_are_like_nothing_not_even_like_themselves() -> None:
    zeros = np.zeros((2, 3), dtype=np.float32)
    assert not similarity(zeros).any()
    assert not similarity_pairwise(zeros, zeros).any()


def test_pairs_stand_at_the_same_place() -> None:
    np.testing.assert_allclose(similarity_pairwise(A[:2], B), [0.6, 0.8], atol=1e-6)
    np.testing.assert_allclose(similarity_pairwise(A[0], B[1]), [1], atol=1e-6)


def test_one_vector_counts_as_a_list_of_one() -> None:
    assert similarity(A[0], B).shape == (1, 2)
    assert similarity(A, B[0]).shape == (3, 1)


def test_no_cosine_is_above_1() -> None:
    drawn = np.random.default_rng(0).normal(size=(300, 7)).astype(np.float32)
    assert similarity(drawn).max() <= 1
    assert similarity_pairwise(drawn, -drawn).min() >= -1


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (A, np.zeros((1, 3)), "vectors of 2 numbers cannot be compared with such of 3"),
        (["It rains."], None, "give vectors of numbers"),
        (np.zeros((2, 2, 2)), None, "not an array of shape [2, 2, 2]"),
    ],
)
def test_what_cannot_be_compared_is_named(a: Any, b: Any, said: str) -> None:
    with pytest.raises(ValueError) as raised:
        similarity(a, b)
    assert said in str(raised.value)


def test_pairs_of_different_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="as many vectors on both sides, got 3 and 2"):
        similarity_pairwise(A, B)


@pytest.mark.parametrize("size", [1e20, 3e38, 1e-23, 1e-40])
@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
def test_vectors_of_any_length_have_a_direction(size: float, kind: Any) -> None:
    found = similarity(kind([[size, 0.0], [0.0, size]]), kind([[size, size]]))
    np.testing.assert_allclose(np.asarray(found), [[0.5**0.5], [0.5**0.5]], atol=1e-5)
