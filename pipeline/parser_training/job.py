"""Job: trains a parser of either kind, ``python -m pipeline.parser_training.job JOB.json``.

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
    from pipeline.parser_training.command_line import train

    train(job["kind"], [str(argument) for argument in job["arguments"]], on_progress=progress)


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute))
