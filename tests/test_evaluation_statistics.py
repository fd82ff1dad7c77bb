"""Bootstrap intervals: closed cases, pinned draws, pairing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.evaluation.statistics import Interval, mean_interval, paired_difference


def test_value_is_the_mean_of_the_tasks_means() -> None:
    found = mean_interval({"a": [1, 1, 0, 0], "b": [1]})
    assert found.value == pytest.approx(75.0)


def test_answers_that_are_all_right_have_no_spread() -> None:
    assert mean_interval({"a": [1] * 50}) == Interval(100.0, 100.0, 100.0)


def test_interval_is_about_the_binomials() -> None:
    found = mean_interval({"a": [1] * 300 + [0] * 100}, num_resamples=4000)
    error = 196 * math.sqrt(0.75 * 0.25 / 400)
    assert found.low == pytest.approx(75 - error, abs=0.8)
    assert found.high == pytest.approx(75 + error, abs=0.8)


def test_one_seed_gives_one_interval() -> None:
    scores = {"a": np.random.default_rng(0).random(97)}
    assert mean_interval(scores, seed=4) == mean_interval(scores, seed=4)
    assert mean_interval(scores, seed=4) != mean_interval(scores, seed=5)


def test_pinned_interval() -> None:
    found = mean_interval({"a": [1, 0, 1, 1, 0, 1, 1, 0, 1, 1]}, seed=0, num_resamples=1000)
    assert (found.value, found.low, found.high) == pytest.approx((70.0, 40.0, 100.0))


def test_pairing_removes_what_both_rows_share() -> None:
    """One row is right where the other is, and on five items more: all the draws agree."""
    first = {"a": [1] * 60 + [0] * 40}
    second = {"a": [1] * 50 + [0] * 50}
    paired = paired_difference(first, second)
    assert paired.value == pytest.approx(10.0)
    assert paired.low > 0
    assert paired.high - paired.low < mean_interval(first).high - mean_interval(first).low
    assert paired.excludes_zero


def test_a_row_does_not_differ_from_itself() -> None:
    same = {"a": [1, 0, 1], "b": [0, 1]}
    found = paired_difference(same, same)
    assert found == Interval(0.0, 0.0, 0.0)
    assert not found.excludes_zero


def test_different_items_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match=r"needs the same items: \{'a': 2\} against \{'a': 3\}"):
        paired_difference({"a": [1, 0]}, {"a": [1, 0, 1]})


def test_a_task_without_items_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one item a task"):
        mean_interval({"a": []})
