"""A run as a log shows it: a line when a stage begins or ends, and one a minute in between."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from tasks.display import words
from tasks.display.nothing import Nothing
from tasks.display.stages import Stage, Stages

SECONDS_BETWEEN_LINES = 60.0
LONGEST_LINE = 120
"""Characters."""


def stamped(text: str) -> str:
    """Returns text with the time before it."""
    return f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}"


class LogLines:
    """Writes them to standard error."""

    refresh_seconds = 5.0
    """How often `tick` is to be called."""

    def __init__(self, stages: Stages, num_workers: Callable[[], int]) -> None:
        self._stages, self._num_workers = stages, num_workers
        self._said = stages.now()

    def open(self) -> None:
        """Begins; there is nothing to do."""

    def begins(self, stage: Stage) -> None:
        """Tells that a stage begins."""
        self._say(words.begun(stage, self._stages))

    def ends(self, stage: Stage, *, is_done: bool) -> None:
        """Tells that a stage ended."""
        self._say(words.ended(stage, self._stages, is_done=is_done))

    def tick(self) -> None:
        """Tells once a minute how far the run is."""
        now = self._stages.now()
        if now - self._said < SECONDS_BETWEEN_LINES or not self._stages.running:
            return
        self._said = now
        of_run = words.how_far(self._stages, self._stages.left(self._num_workers()))
        self._say("; ".join([of_run, *(words.short(one, now) for one in self._stages.running)]))

    def given_up(self) -> Nothing:
        """Returns what shows nothing more."""
        return Nothing()

    def close(self) -> None:
        """Ends; there is nothing to do."""

    def _say(self, text: str) -> None:
        try:
            sys.stderr.write(words.cut(stamped(text), LONGEST_LINE) + "\n")  # at once
            sys.stderr.flush()
        except (OSError, ValueError):  # nobody reads any more, such as behind `2>&1 | head`
            return
