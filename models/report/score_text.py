"""How figures are written: intervals, counts, p values."""

from __future__ import annotations

from collections.abc import Mapping

from treeviews.models.evaluation.resampling import Interval

SCORES_OF_ERRORS = frozenset({"mse"})
"""Scores of which the lower is the better; in their own unit, which needs more digits."""


def percent(value: float) -> str:
    """Returns a percentage with one decimal and no sign, as tables give it."""
    return f"{value:.1f}"


def with_interval(interval: Interval, *, signed: bool = False, digits: int = 1) -> str:
    """Returns a figure with its interval's bounds, as ``63.2 [61.0, 65.4]``; no 0 is negative."""
    form = f"{'+' if signed else ''}z.{digits}f"
    return f"{interval.value:{form}} {bounds(interval, form)}"


def bounds(interval: Interval, form: str = "z.1f") -> str:
    """Returns an interval alone, as ``[61.0, 65.4]``."""
    return f"[{interval.low:{form}}, {interval.high:{form}}]"


def digits_of(score: str) -> int:
    """Returns how many decimals a score is given with."""
    return 3 if score in SCORES_OF_ERRORS else 1


def p_value(p: float) -> str:
    """Returns a p value with as many digits as matter."""
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def count(value: int) -> str:
    """Returns a whole number with thousands separated."""
    return f"{value:,}"


def number_of(value: int, thing: str) -> str:
    """Returns ``1 epoch``, ``3 epochs``."""
    return f"1 {thing}" if value == 1 else f"{count(value)} {thing}s"


def by_reason(counts: Mapping[str, int]) -> str:
    """Returns counts with their reasons as running text."""
    named = (f"{reason.replace('_', ' ')} {count(n)}" for reason, n in sorted(counts.items()) if n)
    return ", ".join(named) or "–"
