"""What a bootstrap draws as one: a sentence's document, or the sentence where those are few."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

MIN_UNITS = 10
"""Fewer documents in a task's test split are not resampled, but its sentences: the spread of so
few would be a guess. The interval is then too narrow for other documents, and the report says
so."""


def draws_units(units: Sequence[object]) -> bool:
    """Returns whether test items of these units are drawn unit by unit."""
    return len(set(units)) >= MIN_UNITS


def clusters_of(rows: npt.NDArray[np.int64], units: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Returns the cluster of each test item, [n], with one meaning in all tasks.

    Args:
        rows: [n]; embedding of each item.
        units: [n]; number of each item's document or block, 0 or more.
    """
    if draws_units(units.tolist()):
        return units
    # Below zero, where no unit's number is.
    return -1 - rows
