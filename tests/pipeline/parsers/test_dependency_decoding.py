"""The best tree by brute force, and trees told from other graphs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from treeviews.pipeline.parsers.dependency_decoding import (
    are_single_rooted_trees,
    single_root_maximum_spanning_tree,
)
from treeviews.pipeline.trees.flat_trees import validate_heads

Scores = NDArray[np.float64]


def score(scores: Scores, heads: tuple[int, ...] | list[int]) -> float:
    return sum(scores[dependent, heads[dependent]] for dependent in range(1, len(heads)))


def brute_force_best_score(scores: Scores) -> float:
    """Tries all n^n head assignments."""
    size = len(scores)
    candidates = ((0, *heads) for heads in itertools.product(range(size), repeat=size - 1))
    return max(
        score(scores, heads)
        for heads in candidates
        if heads[1:].count(0) == 1 and all(reaches_root(heads, i) for i in range(1, size))
    )


def reaches_root(heads: tuple[int, ...], position: int) -> bool:
    for _ in heads:
        position = heads[position]
    return position == 0


@st.composite
def score_matrices(draw: st.DrawFn) -> Scores:
    size = draw(st.integers(2, 6))
    # Few distinct values make ties, cycles and several roots common.
    values = st.integers(-4, 4) if draw(st.booleans()) else st.floats(-50, 50)
    flat = draw(st.lists(values, min_size=size * size, max_size=size * size))
    return np.array(flat, dtype=np.float64).reshape(size, size)


@pytest.mark.slow
@given(score_matrices())
@settings(max_examples=300, deadline=None)
def test_no_single_rooted_tree_scores_higher(scores: Scores) -> None:
    heads = single_root_maximum_spanning_tree(scores)
    assert validate_heads(heads[1:]) is None
    assert score(scores, heads) == pytest.approx(brute_force_best_score(scores))


@given(st.lists(st.lists(st.integers(0, 5), min_size=5, max_size=5), min_size=1, max_size=20))
def test_trees_are_told_from_other_graphs(heads: list[list[int]]) -> None:
    found = are_single_rooted_trees(np.array([[9, *row] for row in heads]), np.full(len(heads), 6))
    assert found.tolist() == [validate_heads(row) is None for row in heads]


def test_what_lies_beyond_a_sentence_does_not_count() -> None:
    heads = np.array([[0, 2, 0, 3, 3], [0, 2, 1, 0, 3], [0, 0, 0, 1, 0], [7, 0, 9, 9, 9]])
    assert are_single_rooted_trees(heads, np.array([3, 5, 4, 2])).tolist() == [1, 0, 0, 1]
