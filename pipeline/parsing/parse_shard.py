"""Command line of the shard job: ``python -m pipeline.parsing.parse_shard JOB.json``.

The job file holds a `ParseShardJob`: ``{"stage": "dependencies", "parser":
"data/parsers/dependency", "sentences": FOLDER, "output": FOLDER, "number": 0}``, and what else is
not as it is by default. One thread is the default because two parsers with two threads each on two
cores run many times slower than with one.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipeline.base.config_fields import Count, Natural
from pipeline.base.job import THREAD_VARIABLES, Progress, run_job_from_command_line
from pipeline.parsing.rows import ParseJob, parse_shard

MEMORY_BOUND_MIB = 512
"""What a job takes on a CPU, above the loaded parser, whatever the number of rows and even if all
of them have as many tokens as a parser takes; measured with the bundled parsers."""


@dataclass(frozen=True, slots=True)
class ParseShardJob(ParseJob):
    """Which shard to parse, by which parser, and how."""

    parser: Path
    """Folder of the parser."""
    device: str = "cpu"
    """``auto``, ``cpu`` or ``cuda``."""
    threads: Count = 1
    """CPU threads of torch, which reads them from the environment when imported."""
    precision: Literal["exact", "fast"] = "exact"
    """``fast``: arithmetic that may change a few answers."""
    batch_tokens: Natural = 0
    """Bound of a batch's size; 0: as many as suit parser and device."""
    parser_checksum: str | None = None
    """Where given, a parser's folder of another checksum is refused."""


def execute(job: ParseShardJob, on_progress: Progress) -> None:
    """Loads the parser and parses the shard that a job names.

    Raises:
        ValueError: this machine has no such device, a folder's content is not what it should be, or
            the parser not the expected one.
        FileNotFoundError: the sentence shard does not exist.
    """
    on_progress(0.0, "loading the parser")
    # torch reads the number of its threads when it is imported, which is in the next lines.
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(job.threads)))
    from pipeline.parsers.adapters.device import automatic_batch_tokens, resolve_device
    from pipeline.parsers.load import load_parser

    device = resolve_device(job.device)
    parser = load_parser(
        job.parser,
        job.stage,
        device=device,
        precision=job.precision,
        batch_tokens=job.batch_tokens or automatic_batch_tokens(device) or 0,
        expected_checksum=job.parser_checksum,
    )
    on_progress(0.0, "parsing")
    parse_shard(job, parser, on_progress, machine={"device": device, "precision": job.precision})


if __name__ == "__main__":
    sys.exit(run_job_from_command_line(ParseShardJob, execute))
