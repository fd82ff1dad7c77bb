"""Luigi's command line, struck by SIGKILL a while after a stage has begun.

``python -m tests.faults.struck_run WAY STAGE SECONDS ARGUMENTS…``; WAY says who is killed: the
whole ``group``, the ``parent`` of the process with the stage, or its ``child`` (itself if it has
none).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import luigi
from luigi.cmdline import luigi_run

import treeviews.tasks  # noqa: F401  (teaches Luigi)


def kill(way: str) -> None:
    """Kills who is to be killed."""
    if way == "group":
        os.killpg(0, signal.SIGKILL)
    if way == "parent":
        os.kill(os.getppid(), signal.SIGKILL)
    children = " ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children"))
    for number in children.split() or [os.getpid()]:
        os.kill(int(number), signal.SIGKILL)


def main() -> None:
    """Runs Luigi, and strikes."""
    way, stage, seconds, *arguments = sys.argv[1:]

    @luigi.Task.event_handler(luigi.Event.START)
    def strike(task: luigi.Task) -> None:
        if task.task_family == stage:
            timer = threading.Timer(float(seconds), kill, [way])
            timer.daemon = True
            timer.start()

    luigi_run(arguments)


if __name__ == "__main__":
    main()
