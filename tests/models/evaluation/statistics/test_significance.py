"""p values by swaps and by resamples, against enumeration; corrections by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.evaluation.comparison import (
    bootstrap_p_value,
    holm,
    permutation_p_values,
)
from models.evaluation.resampling import Resampling
from models.evaluation.scores import scorer
from tests.support.evaluation_examples import predictions, similarities, task


def p_values(of, *pair, num_resamples: int = 2000) -> dict[str, float]:  # type: ignore[no-untyped-def]
    return permutation_p_values(
        [scorer(of, *pair)], np.arange(len(pair[0].gold)), Resampling(num_resamples)
    )


def test_p_is_the_share_of_all_swaps_that_differ_as_much() -> None:
    """Ten items, so all 1,024 swaps can be counted out."""
    random = np.random.default_rng(6)
    gold = random.integers(0, 2, 10)
    a = np.where(random.random(10) < 0.9, gold, 1 - gold)
    b = np.where(random.random(10) < 0.5, gold, 1 - gold)
    observed = abs((a == gold).mean() - (b == gold).mean())
    as_large = 0
    for swaps in itertools.product([False, True], repeat=10):
        first, second = np.where(swaps, b, a), np.where(swaps, a, b)
        difference = (first == gold).mean() - (second == gold).mean()
        as_large += abs(difference) >= observed - 1e-12
    found = p_values(task(), predictions(a, gold), predictions(b, gold), num_resamples=20_000)
    assert 0 < as_large / 1024 < 1
    assert found["accuracy"] == pytest.approx(as_large / 1024, abs=0.015)


def test_swapped_ranks_are_taken_anew() -> None:
    """The p value of ρ, by enumeration of swaps between two encoders' own ranks."""
    random = np.random.default_rng(1)
    gold = np.arange(9.0)
    a, b = gold + random.normal(size=9), gold + 5 * random.normal(size=9)
    ranks = [np.argsort(np.argsort(x)).astype(float) for x in (a, b)]

    def rho(x: np.ndarray) -> float:
        levels = [(x < value).sum() + ((x == value).sum() - 1) / 2 for value in x]
        return float(np.corrcoef(levels, gold)[0, 1])

    observed = abs(rho(a) - rho(b))
    differences = [
        rho(np.where(swaps, ranks[1], ranks[0])) - rho(np.where(swaps, ranks[0], ranks[1]))
        for swaps in itertools.product([False, True], repeat=9)
    ]
    expected = np.mean(np.abs(differences) >= observed - 1e-9)
    found = p_values(
        task(protocol="relatedness"), predictions(a, gold), predictions(b, gold), num_resamples=8000
    )
    assert found["spearman"] == pytest.approx(expected, abs=0.02)


def test_the_unit_of_an_encoders_cosines_does_not_matter() -> None:
    of = task(protocol="similarity")
    a, b = similarities(60, 1.0, seed=1), similarities(60, 2.0, seed=2)
    squeezed = predictions(0.9 + b.predicted / 1000, b.gold, b.groups)
    plain, other = p_values(of, a, b), p_values(of, a, squeezed)
    assert other["pearson_mean"] == pytest.approx(plain["pearson_mean"], abs=1e-9)
    assert other["spearman_all"] == pytest.approx(plain["spearman_all"], abs=1e-9)


def test_under_no_difference_few_p_values_are_small() -> None:
    random = np.random.default_rng(0)
    gold = np.ones(101)
    found = [
        p_values(
            task(),
            predictions(random.random(101) < 0.7, gold),
            predictions(random.random(101) < 0.7, gold),
            num_resamples=200,
        )["accuracy"]
        for _ in range(200)
    ]
    assert np.mean(np.array(found) <= 0.05) <= 0.09


def test_two_encoders_of_other_items_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match="MR: the two encoders were scored on different items"):
        scorer(task(), predictions([1, 0], [1, 0]), predictions([1, 0], [0, 0]))


def test_the_bootstraps_p_is_twice_the_smaller_tail() -> None:
    assert bootstrap_p_value(np.array([1.0] * 97 + [-1.0] * 2)) == pytest.approx(2 * 3 / 100)
    assert bootstrap_p_value(np.zeros(50)) == 1.0


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_the_correction_keeps_the_order_and_never_lowers(p: list[float]) -> None:
    adjusted, order = holm(p), np.argsort(p, kind="stable")
    assert (np.diff(np.array(adjusted)[order]) >= -1e-15).all()
    assert all(q >= before - 1e-15 for q, before in zip(adjusted, p, strict=True))
    assert max(adjusted) <= 1.0
