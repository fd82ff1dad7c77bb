"""A run as it is shown: on a terminal a bar a stage, in a log one short line a stage; its end."""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import luigi
from rich import progress as bars
from rich.console import Console
from rich.table import Column
from rich.text import Text

from treeviews.models.training.training_records import duration
from treeviews.pipeline.base.foreign_text import printable, told, without_secrets
from treeviews.pipeline.base.job_server import socket_folder
from treeviews.pipeline.base.mistakes import (
    DONE,
    FAILED,
    MISTAKE,
    error_lines,
    is_mistake,
    keep_traceback,
    sentence_of,
)

SECONDS_BETWEEN_LINES = 60.0
"""Of a log, while no stage ends."""

LONGEST_LINE = 120
"""Characters of a line of a log."""

ADDRESS_VARIABLE = "TREEVIEWS_RUN"
"""Of the environment: where the run listens that this process is part of."""

SCREEN_VARIABLE = "TREEVIEWS_RUN_ON_SCREEN"

_SECONDS_BETWEEN_FRAMES = 0.25

_LONGEST_NAME = 70
"""Characters of a stage's name, so that a line has room for what came of it."""

DATAGRAM_BYTES = 1 << 16

_KEPT_BY_JOB = re.compile(r" \[traceback: (?P<path>.+)\]$")

_NO = ("", "{}", "False")
"""Values of parameters that go without saying."""


class RefusedError(ValueError):
    """A run cannot be, for each of several reasons."""

    def __init__(self, sentences: Sequence[str]) -> None:
        super().__init__("; ".join(sentences))
        self.sentences = list(sentences)


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

    @classmethod
    def of(cls, task: luigi.Task, error: BaseException) -> Failure:
        """Returns what an error of a task is told as, and keeps its traceback."""
        sentence = sentence_of(error)
        if kept := _KEPT_BY_JOB.search(sentence):
            path = kept["path"]
            sentence = sentence[: kept.start()]
        else:
            path = str(keep_traceback(error) or "")
        return cls(task.task_family, sentence, is_mistake(error), path)


@dataclass
class _Stage:
    """A stage that was not complete when the run began."""

    called: str
    row: bars.TaskID | None = None
    """Its bar, from when it begins."""
    fact: str = ""
    is_over: bool = False


@dataclass
class Run:
    """A run that is on, or was last, in this process."""

    level: int = logging.INFO
    root: luigi.Task | None = None
    """What was asked for."""
    failures: list[Failure] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    is_interrupted: bool = False
    is_over: bool = False
    _planned: dict[str, luigi.Task] = field(default_factory=dict)
    _stages: dict[str, _Stage] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begins to listen and to show."""
        self._folder = socket_folder()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * DATAGRAM_BYTES)
        self._socket.bind(f"{self._folder}/events")
        self._socket.setblocking(False)
        os.environ[ADDRESS_VARIABLE] = f"{self._folder}/events"
        self.lock = threading.RLock()
        self._said = time.monotonic()
        self._bars = _bars_here(is_shown=self.level <= logging.INFO)
        if self.is_on_screen:
            os.environ[SCREEN_VARIABLE] = "1"
        self._whole = self._bars.add_task("looking at what is there", total=None, fact="")
        self._bars.start()
        self._ends = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def is_on_screen(self) -> bool:
        """Whether bars are shown."""
        return not self._bars.disable

    @property
    def has_begun(self) -> bool:
        """Whether any stage began its work."""
        return any(stage.row is not None for stage in self._stages.values())

    # What becomes of tasks.

    def plan(self, task: luigi.Task) -> None:
        """Takes note of a task that is to be made, the first of which is what was asked for."""
        with self.lock:
            self.root = self.root or task
            if not self._stages and not isinstance(task, luigi.WrapperTask):
                self._planned.setdefault(task.task_id, task)

    def is_there(self, task: luigi.Task) -> None:
        """Takes note of a task that was complete before."""
        with self.lock:
            self._planned.pop(task.task_id, None)
            self.done.add(task.task_id)

    def begins(self, task_id: str) -> None:
        """Takes note that a task runs from now on."""
        if not self._stages:  # all are planned
            about = told_apart(list(self._planned.values()))
            for planned_id, task in self._planned.items():
                called = f"{task.task_family} ({about[task]})" if about[task] else task.task_family
                called = " ".join(told(called).split())
                if len(called) > _LONGEST_NAME:
                    called = f"{called[: _LONGEST_NAME - 1]}…"
                self._stages[planned_id] = _Stage(called)
            self._bars.update(self._whole, total=len(self._stages))
            self._count(0)
        stage = self._stages.get(task_id)
        if stage is not None and stage.row is None:
            stage.row = self._bars.add_task(stage.called, total=1.0, fact="")

    def ends(self, task_id: str, *, is_done: bool) -> None:
        """Takes note that a task ended."""
        if is_done:
            self.done.add(task_id)
        stage = self._stages.get(task_id)
        if stage is None or stage.is_over:
            return
        stage.is_over = True
        self._count(1)
        if stage.row is not None:
            seconds = self._bars.tasks[stage.row].elapsed or 0.0
            self._bars.update(stage.row, visible=False)
            self._say(f"{stage.called} {'done' if is_done else 'failed'} in {duration(seconds)}")

    def fails(self, stage: str, sentence: str, *, is_mistake: bool, traceback: str) -> None:
        """Takes note of a failure."""
        self.failures.append(Failure(stage, sentence, is_mistake, traceback))
        others = [one for one in self._stages.values() if one.row is not None and not one.is_over]
        if len(others) > 1:  # it is told again at the end
            self.write(f"warning: {stage}: failed: {sentence}", is_stamped=True)

    def report(self, task_id: str, share: float, text: str, speed: float | None) -> None:
        """Takes note how far a task is."""
        stage = self._stages.get(task_id)
        if stage is not None and stage.row is not None and not stage.is_over:
            stage.fact = text
            if speed is not None:
                stage.fact = f"{speed:,.{0 if speed >= 10 else 1}f} sentences/s"
            self._bars.update(stage.row, completed=min(max(share, 0.0), 1.0), fact=stage.fact)

    def write(self, text: str, *, is_stamped: bool = False) -> None:
        """Writes a line to standard error, above the bars where there are such."""
        with suppress(OSError, ValueError):  # nobody reads any more: `2>&1 | head`
            if self.is_on_screen:
                shown = Text(printable(text, keep_lines=True))
                self._bars.console.print(shown, soft_wrap=True)
            else:
                sys.stderr.write(f"{_stamped(text) if is_stamped else text}\n")
                sys.stderr.flush()

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
            if not self.is_on_screen and time.monotonic() - self._said >= SECONDS_BETWEEN_LINES:
                running = [row for row in self._bars.tasks if row.visible and row.id != self._whole]
                facts = [
                    f"{row.description} {row.percentage:.0f} % {row.fields['fact']}"
                    for row in running
                ]
                self._say("; ".join(facts))

    def _count(self, num_more: int) -> None:
        """Takes note that so many more stages are over."""
        self._bars.advance(self._whole, num_more)
        over = self._bars.tasks[self._whole].completed
        self._bars.update(self._whole, description=f"{over:.0f} of {len(self._stages)} stages")

    def _say(self, text: str) -> None:
        """Writes a line on stages, in a log with the time."""
        self._said = time.monotonic()
        if self.level > logging.INFO:
            return
        if not self.is_on_screen:
            text = _stamped(f"{self._bars.tasks[self._whole].description}: {text}")
            text = text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 1]}…"
        self.write(text)

    # The end.

    @property
    def is_done(self) -> bool:
        """Whether all was made that was asked for."""
        self.look()
        return not self.failures and self.root is not None and self.root.task_id in self.done

    def exit_code(self) -> int:
        """Returns the code of a process that ends with this run."""
        if self.is_done:
            return DONE
        only_mistakes = bool(self.failures) and all(one.is_mistake for one in self.failures)
        return MISTAKE if only_mistakes else FAILED

    def finish(self) -> None:
        """Ends to show anything, gives the terminal back and says what came of the run."""
        if self.is_over:
            return
        is_done = self.is_done
        with self.lock:
            self.is_over = True
            self._ends.set()
            self._bars.stop()
            self._socket.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            for name in (ADDRESS_VARIABLE, SCREEN_VARIABLE):
                os.environ.pop(name, None)
        if self.root is None or self.is_interrupted:
            return
        if is_done:
            if self.level <= logging.INFO:
                say(self._success_lines())
            if result := getattr(self.root, "result", None):
                print(result, flush=True)
        else:
            say(self.failure_lines())

    def _success_lines(self) -> list[str]:
        """Returns what comes before the result's path."""
        num_stages = len(self._stages)
        seconds = self._bars.tasks[self._whole].elapsed or 0.0
        count = "1 stage" if num_stages == 1 else f"all {num_stages} stages"
        lines = [f"{count} done in {duration(seconds)}"] if num_stages else []
        with suppress(OSError, ValueError, LookupError, TypeError):
            lines += [told(line) for line in getattr(self.root, "headline", list)()]
        return lines if num_stages else ["everything was done before", *lines]

    def failure_lines(self) -> list[str]:
        """Returns the first cause with its remedy, what else failed, then how to go on.

        What several stages failed by is told once; if nothing was begun, all that stands in the way
        is.
        """
        if not self.failures:
            self.failures.append(Failure("Luigi", _NOT_RUN, is_mistake=False))
        by_sentence = {one.sentence: one for one in reversed(self.failures)}
        first, *others = reversed(by_sentence.values())
        where = [f"traceback: {first.traceback}"] if first.traceback else []
        if not self.has_begun:
            listed = [f"- {one.sentence}" for one in (first, *others)]
            head = f"{len(listed)} things are in the way of this run:" if others else first.sentence
            return [*error_lines(head), *(listed if others else []), *where]
        stages = ", ".join(dict.fromkeys(one.stage for one in others))
        more = [f"{len(others)} more failed, too: {stages}"] if others else []
        # The same command fails again as long as what the user is to mend is not.
        only_mistakes = all(one.is_mistake for one in self.failures)
        going_on = how_to_go_on("when that is mended, " if only_mistakes else "")
        return [*error_lines(first.sentence), *more, *where, *going_on]


_NOT_RUN = (
    "not all was run, as another run holds what is needed, or no stage makes it; run the command "
    "again when that one has ended, or put it there"
)


def command_line() -> str | None:
    """Returns the command that runs this process, without secrets, as a shell takes it.

    Returns:
        None where it is no command of ours, such as in a notebook.
    """
    program = Path(sys.argv[0])
    if program.name in _PROGRAMS:
        words = [program.name]
    elif program.name == "__main__.py" and program.parent.name in _PROGRAMS:
        words = ["python", "-m", program.parent.name]
    else:
        return None
    return without_secrets(shlex.join([*words, *map(without_secrets, sys.argv[1:])]))


_PROGRAMS = ("luigi", "treeviews")


def how_to_go_on(first: str = "") -> list[str]:
    """Returns the line with the command that goes on, where it is one of ours."""
    command = command_line()
    return [f"{first}go on with: {told(command)}"] if command else []


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
        auto_refresh=False,  # our own thread does not draw while workers are forked
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
