"""Times a command together with all processes that it starts.

``python -m benchmarks.timed_command COMMAND…`` runs one and prints what it took as JSON; the
command's own output goes to standard error. It is a process of its own because the kernel counts
to a process the peak of the one that started it, and benchmarks that hold torch are large.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pipeline.base.job import end_in_words
from pipeline.base.machine import MAXRSS_BYTES

REPOSITORY = Path(__file__).resolve().parent.parent
_KEPT_LINES = 20
"""Of what a command that failed said last."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a command took."""

    wall_seconds: float
    cpu_seconds: float
    """Of it and all processes that it started."""
    peak_bytes: int
    """The most memory that one of these processes had resident."""


def timed(command: Sequence[str]) -> Taken:
    """Runs a command in the repository; returns what it and all that it started took.

    Raises:
        RuntimeError: the command failed; carries the end of its output.
    """
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks.timed_command", *command],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        check=False,
    )
    code, taken = json.loads(result.stdout) if result.returncode == 0 else (result.returncode, {})
    if code != 0:
        log = "\n".join(result.stderr.splitlines()[-_KEPT_LINES:])
        raise RuntimeError(f"{' '.join(command)} {end_in_words(code)}:\n{log}")
    return Taken(**taken)


def children_cpu_seconds() -> float:
    """Returns the CPU time of all ended processes that this one started, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Runs the command; prints its exit code and what it took."""
    started = time.perf_counter()
    code = subprocess.run(sys.argv[1:], stdout=sys.stderr, check=False).returncode
    wall_seconds = time.perf_counter() - started
    # The largest of all that were started, by whichever of them; nothing was started before.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * MAXRSS_BYTES
    print(json.dumps([code, asdict(Taken(wall_seconds, children_cpu_seconds(), peak))]))


if __name__ == "__main__":
    main()
