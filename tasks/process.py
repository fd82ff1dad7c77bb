"""Processes of a run: a job's own, which shows its progress, and Luigi's forked workers."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import luigi

from pipeline.base.job import end_with_parent
from pipeline.base.job_process import run_job_process


def run_job(
    task: luigi.Task, module: str, job: Mapping[str, Any], job_path: Path, *, threads: int
) -> None:
    """Writes ``job_path``, runs ``python -m module job_path`` and waits for it.

    Args:
        task: its status message and progress percentage follow the job.
        threads: CPU threads the job's numerical libraries may use.

    Raises:
        RuntimeError: the job failed; carries the last lines it wrote on standard error.
    """
    run_job_process(module, job, job_path, partial(show_progress, task), threads=threads)


def show_progress(task: luigi.Task, fraction: float, status: str) -> None:
    """Shows a task's progress on the Luigi page."""
    task.set_status_message(status)
    task.set_progress_percentage(round(100 * fraction))


def watch_every_task() -> None:
    """Has every task that starts in a process forked by Luigi watch for its parent's end.

    Without it, a task that runs in a forked worker (and the job it started) would go on writing
    after its parent was killed, beside the run that takes its place.
    """
    luigi.Task.event_handler(luigi.Event.START)(_watch_parent)


def _watch_parent(task: luigi.Task) -> None:
    del task
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid is not None:
        end_with_parent(parent.pid)
