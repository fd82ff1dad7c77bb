"""A progress bar for people who watch, nothing for the others."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

SMOOTHING = 0.05
"""Weight of the last step in the speed from which the time left is told."""


class ProgressBar(Protocol):
    """What the training loop tells about itself."""

    def advance(self, *, loss: float, accuracy: float) -> None:
        """Counts one step."""
        ...


class _NoBar:
    def advance(self, *, loss: float, accuracy: float) -> None:
        del loss, accuracy


class _TerminalBar:
    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def advance(self, *, loss: float, accuracy: float) -> None:
        self._bar.set_postfix(loss=f"{loss:.3f}", accuracy=f"{accuracy:.1%}", refresh=False)
        self._bar.update()


@contextmanager
def progress_bar(total: int, *, initial: int, shown: bool | None) -> Iterator[ProgressBar]:
    """Yields a bar over ``total`` steps on standard error.

    Args:
        initial: steps done before.
        shown: whether it is drawn; None draws it on a terminal only.
    """
    if not (sys.stderr.isatty() if shown is None else shown):
        yield _NoBar()
        return
    from tqdm import tqdm

    with tqdm(
        total=total, initial=initial, unit="step", desc="training", smoothing=SMOOTHING
    ) as bar:
        yield _TerminalBar(bar)


class TimeLeft:
    """Tells how long the rest will take at the present speed."""

    def __init__(self, share_done: float) -> None:
        """Args: share_done: of the whole, before this run."""
        self._share = share_done
        self._time = time.perf_counter()
        self._pace: float | None = None
        self._is_warm = False

    def after(self, share_done: float) -> str:
        """Returns the time left in words, as in ``about 3 min left``."""
        now = time.perf_counter()
        pace = (now - self._time) / max(share_done - self._share, 1e-12)
        # Steps differ in length, and a measurement in between is none: only the mean is of use.
        # The first step, which warms everything up, stands for the others until there is one.
        if self._pace is None or not self._is_warm:
            self._is_warm = self._pace is not None
            self._pace = pace
        else:
            self._pace += SMOOTHING * (pace - self._pace)
        self._share, self._time = share_done, now
        return f"about {duration(self._pace * (1 - share_done))} left"


def duration(seconds: float) -> str:
    """Returns a time rounded to what people care for: ``42 s``, ``3 min``, ``2 h 05 min``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
