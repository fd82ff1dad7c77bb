"""What Luigi's worker is taught about the processes that it forks.

They end with their parent, and their end is told in words.
What fails is remembered (`tasks.failures`) in place of the traceback that Luigi would show.
"""

from __future__ import annotations

import logging
import multiprocessing
import re
import signal
import sys
from functools import wraps
from multiprocessing.util import register_after_fork
from typing import Any

import luigi
import luigi.worker
from luigi.scheduler import DONE, PENDING
from luigi.worker import Worker

from pipeline.base.job import end_in_words
from pipeline.base.watched import end_with_parent
from tasks import failures
from tasks.display import enter_worker, shown_run
from tasks.failures import Failure, ToldFailure, any_failure, has_failed, remember_failure

logger = logging.getLogger("luigi-interface")


def teach_luigi() -> None:
    """Has each forked process watch for its parent's end, and its own end be understood.

    Without it, a task that runs in a forked worker (and the job it started) would go on writing
    after its parent was killed, beside the run that takes its place.
    """
    register_after_fork(_watch_parent, lambda watch: watch())
    luigi.Task.event_handler(luigi.Event.PROCESS_FAILURE)(_explain_end)
    Worker.run = _shown_if_scheduled(Worker.run)
    Worker._run_task = _telling_begin(Worker._run_task)
    Worker._add_task = _telling_state(Worker._add_task)
    Worker._handle_next_task = _ticking(Worker._handle_next_task)
    Worker._log_complete_error = _remember_unscheduled
    Worker._log_dependency_error = _remember_unscheduled
    Worker._email_task_failure = _remembering(Worker._email_task_failure)
    luigi.worker.check_complete_cached = _keeping_errors(luigi.worker.check_complete_cached)


def _watch_parent() -> None:
    """Has a forked worker end with its parent, which alone tells of Ctrl-C and other signals."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid is not None:
        end_with_parent(parent.pid)
    enter_worker()


def _explain_end(task: luigi.Task, message: str) -> None:
    """Says what the end of a forked worker means; Luigi gives its exit code alone."""
    code = re.search(r"exit code (-\d+)$", message)
    if code:
        said = f"{task.task_family}: its process {end_in_words(int(code[1]))}"
        logger.error("%s", said)
        remember_failure(Failure(task.task_family, said, False, None))


class _RefusedError(ValueError):
    """A run that the checks before it have refused is not scheduled."""


_of_complete: dict[str, BaseException] = {}
"""Task's id -> what its `complete` raised, of which Luigi keeps the text alone."""


def _keeping_errors(check: Any) -> Any:
    @wraps(check)
    def check_and_keep(task: luigi.Task, *arguments: Any, **named: Any) -> Any:
        if failures.is_refused():  # nothing is looked at: the user mends the command first
            raise _RefusedError
        try:
            return check(task, *arguments, **named)
        except Exception as error:
            _of_complete[task.task_id] = error
            raise

    return check_and_keep


def _remember_unscheduled(worker: Worker, task: luigi.Task, trace: str) -> None:
    """Remembers why a task cannot be scheduled, in place of logging the traceback."""
    if failures.is_refused():  # which is remembered already
        return
    error = _of_complete.pop(task.task_id, None) or sys.exc_info()[1]
    if error is None:  # it was raised in another process, which gave its traceback alone
        error = RuntimeError(trace.strip().splitlines()[-1])
    remember_failure(Failure.of(task, error))


def _shown_if_scheduled(run: Any) -> Any:
    """Returns the worker's loop, which is shown; all that it is to run is planned by then.

    It runs nothing where something cannot be scheduled. What is asked for could not be reached in
    any case: a mistake is told before the work begins.
    """

    @wraps(run)
    def run_shown(worker: Worker) -> bool:
        if any_failure() and not worker.add_succeeded:
            return False
        if display := shown_run():
            display.begin()
        done: bool = run(worker)
        return done

    return run_shown


def _telling_begin(run_task: Any) -> Any:
    @wraps(run_task)
    def run_task_and_tell(worker: Worker, task_id: str) -> None:
        if display := shown_run():
            display.task_begins(task_id)
        run_task(worker, task_id)

    return run_task_and_tell


def _telling_state(add_task: Any) -> Any:
    """Returns what tells the scheduler of a task's state; whoever shows the run is told, too."""

    @wraps(add_task)
    def add_task_and_tell(worker: Worker, /, *arguments: Any, **named: Any) -> None:
        add_task(worker, *arguments, **named)
        display, task_id = shown_run(), named["task_id"]
        if display is None:
            return
        has_run, status = task_id in worker._running_tasks, named["status"]
        if has_run and status == PENDING:
            display.task_waits(task_id, named.get("new_deps") or ())
        elif has_run:
            display.task_ends(task_id, is_done=status == DONE)
        elif status == PENDING:
            display.plan(worker._scheduled_tasks[task_id])
        elif status == DONE:
            display.found_done(task_id)

    return add_task_and_tell


def _ticking(handle: Any) -> Any:
    """Returns what waits a second for the next task that ends, after which the run is shown."""

    @wraps(handle)
    def handle_and_tick(worker: Worker) -> None:
        handle(worker)
        if display := shown_run():
            display.tick()

    return handle_and_tick


def _remembering(email: Any) -> Any:
    """Returns what the worker calls of every failure of a task; it is remembered, too."""

    @wraps(email)
    def email_and_remember(worker: Worker, task: luigi.Task, explanation: str) -> None:
        if isinstance(explanation, ToldFailure):
            remember_failure(explanation.failure)
            if worker._running_tasks.keys() - {task.task_id}:  # it is told again at the end
                failure = explanation.failure
                logger.warning("%s: failed: %s", failure.stage, failure.sentence)
        elif not has_failed(task.task_family):  # no task of ours, or it took too long
            last = (explanation.strip().splitlines() or ["failed"])[-1]
            remember_failure(Failure(task.task_family, last, False, None))
        email(worker, task, explanation)

    return email_and_remember
