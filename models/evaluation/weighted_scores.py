"""Scores of many samples of the same items at once; a sample says how often each item stands in it.

A bootstrap resample, a swap of two encoders' answers and the observed items themselves are all
weights over items, so one implementation of a score serves them all, and a score of R samples is
a few products of matrices.

Pearson's r of two series is Σ (x − x̄)(y − ȳ) / √(Σ (x − x̄)² Σ (y − ȳ)²); Spearman's ρ is r of the
ranks, where equal numbers share the mean of the ranks they take up (Kendall & Gibbons 1990, section
3.1).

Legend: R samples, n items, G groups, L distinct values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def pearson(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Returns Pearson's r; where one of the series is constant 0, as SentEval counts it.

    Raises:
        ValueError: the series differ in length, are shorter than 2 or are not finite.
    """
    x, y = _checked(first), _checked(second)
    if x.shape != y.shape:
        raise ValueError(f"a correlation needs two series of one length, got {x.size} and {y.size}")
    if is_constant(x) or is_constant(y):
        return 0.0
    x, y = standardised(x), standardised(y)
    return float(np.clip((x * y).mean(), -1.0, 1.0))


def average_ranks(values: npt.ArrayLike) -> FloatArray:
    """Returns the rank of each number from 1, float64 [n]; equal ones share their mean rank."""
    _, level, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: FloatArray = (last - (counts - 1) / 2.0)[level]
    return ranks


def standardised(values: FloatArray) -> FloatArray:
    """Returns the numbers with mean 0 and deviation 1; all 0 where they are constant.

    They are divided by the largest first, so that no square overflows.
    """
    if is_constant(values):
        return np.zeros_like(values)
    centred = values / np.abs(values).max()
    centred = centred - centred.mean()
    result: FloatArray = centred / np.sqrt((centred**2).mean())
    return result


def is_constant(values: FloatArray) -> bool:
    """Whether all numbers are equal; so are fewer than two."""
    return values.size < 2 or bool(values.min() == values.max())


def _checked(values: npt.ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64).ravel()
    if array.size < 2:
        raise ValueError(f"a correlation needs at least 2 items, got {array.size}")
    if not np.isfinite(array).all():
        raise ValueError(
            f"a correlation needs finite numbers, but item {np.flatnonzero(~np.isfinite(array))[0]}"
            f" is {array[~np.isfinite(array)][0]}; look for overflows in the embeddings"
        )
    return array


IntArray = npt.NDArray[np.int64]

NEGLIGIBLE_VARIANCE = 1e-12
"""Share of the mean square below which what is left of it is rounding, and the sample constant."""


def mean_over_groups(
    weights_rn: FloatArray, values_n: FloatArray, membership_ng: FloatArray
) -> FloatArray:
    """Returns the unweighted mean over groups of the mean value within each, [R].

    Args:
        membership_ng: 1 where an item belongs to a group, 0 elsewhere.
    """
    sums_rg = weights_rn @ (values_n[:, None] * membership_ng)
    sizes_rg = weights_rn @ membership_ng
    means: FloatArray = (sums_rg / sizes_rg).mean(axis=1)
    return means


def membership(groups_n: IntArray) -> FloatArray:
    """Returns which items belong to which group, 0 or 1, [n, G]."""
    numbers = np.unique(groups_n)
    belongs: FloatArray = (groups_n[:, None] == numbers[None, :]).astype(np.float64)
    return belongs


def f1_scores(weights_rn: FloatArray, predicted_n: FloatArray, gold_n: FloatArray) -> FloatArray:
    """Returns 2 TP / (2 TP + FP + FN) of class 1, [R]; 0 where class 1 is absent."""
    is_predicted, is_gold = predicted_n == 1, gold_n == 1
    counts = np.stack([is_predicted & is_gold, is_predicted, is_gold], axis=1).astype(np.float64)
    hits_r, predicted_r, gold_r = (weights_rn @ counts).T
    return _quotient(2.0 * hits_r, predicted_r + gold_r)


def pearson_scores(weights_rn: FloatArray, x_n: FloatArray, y_n: FloatArray) -> FloatArray:
    """Returns Pearson's r of each sample, [R]; 0 where x or y is constant in it.

    Args:
        x_n: standardised, so that sums of squares lose no digits; likewise ``y_n``.
    """
    terms = np.stack([np.ones_like(x_n), x_n, y_n, x_n * x_n, y_n * y_n, x_n * y_n], axis=1)
    size_r, x_r, y_r, xx_r, yy_r, xy_r = (weights_rn @ terms).T
    return _correlation(
        xy_r - x_r * y_r / size_r,
        _variance(xx_r, x_r * x_r / size_r),
        _variance(yy_r, y_r * y_r / size_r),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The distinct values of a series, by which the ranks of any sample of it are counted."""

    order_n: IntArray
    """Items from the smallest value to the largest."""
    starts_l: IntArray
    """Place in ``order_n`` at which each distinct value begins."""
    level_n: IntArray
    """Which of the distinct values each item has."""

    @classmethod
    def of(cls, values_n: FloatArray) -> Levels:
        """Returns the levels of a series."""
        _, level, counts = np.unique(values_n, return_inverse=True, return_counts=True)
        starts = np.cumsum(counts) - counts
        return cls(np.argsort(level, kind="stable"), starts, level)

    def centred_ranks(self, weights_rn: FloatArray) -> FloatArray:
        """Returns each item's average rank within each sample, less the mean rank, [R, n].

        An item that stands w times in a sample takes w ranks, shared with its equals: with W_l
        copies at its level, its rank is W_1 + … + W_l − W_l / 2 + 1 / 2.
        """
        copies_rl = np.take(weights_rn, self.order_n, axis=1)
        if len(self.starts_l) < len(self.order_n):
            copies_rl = np.add.reduceat(copies_rl, self.starts_l, axis=1)
        ranks_rl = np.cumsum(copies_rl, axis=1)
        total_r = ranks_rl[:, -1].copy()
        copies_rl *= 0.5
        ranks_rl -= copies_rl
        ranks_rl -= (0.5 * total_r)[:, None]
        return np.take(ranks_rl, self.level_n, axis=1)


def spearman_scores(weights_rn: FloatArray, x: Levels, y: Levels) -> FloatArray:
    """Returns Spearman's ρ of each sample, ranked anew, [R]; 0 where x or y is constant in it."""
    x_rn, y_rn = x.centred_ranks(weights_rn), y.centred_ranks(weights_rn)
    weighted_rn = weights_rn * x_rn
    xy_r = np.einsum("rn,rn->r", weighted_rn, y_rn)
    xx_r = np.einsum("rn,rn->r", weighted_rn, x_rn)
    y_rn *= y_rn
    return _correlation(xy_r, xx_r, np.einsum("rn,rn->r", weights_rn, y_rn))


def _variance(squares_r: FloatArray, squared_mean_r: FloatArray) -> FloatArray:
    left_r = squares_r - squared_mean_r
    return np.where(left_r > NEGLIGIBLE_VARIANCE * squares_r, left_r, 0.0)


def _correlation(xy_r: FloatArray, xx_r: FloatArray, yy_r: FloatArray) -> FloatArray:
    return np.clip(_quotient(xy_r, np.sqrt(xx_r * yy_r)), -1.0, 1.0)


def _quotient(above_r: FloatArray, below_r: FloatArray) -> FloatArray:
    positive = below_r > 0.0
    return np.where(positive, above_r / np.where(positive, below_r, 1.0), 0.0)
