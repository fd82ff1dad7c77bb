"""Correlations against scipy's and hand-made cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.evaluation.weighted_scores import (
    average_ranks,
    pearson,
)

stats = pytest.importorskip("scipy.stats", reason="compared with scipy: the extra bench")


def test_equal_numbers_share_the_mean_of_their_ranks() -> None:
    assert average_ranks([10, 20, 20, 5, 20]).tolist() == [2, 4, 4, 1, 4]


def test_a_line_correlates_fully() -> None:
    assert pearson([1, 2, 3], [10, 20, 30]) == pytest.approx(1.0)
    assert pearson([1, 2, 3], [3, 2, 1]) == pytest.approx(-1.0)


def test_ranks_see_order_alone() -> None:
    assert average_ranks([1, 10, 100, 1000]).tolist() == [1, 2, 3, 4]
    assert pearson([1, 2, 3, 4], [1, 10, 100, 1000]) < 0.9


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=40))
def test_correlation_and_ranks_are_scipys_with_ties(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert pearson(x, y) == 0.0
        return
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)
    ranked = pearson(average_ranks(x), average_ranks(y))
    assert ranked == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-12)


def test_a_constant_series_counts_as_zero_and_says_so() -> None:
    assert pearson([0.1, 0.1, 0.1], [1, 2, 3]) == 0.0
    assert pearson([1, 2, 3], [7, 7, 7]) == 0.0
