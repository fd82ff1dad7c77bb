"""How the cost of a call grows with its input, whatever the machine's speed."""

from __future__ import annotations

import time
from collections.abc import Callable


def times_the_cost(call: Callable[[int], object], small: int, large: int) -> float:
    """Returns how many times a call with the small number a call with the large one costs.

    Each is the least CPU time of three calls: what collections of garbage add differs.
    """
    return _least_seconds(call, large) / _least_seconds(call, small)


def _least_seconds(call: Callable[[int], object], size: int) -> float:
    seconds = []
    for _ in range(3):
        started = time.process_time()
        call(size)
        seconds.append(time.process_time() - started)
    return max(min(seconds), 1e-4)
