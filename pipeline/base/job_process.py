"""Starts a job in its own process, follows its progress, and ends it when this process ends.

The other side is `pipeline.base.job`. Whoever schedules jobs, on this machine or on others, starts
them here, so that all of them run in the same environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from pipeline.base.atomic_files import write_json_atomically
from pipeline.base.job import THREAD_VARIABLES, WATCH_FLAG, Progress

KEPT_ERROR_LINES = 40


class JobKilledError(RuntimeError):
    """A job was ended by a signal, such as the one a machine short of memory sends."""


def run_job_process(
    module: str, job: Mapping[str, Any], job_path: Path, on_progress: Progress, *, threads: int
) -> None:
    """Writes ``job_path``, runs ``python -m module job_path`` and waits for it.

    The job dies with this process: it watches its standard input, whose other end is held here.
    So do the processes it starts in its turn, which inherit that input.

    Args:
        on_progress: called with what the job reports; what else it prints goes to standard error.
        threads: CPU threads the job's numerical libraries may use.

    Raises:
        JobKilledError: a signal ended the job.
        RuntimeError: the job failed; carries the last lines it wrote on standard error.
    """
    job_path.parent.mkdir(parents=True, exist_ok=True)
    write_json_atomically(job_path, dict(job))
    process = _start([sys.executable, "-m", module, str(job_path), WATCH_FLAG], threads)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    errors: deque[str] = deque(maxlen=KEPT_ERROR_LINES)
    reader = threading.Thread(target=_forward_errors, args=(process.stderr, errors), daemon=True)
    reader.start()
    try:
        _follow_progress(process.stdout, on_progress)
        code = process.wait()
    finally:
        process.stdin.close()  # ends what the job started, too; the signal is for the job alone
        process.kill()
        reader.join(timeout=5)
    if code != 0:
        kind = JobKilledError if code < 0 else RuntimeError
        raise kind(f"{module} exited with {code}:\n" + "".join(errors).strip())


def job_environment(threads: int) -> dict[str, str]:
    """Returns a job's environment: this one but for what its libraries read."""
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
    # Waiting threads sleep: spinning ones starve the jobs beside them.
    environment |= {"OMP_WAIT_POLICY": "PASSIVE", "PYTHONHASHSEED": "0"}
    # oneDNN keeps one kernel a tensor shape, 1,024 by default: a leak over a corpus.
    return environment | {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64"}


def _start(command: list[str], threads: int) -> subprocess.Popen[str]:
    """Starts a job with pipes to it."""
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=job_environment(threads),
    )


def _follow_progress(lines: IO[str], on_progress: Progress) -> None:
    for line in lines:
        try:
            report = json.loads(line)
            fraction, status = float(report["progress"]), str(report["status"])
        except (ValueError, KeyError, TypeError):
            print(line.rstrip(), file=sys.stderr)
            continue
        on_progress(fraction, status)


def _forward_errors(lines: IO[str], kept: deque[str]) -> None:
    """Passes a job's standard error on, character by character so that progress bars move."""
    line = ""
    while character := lines.read(1):
        sys.stderr.write(character)
        if character in "\r\n":
            sys.stderr.flush()
            if character == "\n" and line.strip():
                kept.append(line + "\n")
            line = ""
        else:
            line += character
    if line.strip():
        kept.append(line + "\n")
