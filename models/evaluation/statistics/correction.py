"""p values corrected for the number of tasks on which two encoders are compared.

Holm (1979) bounds the chance of any false difference; Benjamini & Hochberg (1995) bound the
expected share of false ones among those found. Both return adjusted p values, to be compared with
the level itself, and keep the order of the given ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

Correction = Literal["holm", "bh", "none"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)


def corrected(p_values: Sequence[float], method: Correction) -> list[float]:
    """Returns the adjusted p values, in the order given.

    Raises:
        ValueError: a p value is not between 0 and 1, or no such method.
    """
    if any(not 0.0 <= p <= 1.0 for p in p_values):
        raise ValueError(f"p values must lie between 0 and 1, got {list(p_values)}")
    if method == "none":
        return list(p_values)
    if method == "holm":
        return holm(p_values)
    if method == "bh":
        return benjamini_hochberg(p_values)
    raise ValueError(f"no correction {method!r}; choose one of {', '.join(CORRECTIONS)}")


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns max over j ≤ i of min(1, (m − j + 1) p_(j)) for the i-th smallest of m."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p[order]))
    return [float(value) for value in adjusted]


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Returns min over j ≥ i of min(1, m p_(j) / j) for the i-th smallest of m."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")[::-1]
    factors = len(p) / np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(factors * p[order]))
    return [float(value) for value in adjusted]
