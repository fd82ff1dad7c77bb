"""How far the stages of a run are: which of how many, how fast, how long they take still.

A stage is what a user can ask for. What it has made by others, such as the jobs of its shards, is a
part of it: parts move its share and count as no stages, so that *k of n* is known when the work
begins and never jumps.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from pipeline.base.job import Rated

_WINDOW_SECONDS = 120.0
"""Of work, by whose pace the rest is judged."""
_SECONDS_TO_JUDGE = 3.0
"""Of work at least before anything is said of the rest."""
_LEAST_TOLD = 10.0
"""Seconds that a run takes at least, from which on that is worth a word."""


@dataclass
class Piece:
    """A task of a run: a stage's own, or one of its parts."""

    weight: float = 1.0
    """Of a part: its share in the work of all parts of the stage."""
    share: float = 0.0
    is_running: bool = False
    status: str = ""
    """What it last said that it does."""


class _Mark(NamedTuple):
    seconds: float
    share: float


@dataclass
class Stage:
    """A stage that was not complete when the run began."""

    name: str
    about: str = ""
    """What tells it from others of that name."""
    number: int | None = None
    """The how-manyth it was to begin; None before."""
    own: Piece = field(default_factory=Piece)
    parts: dict[str, Piece] = field(default_factory=dict)
    is_over: bool = False
    """Done or failed."""
    seconds: float = 0.0
    """That some task of it ran, up to the last change."""
    began: float = 0.0
    """On the run's clock; of a stage that ended, `seconds` from here to its end is `took`."""
    took: float = 0.0
    _since: float | None = None
    _marks: deque[_Mark] = field(default_factory=deque)

    @property
    def called(self) -> str:
        """Name and what tells it from others."""
        return f"{self.name} ({self.about})" if self.about else self.name

    @property
    def share(self) -> float:
        """Of the work that is done, 0 to 1."""
        if not self.parts:
            return self.own.share
        whole = sum(part.weight for part in self.parts.values())
        return sum(part.weight * part.share for part in self.parts.values()) / (whole or 1.0)

    @property
    def running(self) -> list[Piece]:
        """Tasks of it that run."""
        return [piece for piece in (self.own, *self.parts.values()) if piece.is_running]

    @property
    def rate(self) -> tuple[float, str] | None:
        """How much a second all its tasks get done, and what; None where they do not say."""
        rated = [piece.status for piece in self.running if isinstance(piece.status, Rated)]
        if not rated:
            return None
        return sum(one.per_second for one in rated), rated[0].unit

    @property
    def status(self) -> str:
        """What it does: in the words of its task where one runs, of several how many parts."""
        if self.parts and (len(self.parts) > 1 or not self.running):
            done = sum(part.share >= 1 for part in self.parts.values())
            return f"{done} of {len(self.parts)} parts done"
        return next((piece.status for piece in self.running if piece.status), "")

    def worked(self, now: float) -> float:
        """Returns for how many seconds some task of it ran."""
        return self.seconds + (0.0 if self._since is None else now - self._since)

    def tick(self, now: float) -> None:
        """Takes note of the time; called after any change of what runs."""
        self.seconds = self.worked(now)
        self._since = now if self.running else None

    def mark(self, now: float) -> None:
        """Takes note of the share, too; what was done before the first time is not of this run."""
        self.tick(now)
        marks, mark = self._marks, _Mark(self.seconds, self.share)
        if marks and mark.share <= marks[0].share:
            marks.clear()  # it has not begun to move, such as while a parser is loaded
        marks.append(mark)
        while len(marks) > 2 and marks[1].seconds <= mark.seconds - _WINDOW_SECONDS:
            marks.popleft()

    def seconds_left(self, now: float) -> float | None:
        """Returns how long the rest takes at the present pace; None where nobody can tell."""
        if not self._marks or not self.running:
            return None
        first, share, worked = self._marks[0], self.share, self.worked(now)
        if share <= first.share or worked - first.seconds < _SECONDS_TO_JUDGE:
            return None
        return (worked - first.seconds) * (1 - share) / (share - first.share)


@dataclass(frozen=True, slots=True)
class Left:
    """How long the whole run takes still."""

    seconds: float
    is_all: bool
    """False where some stage's time is not known: it takes at least so long."""


class Stages:
    """All stages of a run; the tasks that make them are told by their ids."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._planned: dict[str, Stage] = {}
        self._stage_of: dict[str, Stage] = {}
        self._unclaimed: dict[str, Piece] = {}
        self.num_begun = 0
        """Stages that have begun."""

    def plan(self, task_id: str, name: str) -> None:
        """Adds a stage that is to be made."""
        self._planned[task_id] = self._stage_of[task_id] = Stage(name)

    def describe(self, task_id: str, about: str) -> None:
        """Sets what tells a stage from others of its name."""
        if task_id in self._planned:
            self._planned[task_id].about = about

    def knows(self, task_id: str) -> bool:
        """Returns whether a task is a stage or a part of one."""
        return task_id in self._stage_of or task_id in self._unclaimed

    @property
    def num_planned(self) -> int:
        """The n in *k of n*."""
        return len(self._planned)

    @property
    def num_over(self) -> int:
        """Stages that have ended."""
        return sum(stage.is_over for stage in self._planned.values())

    @property
    def running(self) -> list[Stage]:
        """Stages of which something runs, in the order in which they began."""
        found = [stage for stage in self._planned.values() if stage.running]
        return sorted(found, key=lambda stage: stage.number or 0)

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return self._clock() - self._began

    def now(self) -> float:
        """Returns the time of the run's clock."""
        return self._clock()

    def add_part(self, task_id: str, weight: float, *, is_done: bool) -> None:
        """Adds a task that came up during the run, before it is known of which stage it is."""
        self._unclaimed[task_id] = Piece(weight=weight, share=float(is_done))

    def claim(self, task_id: str, part_ids: Iterable[str]) -> None:
        """Makes tasks the parts of a stage, or of that which the task is itself a part of."""
        stage = self._stage_of.get(task_id)
        if stage is None:
            return
        for part_id in part_ids:
            if part_id in self._unclaimed:
                stage.parts[part_id] = self._unclaimed.pop(part_id)
                self._stage_of[part_id] = stage
        self._of(task_id, stage).is_running = False
        stage.mark(self._clock())

    def begin(self, task_id: str) -> Stage | None:
        """Notes that a task runs; returns its stage if that begins with it."""
        if (piece := self._unclaimed.get(task_id)) is not None:
            piece.is_running = True
            return None
        stage = self._stage_of.get(task_id)
        if stage is None:
            return None
        piece = self._of(task_id, stage)
        piece.is_running, piece.status = True, ""
        stage.tick(self._clock())
        if stage.number is not None:
            return None
        self.num_begun += 1
        stage.number, stage.began = self.num_begun, self._clock()
        return stage

    def progress(self, task_id: str, share: float, status: str) -> None:
        """Notes how far a task is."""
        stage = self._stage_of.get(task_id)
        if stage is not None and (piece := self._of(task_id, stage)).is_running:
            piece.share, piece.status = min(max(share, 0.0), 1.0), status
            stage.mark(self._clock())

    def end(self, task_id: str, *, is_done: bool) -> Stage | None:
        """Notes that a task ended; returns its stage if that ends with it.

        A stage ends with its own task, and with the first of its parts that fails.
        """
        stage = self._stage_of.get(task_id)
        if stage is None:
            if (piece := self._unclaimed.get(task_id)) is not None:
                piece.is_running, piece.share = False, float(is_done)
            return None
        piece = self._of(task_id, stage)
        piece.is_running = False
        piece.share = 1.0 if is_done else piece.share
        stage.mark(self._clock())
        if stage.is_over or (is_done and piece is not stage.own):
            return None
        stage.is_over, stage.took = True, self._clock() - stage.began
        return stage

    def left(self, num_workers: int) -> Left | None:
        """Returns how long the run takes still, as far as that can be told; None where it cannot.

        What has not begun is judged by stages of the same name that are done, or, where there are
        none, by all that are. Where that is so, few seconds say nothing of the run.

        Args:
            num_workers: how many tasks run side by side.
        """
        waiting = [stage for stage in self._planned.values() if not stage.is_over]
        times = [self._time_of(stage) for stage in waiting]
        known = [seconds for seconds in times if seconds is not None]
        if not known:
            return None
        is_all = len(known) == len(times)
        if over := [stage.seconds for stage in self._planned.values() if stage.is_over]:
            known += [sum(over) / len(over)] * (len(times) - len(known))
        side_by_side = max(1, min(num_workers, len(known)))
        seconds = max(*known, sum(known) / side_by_side)
        return Left(seconds, is_all) if is_all or seconds >= _LEAST_TOLD else None

    def _time_of(self, stage: Stage) -> float | None:
        if stage.number is not None:
            return stage.seconds_left(self._clock())
        alike = [one for one in self._planned.values() if one.is_over and one.name == stage.name]
        return sum(one.seconds for one in alike) / len(alike) if alike else None

    @staticmethod
    def _of(task_id: str, stage: Stage) -> Piece:
        return stage.parts.get(task_id, stage.own)
