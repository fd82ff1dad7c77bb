"""A view of a run that shows nothing of it."""

from __future__ import annotations

from collections.abc import Callable

from tasks.display.stages import Stage, Stages


class Nothing:
    """Shows nothing, where only warnings are asked for."""

    refresh_seconds = 5.0

    def __init__(
        self, stages: Stages | None = None, num_workers: Callable[[], int] | None = None
    ) -> None:
        """Takes what other views take."""

    def open(self) -> None:
        """Does nothing, as all of these."""

    def begins(self, stage: Stage) -> None:
        """So, too."""

    def ends(self, stage: Stage, *, is_done: bool) -> None:
        """So, too."""

    def tick(self) -> None:
        """So, too."""

    def given_up(self) -> Nothing:
        """Returns itself."""
        return self

    def close(self) -> None:
        """Does nothing."""
