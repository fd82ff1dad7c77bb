"""Pearson's r of two series of n numbers, and the ranks of which Spearman's ρ is the r.

r(x, y) = Σ (x − x̄)(y − ȳ) / √(Σ (x − x̄)² Σ (y − ȳ)²); ρ is r of the ranks, where equal numbers
share the mean of the ranks they take up (Kendall & Gibbons 1990, section 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation, and whether there was one.

    Where one of the series is constant, the quotient is 0 / 0: ``value`` is then 0, as SentEval
    counts it, and ``defined`` is False.
    """

    value: float
    """Between −1 and 1."""
    defined: bool = True


def pearson(first: npt.ArrayLike, second: npt.ArrayLike) -> Correlation:
    """Returns Pearson's r.

    Raises:
        ValueError: the series differ in length, are shorter than 2 or are not finite.
    """
    x, y = _checked(first), _checked(second)
    if x.shape != y.shape:
        raise ValueError(f"a correlation needs two series of one length, got {x.size} and {y.size}")
    if is_constant(x) or is_constant(y):
        return Correlation(0.0, defined=False)
    x, y = standardised(x), standardised(y)
    return Correlation(float(np.clip((x * y).mean(), -1.0, 1.0)))


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
