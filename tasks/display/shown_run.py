"""A run while it works: what Luigi's worker does is followed and shown, in place of Luigi's talk.

The worker tells when a task is planned, begins and ends (`tasks.workers`); how far it is comes from
the processes that it forks, through a `Channel`. A thread of this process shows it.
"""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import luigi
from luigi.worker import fork_lock

from pipeline.base.mistakes import sentence_of
from tasks.display.channel import Channel, listen, listen_no_more
from tasks.display.log_lines import LogLines, stamped
from tasks.display.nothing import Nothing
from tasks.display.screen import Screen
from tasks.display.stages import Stage, Stages
from tasks.runs.graph import told_apart

logger = logging.getLogger("luigi-interface")

_LONG_LOOK = 5.0
"""Seconds after which a user wonders whether anything happens."""
_NO_DISPLAY = {"", "dumb", "unknown"}
"""What TERM says of a terminal that cannot move its cursor."""


class View(Protocol):
    """Shows stages."""

    refresh_seconds: float

    def open(self) -> None:
        """Begins."""

    def begins(self, stage: Stage) -> None:
        """Tells that a stage begins."""

    def ends(self, stage: Stage, *, is_done: bool) -> None:
        """Tells that a stage ended."""

    def tick(self) -> None:
        """Shows how far the stages are now."""

    def given_up(self) -> View:
        """Ends as far as that goes, since something cannot be shown; returns what shows less."""

    def close(self) -> None:
        """Ends, and leaves all as it was."""


MakesView = Callable[[Stages, Callable[[], int]], View]
"""Takes the stages, and what says how many tasks run side by side."""


class ShownRun:
    """Follows one run and shows it."""

    def __init__(self, view: MakesView | None = None) -> None:
        """Args: view: makes what shows it; by default a `Screen` on a terminal, else `LogLines`."""
        self.stages = Stages()
        self.num_workers = 1
        self._view = (view or _view_for_here())(self.stages, lambda: self.num_workers)
        self._channel = Channel()
        self._lock = threading.RLock()
        self._is_begun = self._is_open = self._is_over = False
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._looks = threading.Timer(_LONG_LOOK, logger.info, ["looking at what is there"])
        self._looks.daemon = True

    @property
    def has_begun(self) -> bool:
        """Whether any stage began."""
        return self.stages.num_begun > 0

    @property
    def num_stages(self) -> int:
        """Stages that were to be made."""
        return self.stages.num_planned

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return self.stages.seconds

    @property
    def is_on_screen(self) -> bool:
        """Whether a terminal shows it, where nobody needs the time of a message."""
        return isinstance(self._view, Screen)

    def plan(self, task: luigi.Task) -> None:
        """Takes note of a task that is to run; after `begin`, of one that came up meanwhile."""
        with self._lock:
            if self.stages.knows(task.task_id):
                return
            if self._is_begun:
                self._add_part(task, is_done=False)
            elif not isinstance(task, luigi.WrapperTask):
                self.stages.plan(task.task_id, task.task_family)

    def found_done(self, task: luigi.Task) -> None:
        """Takes note of a task that is complete without having run."""
        with self._lock:
            if self._is_begun and not self.stages.knows(task.task_id):
                self._add_part(task, is_done=True)

    def _add_part(self, task: luigi.Task, *, is_done: bool) -> None:
        self.stages.add_part(task.task_id, getattr(task, "weight", 1.0), is_done=is_done)

    def look(self) -> None:
        """Says so if it takes long to see what is there, before any stage is planned."""
        self._looks.start()

    def _look_no_more(self) -> None:
        self._looks.cancel()
        if self._looks.is_alive():  # nothing is forked beside it
            self._looks.join()

    def begin(self, num_workers: int, tasks: Sequence[luigi.Task]) -> None:
        """Begins to show the stages, all of which are planned."""
        self._look_no_more()
        self.num_workers = num_workers
        for task_id, about in told_apart({task.task_id: task for task in tasks}).items():
            self.stages.describe(task_id, about)
        self._is_begun = True
        if self.stages.num_planned:
            self._view.open()
            self._is_open = True
            listen(self._channel)
            self._thread.start()

    def task_begins(self, task_id: str) -> None:
        """Tells that a task runs from now on."""
        with self._lock:
            if (stage := self.stages.begin(task_id)) and self._is_open:
                self._show(lambda view: view.begins(stage))

    def task_waits(self, task_id: str, part_ids: Sequence[str]) -> None:
        """Takes note that a task is to go on when these are done."""
        with self._lock:
            self.stages.claim(task_id, part_ids)

    def task_ends(self, task_id: str, *, is_done: bool) -> None:
        """Tells that a task ended."""
        with self._lock:
            if (stage := self.stages.end(task_id, is_done=is_done)) and self._is_open:
                self._show(lambda view: view.ends(stage, is_done=is_done))

    def close(self) -> None:
        """Ends to show anything, and gives the terminal back."""
        if self._is_over:
            return
        self._is_over = True
        self._look_no_more()
        if not self._is_begun or not self.stages.num_planned:
            self._channel.close()
            return
        self._channel.wake()
        self._thread.join()
        self._is_open = False
        self._show(lambda view: view.close())
        listen_no_more(self._channel)

    def _follow(self) -> None:
        """Takes reports and shows them, until the run is over.

        Nothing is forked meanwhile: a worker would inherit locks that this thread holds.
        """
        while not self._is_over:
            with fork_lock, self._lock:
                for report in self._channel.received():
                    self.stages.progress(*report)
                if self._is_open:
                    self._show(lambda view: view.tick())
            select.select([self._channel.reader], [], [], self._view.refresh_seconds)
            if self._view.refresh_seconds < 1:  # several reports, one look
                threading.Event().wait(self._view.refresh_seconds / 2)

    def _show(self, show: Callable[[View], None]) -> None:
        """Has the view show something; what cannot be shown must not hold up the work."""
        try:
            show(self._view)
        except Exception as error:
            self._view = self._view.given_up()
            if not self._is_open:
                self._view.close()
            logger.warning("the run goes on, but cannot be shown (%s)", sentence_of(error))


def _view_for_here() -> MakesView:
    """Returns what suits where standard error leads."""
    try:
        on_terminal = sys.stderr.isatty() and sys.stderr.fileno() == 2
    except (AttributeError, OSError, ValueError):
        on_terminal = False
    moves = os.environ.get("TERM", "").lower() not in _NO_DISPLAY
    return Screen if on_terminal and moves else LogLines


_shown: list[ShownRun] = []


def shown_run() -> ShownRun | None:
    """Returns the run that this process follows, if it does."""
    return _shown[-1] if _shown else None


@contextmanager
def shown(*, level: int = logging.INFO, alone: bool = True) -> Iterator[ShownRun]:
    """Shows, for the time of a ``with`` block, the run that it holds.

    Of the log, our own warnings and messages are shown, and nothing of Luigi's.

    Args:
        level: of messages; above that of information, stages are not shown either.
        alone: whether nobody else in this process shows messages, as in a program of its own.

    Yields:
        The run, which who has more to say closes before the block ends.
    """
    run = ShownRun(None if level <= logging.INFO else Nothing)
    _shown.append(run)
    with _own_messages_alone(level, propagate=not alone):
        try:
            run.look()
            yield run
        finally:
            run.close()
            _shown.remove(run)


@contextmanager
def _own_messages_alone(level: int, *, propagate: bool) -> Iterator[None]:
    """Has, for the time of a ``with`` block, the log show our messages, with the time in a log."""

    class Short(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            text = super().format(record)
            if record.levelno != logging.INFO:
                text = f"{record.levelname.lower()}: {text}"
            return text if _on_screen() else stamped(text)

    luigi.configuration.get_config().set("core", "no_configure_logging", "true")
    handler = _CurrentStandardError()
    handler.setFormatter(Short("%(message)s"))
    handler.addFilter(lambda record: "luigi" not in record.pathname.split("/")[-2:-1])
    before: tuple[Any, ...] = logger.level, logger.propagate, logger.handlers[:]
    logger.setLevel(level)
    logger.propagate = propagate
    logger.handlers[:] = [handler]
    try:
        yield
    finally:
        level_before, logger.propagate, logger.handlers[:] = before
        logger.setLevel(level_before)


def _on_screen() -> bool:
    return bool(_shown) and _shown[-1].is_on_screen


class _CurrentStandardError(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to what standard error is when something is said."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:
        """Standard error as it is now."""
        return sys.stderr
