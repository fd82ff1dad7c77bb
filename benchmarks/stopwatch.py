"""Time on the clock beside the processor's, which other work on the machine changes less."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spent:
    """What something took, in seconds."""

    wall: float
    """On the clock."""
    cpu: float
    """Of the processor, by all threads of this process."""

    def __add__(self, other: Spent) -> Spent:
        """Returns both together."""
        return Spent(self.wall + other.wall, self.cpu + other.cpu)

    def times(self, factor: float) -> Spent:
        """Returns so many times as much."""
        return Spent(factor * self.wall, factor * self.cpu)


class Stopwatch:
    """Runs from the moment it is made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> Spent:
        """Returns what has been spent since then."""
        return Spent(time.perf_counter() - self._wall, time.process_time() - self._cpu)


def children_cpu_seconds() -> float:
    """Returns the CPU time of all ended processes that this one started, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def spent_by(act: Callable[[], object]) -> Spent:
    """Returns what a call takes."""
    watch = Stopwatch()
    act()
    return watch.read()
