"""Job: trains a parser of either kind, ``python -m pipeline.parsers.training.job JOB.json``.

JOB.json holds ``kind`` (dependency or constituency) and ``arguments``, those of the command line
that trains this kind by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pipeline.job import Progress, run_from_command_line


def execute(job: Mapping[str, Any], progress: Progress) -> None:
    """Trains as a job says; resumes what the output folder holds.

    Raises:
        ValueError: no such kind, or what the training refuses.
    """
    arguments = [str(argument) for argument in job["arguments"]]
    if job["kind"] == "dependency":
        from pipeline.parsers.dependency import train as train_dependency

        train_dependency.train(arguments, on_progress=progress)
    elif job["kind"] == "constituency":
        from pipeline.parsers.constituency import train as train_constituency

        train_constituency.train(arguments, on_progress=progress)
    else:
        raise ValueError(f"unknown kind of parser {job['kind']!r}; dependency or constituency")


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute))
