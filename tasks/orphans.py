"""Ends a worker process when the Luigi process that forked it is gone.

Without it, a task that runs in a forked worker (and the job it started) would go on writing after
its parent was killed, beside the run that takes its place.
"""

from __future__ import annotations

import multiprocessing

import luigi

from pipeline.job import end_with_parent


def watch_every_task() -> None:
    """Has every task that starts in a process forked by Luigi watch for its parent's end."""
    luigi.Task.event_handler(luigi.Event.START)(_watch_parent)


def _watch_parent(task: luigi.Task) -> None:
    del task
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid is not None:
        end_with_parent(parent.pid)
