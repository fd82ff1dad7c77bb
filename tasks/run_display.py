"""A run as it is shown: on a terminal a bar a stage, in a log one short line a stage; its end."""

from __future__ import annotations

import json
import logging
import os
import shlex
import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import luigi
from rich import progress as bars
from rich.console import Console
from rich.text import Text

from treeviews.models.training.training_job import duration
from treeviews.pipeline.base.foreign_text import printable, told, without_secrets
from treeviews.pipeline.base.job_server import socket_folder
from treeviews.pipeline.base.mistakes import DONE, FAILED, MISTAKE, error_lines

SECONDS_BETWEEN_LINES = 60.0
"""Of a log, while no stage ends."""

ADDRESS_VARIABLE = "TREEVIEWS_RUN"
"""Of the environment: where the run listens that this process is part of."""

SCREEN_VARIABLE = "TREEVIEWS_RUN_ON_SCREEN"

_SECONDS_BETWEEN_FRAMES = 0.25

_LONGEST_NAME = 70
"""Characters of a stage's name, so that a line has room for what came of it."""

DATAGRAM_BYTES = 1 << 16

_PLAIN = ("", "{}", "False")
"""Values of parameters that go without saying."""

_NOT_RUN = (
    "not all was run, as another run holds what is needed, or no stage makes it; run the command "
    "again when that one has ended, or put it there"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a stage is not done."""

    stage: str
    """The task's name."""
    sentence: str
    is_mistake: bool
    """Whether the user can mend it."""
    traceback: str = ""
    """Path of the file with it, outside of the work folder."""


class Run:
    """A run that is on, or was last, in this process.

    Args:
        root: what was asked for.
        level: of messages that are shown; above that of INFO no progress is.
    """

    def __init__(self, root: luigi.Task, level: int = logging.INFO) -> None:
        self.root, self.level = root, level
        self.failures: list[Failure] = []
        self.is_over = self.is_interrupted = False
        self.lock = threading.RLock()
        self._done: set[str] = set()
        self._planned: dict[str, luigi.Task] = {}
        self._rows: dict[str, bars.TaskID] = {}  # stages that have begun, and are not over
        self._over: set[str] = set()
        self._folder = socket_folder()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * DATAGRAM_BYTES)
        self._socket.bind(f"{self._folder}/events")
        self._socket.setblocking(False)
        os.environ[ADDRESS_VARIABLE] = f"{self._folder}/events"
        self._last_line = time.monotonic()
        self._bars = _bars_here(is_shown=level <= logging.INFO)
        self.is_on_screen = not self._bars.disable
        if self.is_on_screen:
            os.environ[SCREEN_VARIABLE] = "1"
        self._whole = self._bars.add_task("looking at what is there", total=None, fact="")
        self._bars.start()
        self._ends = threading.Event()
        self.plan(root)
        threading.Thread(target=self._watch, daemon=True).start()

    # What becomes of tasks.

    def plan(self, task: luigi.Task) -> None:
        """Takes note of a task that is to be made, until the first begins."""
        with self.lock:
            if self._bars.tasks[0].total is None and not isinstance(task, luigi.WrapperTask):
                self._planned.setdefault(task.task_id, task)

    def is_there(self, task: luigi.Task) -> None:
        """Takes note of a task that was complete before."""
        with self.lock:
            self._planned.pop(task.task_id, None)
            self._done.add(task.task_id)

    def begins(self, task_id: str) -> None:
        """Takes note that a task runs from now on."""
        if self._bars.tasks[0].total is None:
            self._bars.update(self._whole, total=len(self._planned))
            self._count()
        if task_id in self._planned and task_id not in self._rows:
            name = self._name(self._planned[task_id])
            self._rows[task_id] = self._bars.add_task(name, total=1.0, fact="")

    def _name(self, task: luigi.Task) -> str:
        """Returns a task's name with the parameters in which it differs from others of its name."""
        own = task.to_str_params(only_significant=True)
        alike = [
            other.to_str_params(only_significant=True)
            for other in self._planned.values()
            if other.task_family == task.task_family
        ]
        apart = ", ".join(
            f"{name.replace('_', ' ')} {value}"
            for name, value in own.items()
            if value not in _PLAIN and any(other[name] != value for other in alike)
        )
        name = " ".join(
            told(f"{task.task_family} ({apart})" if apart else task.task_family).split()
        )
        return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"

    def ends(self, task_id: str, *, is_done: bool) -> None:
        """Takes note that a task ended."""
        if is_done:
            self._done.add(task_id)
        if task_id in self._planned and task_id not in self._over:
            self._over.add(task_id)
            self._count()
            if (row := self._rows.pop(task_id, None)) is not None:
                bar = self._bars.tasks[row]
                self._bars.update(row, visible=False)
                outcome = "done" if is_done else "failed"
                self._say(f"{bar.description} {outcome} in {duration(bar.elapsed or 0.0)}")

    def fails(self, **failure: Any) -> None:
        """Takes note of a failure; where other stages go on, it is told at once, too."""
        self.failures.append(Failure(**failure))
        if len(self._rows) > 1:
            text = f"warning: {failure['stage']}: failed: {failure['sentence']}"
            self.write(text, is_stamped=True)

    def report(self, task_id: str, share: float, text: str, speed: float | None) -> None:
        """Takes note how far a task is."""
        if (row := self._rows.get(task_id)) is not None:
            if speed is not None:
                text = f"{speed:,.{0 if speed >= 10 else 1}f} sentences/s"
            self._bars.update(row, completed=min(max(share, 0.0), 1.0), fact=text)

    def write(self, text: str, *, is_stamped: bool = False) -> None:
        """Writes a line to standard error, above the bars where there are such."""
        if is_stamped and not self.is_on_screen:
            text = _stamped(text)
        with suppress(OSError, ValueError):  # nobody reads any more: `2>&1 | head`
            line = Text(printable(text, keep_lines=True))
            self._bars.console.print(line, soft_wrap=True)

    # The thread.

    def _watch(self) -> None:
        while not self._ends.wait(_SECONDS_BETWEEN_FRAMES):
            self.look()

    def look(self) -> None:
        """Takes the events that have come, and shows how far the stages are."""
        with self.lock:
            if self.is_over:
                return
            with suppress(BlockingIOError):
                while True:
                    content = self._socket.recv(DATAGRAM_BYTES)
                    with suppress(ValueError):  # cut off
                        kind, fields = json.loads(content)
                        getattr(self, kind)(**fields)
            with suppress(OSError):  # the terminal is gone
                self._bars.refresh()
            is_due = time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES
            if is_due and not self.is_on_screen:
                running = map(self._bars.tasks.__getitem__, self._rows.values())
                facts = (
                    f"{row.description} {row.percentage:.0f} % {row.fields['fact']}"
                    for row in running
                )
                self._say("; ".join(facts))

    def _count(self) -> None:
        """Shows how many stages are over."""
        over = len(self._over)
        about = f"{over} of {len(self._planned)} stages"
        self._bars.update(self._whole, completed=over, description=about)

    def _say(self, text: str) -> None:
        """Writes a line on stages, in a log with the time."""
        self._last_line = time.monotonic()
        if self.level > logging.INFO:
            return
        if not self.is_on_screen:
            text = _stamped(f"{self._bars.tasks[0].description}: {text}")
        self.write(text)

    # The end.

    def exit_code(self) -> int:
        """Returns the code of a process that ends with this run."""
        self.look()
        if not self.failures and self.root.task_id in self._done:
            return DONE
        only_mistakes = bool(self.failures) and all(one.is_mistake for one in self.failures)
        return MISTAKE if only_mistakes else FAILED

    def finish(self) -> None:
        """Ends to show anything, gives the terminal back and says what came of the run."""
        if self.is_over:
            return
        code = self.exit_code()
        with self.lock:
            self.is_over = True
            self._ends.set()
            self._bars.stop()
            self._socket.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            for name in (ADDRESS_VARIABLE, SCREEN_VARIABLE):
                os.environ.pop(name, None)
        if self.is_interrupted:
            say([*error_lines("interrupted; what is complete is kept"), *_how_to_go_on()])
        elif code != DONE:
            say(self._failure_lines())
        else:
            if self.level <= logging.INFO:
                say(self._success_lines())
            if result := getattr(self.root, "result", None):
                print(result, flush=True)

    def _success_lines(self) -> list[str]:
        """Returns what comes before the result's path."""
        whole = self._bars.tasks[0]
        num_stages = 0 if whole.total is None else len(self._planned)
        count = "1 stage" if num_stages == 1 else f"all {num_stages} stages"
        took = f"{count} done in {duration(whole.elapsed or 0.0)}"
        lines = [took if num_stages else "everything was done before"]
        with suppress(OSError, ValueError, LookupError, TypeError):
            lines += [told(line) for line in getattr(self.root, "headline", list)()]
        return lines

    def _failure_lines(self) -> list[str]:
        """Returns the first cause with its remedy, what else failed, then how to go on."""
        if not self.failures:
            self.failures.append(Failure("Luigi", _NOT_RUN, is_mistake=False))
        by_sentence: dict[str, Failure] = {}
        for failure in self.failures:
            by_sentence.setdefault(failure.sentence, failure)
        first, *others = by_sentence.values()
        where = [f"traceback: {first.traceback}"] if first.traceback else []
        stages = ", ".join(dict.fromkeys(one.stage for one in others))
        more = [f"{len(others)} more failed, too: {stages}"] if others else []
        # The same command fails again until the user has fixed the mistake.
        only_mistakes = all(one.is_mistake for one in self.failures)
        going_on = _how_to_go_on("when this is fixed, " if only_mistakes else "")
        return [*error_lines(first.sentence), *more, *where, *going_on]


def command_line() -> str | None:
    """Returns the command that runs this process, without secrets, as a shell takes it.

    Returns:
        None where it is no command of ours, such as in a notebook.
    """
    program = Path(sys.argv[0])
    words = [program.name]
    if program.name == "__main__.py":
        words = ["python", "-m", program.parent.name]
    if words[-1] not in ("luigi", "treeviews"):
        return None
    return without_secrets(shlex.join([*words, *map(without_secrets, sys.argv[1:])]))


def _how_to_go_on(first: str = "") -> list[str]:
    """Returns the line with the command that goes on, where it is one of ours."""
    command = command_line()
    return [f"{first}resume with: {told(command)}"] if command else []


def say(lines: Iterable[str]) -> None:
    """Writes lines to standard error; where nobody reads it, they are lost."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.write("".join(f"{line}\n" for line in lines))
        sys.stderr.flush()


def _stamped(text: str) -> str:
    return f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}"


def _bars_here(*, is_shown: bool) -> bars.Progress:
    """Returns a bar a stage, which are drawn where standard error is a terminal."""
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)

    return bars.Progress(
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(bar_width=12),
        bars.TaskProgressColumn(),
        bars.TextColumn("{task.fields[fact]}", markup=False),
        bars.TimeElapsedColumn(),
        console=console,
        disable=not is_shown or not console.is_terminal or console.is_dumb_terminal,
        auto_refresh=False,  # our own thread does not draw while workers are forked
        transient=True,
        expand=True,
    )
