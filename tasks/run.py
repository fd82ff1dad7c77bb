"""What becomes of the tasks of a run, and its processes.

Luigi tells of its tasks by events, in whichever process a task is. Each event is a datagram to the
process that runs Luigi, where a thread shows it (`run_display`). Where no run is shown, as in a
program that calls `luigi.build`, failures are logged.
"""

from __future__ import annotations

import io
import json
import logging
import multiprocessing
import multiprocessing.util
import os
import re
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import Any

import luigi
from luigi.worker import TaskProcess

from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.base.job import Rated, end_in_words
from treeviews.pipeline.base.mistakes import FAILED, is_mistake, keep_traceback, sentence_of
from treeviews.pipeline.base.watched import end_with_parent
from treeviews.tasks.run_display import ADDRESS_VARIABLE, DATAGRAM_BYTES, SCREEN_VARIABLE, Run

logger = logging.getLogger("luigi-interface")

HAND_OVER_SECONDS = 10.0
"""In which Luigi is told of a process that died, which takes milliseconds."""
_dead_since: dict[str, float] = {}
"""Id of a task -> when its process was first found dead."""
_LONGEST_TEXT = 700
"""Characters of a datagram's text."""
_LONGEST_SENTENCE = 8_000
"""Characters of a failure or of a message."""
_KEPT_BY_JOB = re.compile(r" \[traceback: (?P<path>.+)\]$")
_run: Run | None = None


def _tell(kind: str, **fields: Any) -> None:
    """Sends an event to the run that this process is part of, if any.

    A report is lost where the run has others to read; anything else waits until it is read.
    """
    if address := os.environ.get(ADDRESS_VARIABLE):
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, DATAGRAM_BYTES)
            sender.settimeout(0.0 if kind == "report" else None)
            sender.sendto(json.dumps([kind, fields]).encode(), address)


def report(task_id: str, share: float, status: str) -> None:
    """Tells how far a task is."""
    speed = status.per_second if isinstance(status, Rated) else None
    text = printable(status)[:_LONGEST_TEXT]
    _tell("report", task_id=task_id, share=share, text=text, speed=speed)


def _tell_failure(stage: str, sentence: str, *, is_mistake: bool, traceback: str = "") -> None:
    if os.environ.get(ADDRESS_VARIABLE):
        text = sentence[:_LONGEST_SENTENCE]
        _tell("fails", stage=stage, sentence=text, is_mistake=is_mistake, traceback=traceback)
    else:
        logger.error("%s: %s", stage, sentence)


def tell_error(stage: str, error: BaseException) -> None:
    """Tells that a stage failed by an error, and keeps its traceback unless its job did."""
    sentence = sentence_of(error)
    if kept := _KEPT_BY_JOB.search(sentence):
        sentence, path = sentence[: kept.start()], kept["path"]
    else:
        path = str(keep_traceback(error) or "")
    _tell_failure(stage, sentence, is_mistake=is_mistake(error), traceback=path)


@luigi.Task.event_handler(luigi.Event.START)
def _begins(task: luigi.Task) -> None:
    if multiprocessing.parent_process() is not None and os.environ.get(SCREEN_VARIABLE):
        sys.stdout = sys.stderr = _Relay()
    _tell("begins", task_id=task.task_id)


@luigi.Task.event_handler(luigi.Event.SUCCESS)
def _ends(task: luigi.Task) -> None:
    _tell("ends", task_id=task.task_id, is_done=True)


@luigi.Task.event_handler(luigi.Event.FAILURE)
def _fails(task: luigi.Task, error: BaseException) -> None:
    tell_error(task.task_family, error)
    _tell("ends", task_id=task.task_id, is_done=False)


@luigi.Task.event_handler(luigi.Event.BROKEN_TASK)
def _cannot_be(task: luigi.Task, error: BaseException) -> None:
    tell_error(task.task_family, error)


@luigi.Task.event_handler(luigi.Event.PROCESS_FAILURE)
def _is_killed(task: luigi.Task, message: str) -> None:
    """Tells that a process of a task died; ends the run where Luigi cannot be told so itself.

    Whoever is killed while it tells Luigi what became of its task keeps the lock of Luigi's queue.
    Luigi then finds the same process dead every second, and would do so for ever.
    """
    if since := _dead_since.get(task.task_id):
        if time.monotonic() - since > HAND_OVER_SECONDS and _run is not None:
            _run.finish()
            os._exit(FAILED)
        return
    _dead_since[task.task_id] = time.monotonic()
    code = re.search(r"exit code (-?\d+)$", message)
    ended = f"its process {end_in_words(int(code[1]))}" if code else message
    _tell_failure(task.task_family, f"{task.task_family}: {ended}", is_mistake=False)
    _tell("ends", task_id=task.task_id, is_done=False)


@luigi.Task.event_handler(luigi.Event.DEPENDENCY_DISCOVERED)
def _needs(task: luigi.Task, needed: luigi.Task) -> None:
    if _run is not None:
        _run.plan(needed)


@luigi.Task.event_handler(luigi.Event.DEPENDENCY_PRESENT)
def _is_there(task: luigi.Task) -> None:
    if _run is not None:
        _run.is_there(task)


@luigi.Task.event_handler(luigi.Event.DEPENDENCY_MISSING)
def _is_missing(task: luigi.Task) -> None:
    """Tells why Luigi could not say whether a task is complete, which it keeps to itself."""
    try:
        task.complete()
    except Exception as error:
        tell_error(task.task_family, error)


class _Relay(io.TextIOBase):
    """Standard error of a process of a run on screen: its lines appear above the bars."""

    rest = ""

    def write(self, text: str) -> int:
        """Sends whole lines; of one that was rewritten, such as a bar, the last state."""
        *lines, rest = (self.rest + text).split("\n")
        for line in lines:
            last = line.rstrip("\r").rpartition("\r")[2]
            _tell("write", text=printable(last)[:_LONGEST_TEXT])
        self.rest = rest[-_LONGEST_TEXT:]
        return len(text)


class _OwnMessages(logging.Handler):
    """Shows our messages, and none of Luigi's; in a log with the time."""

    def emit(self, record: logging.LogRecord) -> None:
        """Shows one of them."""
        if "luigi" not in record.pathname.split("/")[-2:-1]:
            kind = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
            text = f"{kind}{self.format(record)}"[:_LONGEST_SENTENCE]
            _tell("write", text=text, is_stamped=True)


def begin_run(root: luigi.Task, level: int = logging.INFO) -> Run:
    """Begins a run in this process, which from now on shows our messages and none of Luigi's."""
    global _run  # noqa: PLW0603 - one at a time
    luigi.configuration.get_config().set("core", "no_configure_logging", "true")
    _show_own_messages(level)
    _run = Run(root, level)
    return _run


def _show_own_messages(level: int) -> None:
    logger.handlers[:] = [_OwnMessages()]
    logger.setLevel(level)
    logger.propagate = False


def _hold_at_fork() -> None:
    if _run is not None:
        _run.lock.acquire()


def _release_at_fork() -> None:
    if _run is not None:
        _run.lock.release()


def enter_process() -> None:
    """Has a process of a run end with its parent, which alone tells of Ctrl-C and other signals."""
    parent = multiprocessing.parent_process()
    if parent is not None and isinstance(multiprocessing.current_process(), TaskProcess):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        # A fork server is the parent of what it forks, and ends with who started it.
        is_orphan = os.getppid() == 1 != parent.pid
        end_with_parent(-1 if is_orphan else os.getppid())
        if os.environ.get(ADDRESS_VARIABLE):
            _show_own_messages(logger.level or logging.INFO)


def follow_processes() -> None:
    """Has every process that is forked for a task, or has imported it, end with its parent."""
    # The thread that shows the run must not be drawing while a process is copied.
    os.register_at_fork(
        before=_hold_at_fork,
        after_in_parent=_release_at_fork,
        after_in_child=_release_at_fork,
    )
    multiprocessing.util.register_after_fork(follow_processes, lambda _: enter_process())
    enter_process()
