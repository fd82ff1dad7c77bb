"""Command line of the shard job: ``python -m pipeline.parse_shard JOB.json``.

The job file: ``{"stage": "dependencies", "parser": "data/parsers/dependency", "sentences":
FOLDER, "output": FOLDER, "number": 0, "device": "cpu", "threads": 1}``; the last two may be left
out. One thread is the default because two parsers with two threads each on two cores run many
times slower than with one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.job import THREAD_VARIABLES, Progress, run_from_command_line
from pipeline.parsers.base import SentenceParser
from pipeline.parsing import Parse, ParseJob, parse_shard

_NEEDED = ("stage", "parser", "sentences", "output", "number")
_OPTIONAL = ("device", "threads")


def execute(job: Mapping[str, Any], on_progress: Progress) -> None:
    """Loads the parser and parses the shard that a job names.

    Raises:
        ValueError: a field is missing or unknown, or a folder's content is not what it should be.
        FileNotFoundError: the sentence shard does not exist.
    """
    missing = [name for name in _NEEDED if name not in job]
    unknown = [name for name in job if name not in _NEEDED + _OPTIONAL]
    if missing or unknown:
        raise ValueError(f"job file: missing {missing}, unknown {unknown}")
    parse_job = ParseJob(
        stage=job["stage"],
        sentences=Path(job["sentences"]),
        output=Path(job["output"]),
        number=int(job["number"]),
    )
    on_progress(0.0, "loading the parser")
    parser = load_parser(
        parse_job.stage,
        Path(job["parser"]),
        device=job.get("device", "cpu"),
        threads=int(job.get("threads", 1)),
    )
    parse_shard(parse_job, parser, on_progress)


def load_parser(stage: str, path: Path, *, device: str, threads: int) -> SentenceParser[Parse]:
    """Returns the parser of a stage; to be called before anything imports torch.

    Args:
        threads: CPU threads of torch, which reads them from the environment when imported.
    """
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    if stage == "dependencies":
        from pipeline.parsers.dependency.supar_adapter import load_dependency_parser

        return load_dependency_parser(path, device=device)
    from pipeline.parsers.constituency.benepar_adapter import load_constituency_parser

    return load_constituency_parser(path, device=device)


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute))
