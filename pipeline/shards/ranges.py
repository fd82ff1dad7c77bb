"""Rows of list columns, as offsets into their flat values tell them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def gather_ranges(
    offsets: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the flat positions of the chosen ranges one after the other, and their offsets."""
    lengths = offsets[order + 1] - offsets[order]
    chosen = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    shifts = np.repeat(offsets[order] - chosen[:-1], lengths)
    return shifts + np.arange(chosen[-1]), chosen
