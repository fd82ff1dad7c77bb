"""A run while it works: on a terminal a bar a stage, in a log one short line a stage.

Luigi's worker says what is planned, begins and ends (`tasks.workers`). How far a task is comes from
the process that it runs in, through a pipe where that one was forked.
"""

from __future__ import annotations

import io
import logging
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import luigi
from rich import progress as bars
from rich.console import Console
from rich.table import Column
from rich.text import Text

from models.training.logs import duration
from pipeline.base.foreign_text import printable, told
from pipeline.base.job import Rated

logger = logging.getLogger("luigi-interface")

SECONDS_BETWEEN_LINES = 60.0
"""Of a log, while no stage ends."""
LONGEST_LINE = 120
"""Characters of a line of a log."""
_LONGEST_NAME = 70
"""Characters of a stage's name, so that a line has room for what came of it."""
_LONGEST_TEXT = 700
"""Characters that a forked process sends at once: so few are written whole or not at all."""


@dataclass
class Stage:
    """A stage that was not complete when the run began; jobs of its shards are parts of it."""

    called: str
    shares: dict[str, float]
    """Task -> how much of it is done, 0 to 1; of its parts, or of its own task if it has none."""
    said: dict[str, tuple[str, float | None]] = field(default_factory=dict)
    """Running task -> what it said last."""
    row: bars.TaskID | None = None
    """Its bar, from when it begins."""
    is_over: bool = False

    @property
    def share(self) -> float:
        """Of the work that is done, 0 to 1."""
        return sum(self.shares.values()) / max(1, len(self.shares))

    @property
    def fact(self) -> str:
        """Sentences that its tasks get done a second together, or else what one of them said."""
        speeds = [speed for _, speed in self.said.values() if speed is not None]
        if not speeds:
            return next((text for text, _ in self.said.values()), "")
        per_second = sum(speeds)
        return f"{per_second:,.{0 if per_second >= 10 else 1}f} sentences/s"


class ShownRun:
    """Follows one run and shows it."""

    def __init__(self) -> None:
        self.has_begun = False
        self._process = os.getpid()
        self._reader, self._writer = multiprocessing.Pipe(duplex=False)
        os.set_blocking(self._writer.fileno(), False)
        self._said = time.monotonic()
        self._planned: dict[str, luigi.Task] = {}
        self._stages: dict[str, Stage] = {}
        self._done: set[str] = set()
        self._bars = _bars_here()
        self._whole = self._bars.add_task("looking at what is there", total=None, fact="")
        self._bars.start()

    @property
    def is_on_screen(self) -> bool:
        """Whether bars are shown."""
        return not self._bars.disable

    @property
    def num_stages(self) -> int:
        """Stages that were to be made."""
        return len(self._planned)

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return self._bars.tasks[self._whole].elapsed or 0.0

    def plan(self, task: luigi.Task) -> None:
        """Takes note of a stage that is to be made, unless others have begun."""
        if not self._stages and not isinstance(task, luigi.WrapperTask):
            self._planned[task.task_id] = task

    def found_done(self, task_id: str) -> None:
        """Takes note of a task that is complete without having run."""
        self._done.add(task_id)

    def begin(self) -> None:
        """Begins to show the stages, all of which are planned."""
        about = told_apart(list(self._planned.values()))
        for task_id, task in self._planned.items():
            called = f"{task.task_family} ({about[task]})" if about[task] else task.task_family
            called = " ".join(told(called).split())
            if len(called) > _LONGEST_NAME:
                called = f"{called[: _LONGEST_NAME - 1]}…"
            self._stages[task_id] = Stage(called, {task_id: 0.0})
        self._bars.update(self._whole, total=self.num_stages)
        self._count(0)

    def task_begins(self, task_id: str) -> None:
        """Takes note that a task runs from now on."""
        stage = self._stages.get(task_id)
        if stage is not None and stage.row is None:
            self.has_begun = True
            stage.row = self._bars.add_task(stage.called, total=1.0, fact="")

    def task_waits(self, task_id: str, part_ids: Sequence[str]) -> None:
        """Makes tasks that came up the parts of a stage, which goes on when these are done."""
        stage = self._stages.get(task_id)
        if stage is not None:
            stage.shares.pop(task_id, None)
            stage.said.pop(task_id, None)
            for part_id in part_ids:
                if self._stages.setdefault(part_id, stage) is stage:
                    stage.shares.setdefault(part_id, float(part_id in self._done))
            self._update(stage)

    def task_ends(self, task_id: str, *, is_done: bool) -> None:
        """Takes note that a task ended; its stage ends with it, or with a part that fails."""
        stage = self._stages.get(task_id)
        if stage is None or stage.is_over:
            return
        stage.said.pop(task_id, None)
        if is_done and task_id not in self._planned:
            stage.shares[task_id] = 1.0
            self._update(stage)
            return
        stage.is_over = True
        self._count(1)
        if stage.row is not None:
            seconds = self._bars.tasks[stage.row].elapsed or 0.0
            self._bars.update(stage.row, visible=False)
            self._say(f"{stage.called} {'done' if is_done else 'failed'} in {duration(seconds)}")

    def report(self, task_id: str, share: float, text: str, speed: float | None) -> None:
        """Takes note how far a task is; where its process was forked, tells the one that shows."""
        if self._is_forked:
            self._send("report", task_id, share, printable(text)[:_LONGEST_TEXT], speed)
            return
        stage = self._stages.get(task_id)
        if stage is not None and not stage.is_over:
            stage.said[task_id] = text, speed
            if task_id in stage.shares:
                stage.shares[task_id] = min(max(share, 0.0), 1.0)
            self._update(stage)

    def write(self, text: str) -> None:
        """Writes a line to standard error, above the bars where there are such."""
        if not self.is_on_screen:
            with suppress(OSError, ValueError):  # nobody reads any more: `2>&1 | head`
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()
        elif self._is_forked:
            for line in text.splitlines():
                self._send("write", printable(line)[:_LONGEST_TEXT])
        else:
            with suppress(OSError):  # the terminal is gone
                self._bars.console.print(Text(printable(text, keep_lines=True)), soft_wrap=True)

    def tick(self) -> None:
        """Shows how far the stages are now."""
        if self._is_forked:
            return
        self._receive()
        with suppress(OSError):  # the terminal is gone
            self._bars.refresh()
        if not self.is_on_screen and time.monotonic() - self._said >= SECONDS_BETWEEN_LINES:
            running = [row for row in self._bars.tasks if row.visible and row.id != self._whole]
            facts = (
                f"{row.description} {row.percentage:.0f} % {row.fields['fact']}" for row in running
            )
            self._say("; ".join(facts))

    def close(self) -> None:
        """Ends to show anything, and gives the terminal back."""
        if not self._reader.closed:
            self._receive()
            self._bars.stop()
            self._reader.close()
            self._writer.close()

    @property
    def _is_forked(self) -> bool:
        return os.getpid() != self._process

    def _send(self, method: str, *arguments: Any) -> None:
        """Has a method called in the process that shows the run, unless the pipe is full."""
        with suppress(OSError):
            self._writer.send((method, arguments))

    def _receive(self) -> None:
        while self._reader.poll():
            method, arguments = self._reader.recv()
            getattr(self, method)(*arguments)

    def _count(self, num_more: int) -> None:
        """Takes note that so many more stages are over."""
        self._bars.advance(self._whole, num_more)
        over = self._bars.tasks[self._whole].completed
        self._bars.update(self._whole, description=f"{over:.0f} of {self.num_stages} stages")
        self.tick()

    def _update(self, stage: Stage) -> None:
        if stage.row is not None:
            self._bars.update(stage.row, completed=stage.share, fact=stage.fact)

    def _say(self, text: str) -> None:
        """Writes a line on stages, in a log with the time."""
        self._said = time.monotonic()
        if not logger.isEnabledFor(logging.INFO):
            return
        if not self.is_on_screen:
            text = stamped(f"{self._bars.tasks[self._whole].description}: {text}")
            text = text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 1]}…"
        self.write(text)


def _bars_here() -> bars.Progress:
    """Returns a bar a stage, which are drawn where standard error is a terminal."""
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    is_shown = logger.isEnabledFor(logging.INFO)

    def column(text: str, ratio: int) -> bars.TextColumn:
        table_column = Column(ratio=ratio, no_wrap=True, overflow="ellipsis")
        return bars.TextColumn(text, markup=False, table_column=table_column)

    return bars.Progress(
        column("{task.description}", 2),
        bars.BarColumn(bar_width=12),
        bars.TaskProgressColumn(),
        column("{task.fields[fact]}", 1),
        bars.TimeElapsedColumn(),
        console=console,
        disable=not is_shown or not console.is_terminal or console.is_dumb_terminal,
        auto_refresh=False,  # a thread would hold rich's locks while workers are forked
        transient=True,
        expand=True,
    )


def told_apart(tasks: Sequence[luigi.Task]) -> dict[luigi.Task, str]:
    """Returns the parameters in which each task differs from others of its name, in words."""
    words = {task: task.to_str_params(only_significant=True) for task in tasks}
    values: dict[tuple[str, str], set[str]] = {}
    for task, own in words.items():
        for name, value in own.items():
            values.setdefault((task.task_family, name), set()).add(value)
    return {
        task: ", ".join(
            f"{name.replace('_', ' ')} {value}"
            for name, value in own.items()
            if len(values[task.task_family, name]) > 1 and value not in _NO
        )
        for task, own in words.items()
    }


_NO = ("", "{}", "False")
"""Values that go without saying."""


def stamped(text: str) -> str:
    """Returns text with the time before it."""
    return f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}"


_shown: list[ShownRun] = []


def shown_run() -> ShownRun | None:
    """Returns the run that this process follows, if it does."""
    return _shown[-1] if _shown else None


def report(task_id: str, share: float, status: str) -> None:
    """Tells how far a task is, where a run is shown."""
    if display := shown_run():
        speed = status.per_second if isinstance(status, Rated) else None
        display.report(task_id, share, str(status), speed)
        display.tick()


class _Relay(io.TextIOBase):
    """Standard error of a forked process, whose lines appear above the bars."""

    def __init__(self, display: ShownRun) -> None:
        self._display, self._rest = display, ""

    def write(self, text: str) -> int:
        """Sends whole lines; of one that was rewritten, such as a bar, the last state."""
        *lines, rest = (self._rest + text).split("\n")
        for line in lines:
            self._display.write(line.rstrip("\r").rpartition("\r")[2])
        self._rest = rest[-_LONGEST_TEXT:]
        return len(text)


def enter_worker() -> None:
    """Has what a forked process writes to the terminal appear above the bars."""
    display = shown_run()
    if display is not None and display.is_on_screen:
        sys.stdout = sys.stderr = _Relay(display)


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
    luigi.configuration.get_config().set("core", "no_configure_logging", "true")
    before: tuple[Any, ...] = logger.level, logger.propagate, logger.handlers[:]
    logger.setLevel(level)
    logger.propagate = not alone
    run = ShownRun()
    logger.handlers[:] = [_OwnMessages(run)]
    _shown.append(run)
    try:
        yield run
    finally:
        level_before, logger.propagate, logger.handlers[:] = before
        logger.setLevel(level_before)
        run.close()
        _shown.remove(run)


class _OwnMessages(logging.Handler):
    """Shows our messages, and none of Luigi's; in a log with the time."""

    def __init__(self, run: ShownRun) -> None:
        super().__init__()
        self._run = run

    def emit(self, record: logging.LogRecord) -> None:
        """Shows one of them."""
        if "luigi" not in record.pathname.split("/")[-2:-1]:
            kind = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
            text = f"{kind}{self.format(record)}"
            self._run.write(text if self._run.is_on_screen else stamped(text))
