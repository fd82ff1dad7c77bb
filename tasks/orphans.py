"""Ends a worker process when the Luigi process that forked it is gone.

Without it, a task that runs in a forked worker (and the job it started) would go on writing after
its parent was killed, beside the run that takes its place.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time

import luigi

POLL_SECONDS = 0.5
ORPHANED_EXIT_CODE = 75


def watch_every_task() -> None:
    """Has every task that starts in a process forked by Luigi watch for its parent's end."""
    luigi.Task.event_handler(luigi.Event.START)(_watch_parent)


def _watch_parent(task: luigi.Task) -> None:
    del task
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid is not None:
        threading.Thread(target=_exit_when_orphaned, args=(parent.pid,), daemon=True).start()


def _exit_when_orphaned(parent_id: int) -> None:
    while os.getppid() == parent_id:
        time.sleep(POLL_SECONDS)
    os._exit(ORPHANED_EXIT_CODE)
