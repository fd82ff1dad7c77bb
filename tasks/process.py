"""Runs one job in its own process and shows its progress on the Luigi page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import luigi

from pipeline.job_process import run_job_process


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

    def show(fraction: float, status: str) -> None:
        task.set_status_message(status)
        task.set_progress_percentage(round(100 * fraction))

    run_job_process(module, job, job_path, show, threads=threads)
