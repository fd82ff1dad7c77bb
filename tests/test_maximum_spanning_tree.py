import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pipeline.parsers.dependency import maximum_spanning_tree
from pipeline.parsers.dependency.maximum_spanning_tree import (
    find_cycle,
    is_single_rooted_tree,
    single_root_maximum_spanning_tree,
)

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


@given(score_matrices())
@settings(max_examples=300, deadline=None)
def test_no_single_rooted_tree_scores_higher(scores: Scores) -> None:
    heads = single_root_maximum_spanning_tree(scores)
    assert is_single_rooted_tree(heads)
    assert score(scores, heads) == pytest.approx(brute_force_best_score(scores))


def test_large_random_matrices_give_trees_and_leave_their_input_alone() -> None:
    scores = np.random.default_rng(0).normal(size=(120, 120)).astype(np.float32)
    before = scores.copy()
    assert is_single_rooted_tree(single_root_maximum_spanning_tree(scores))
    np.testing.assert_array_equal(scores, before)


def test_two_greedy_roots_become_one() -> None:
    scores = np.full((3, 3), -1.0)
    scores[1, 0], scores[2, 0] = 5.0, 4.0
    assert single_root_maximum_spanning_tree(scores) == [0, 0, 1]


def test_as_many_greedy_roots_as_tokens_cost_one_search(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[int] = []
    search = maximum_spanning_tree._chu_liu_edmonds

    def counted(scores: Scores) -> NDArray[np.int64]:
        searches.append(len(scores))
        return search(scores)

    monkeypatch.setattr(maximum_spanning_tree, "_chu_liu_edmonds", counted)
    scores = np.random.default_rng(1).normal(size=(60, 60))
    scores[:, 0] += 100.0
    assert is_single_rooted_tree(single_root_maximum_spanning_tree(scores))
    assert searches.count(60) == 1
    assert len(searches) <= 60


@pytest.mark.parametrize("shift", [-1e6, 0.0, 1e6])
def test_adding_a_constant_changes_no_tree(shift: float) -> None:
    scores = np.random.default_rng(2).normal(size=(25, 25))
    expected = single_root_maximum_spanning_tree(scores)
    assert single_root_maximum_spanning_tree(scores + shift) == expected


def test_ignored_scores_have_no_influence() -> None:
    scores = np.random.default_rng(3).normal(size=(9, 9))
    expected = single_root_maximum_spanning_tree(scores)
    scores[0, :] = np.nan
    np.fill_diagonal(scores, np.inf)
    assert single_root_maximum_spanning_tree(scores) == expected


def test_a_cycle_is_found_and_names_its_members() -> None:
    assert find_cycle([0, 2, 3, 2, 0]) == [2, 3]
    assert find_cycle([0, 1]) == [1]
    assert find_cycle([0, 2, 0, 2]) is None


def test_trees_with_no_or_two_roots_are_no_single_rooted_trees() -> None:
    assert is_single_rooted_tree([0, 0])
    assert not is_single_rooted_tree([0, 0, 0])
    assert not is_single_rooted_tree([0, 2, 1])
