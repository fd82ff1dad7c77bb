"""Command line of the shard job: ``python -m pipeline.parse_shard JOB.json``.

The job file: ``{"stage": "dependencies", "parser": "data/parsers/dependency", "sentences":
FOLDER, "output": FOLDER, "number": 0, "device": "auto", "threads": 1, "precision": "exact",
"batch_tokens": 0, "parser_checksum": SHA256}``; the last five may be left out. The device is
``auto``, ``cpu`` or ``cuda`` and by default the CPU; 0 tokens a batch are as many as suit parser
and device; a parser's folder of another checksum than a given one is refused. One thread is the
default because two parsers with two threads each on two cores run many times slower than with one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.job import THREAD_VARIABLES, Progress, run_from_command_line
from pipeline.parsing import ParseJob, parse_shard

_NEEDED = ("stage", "parser", "sentences", "output", "number")
_OPTIONAL = ("device", "threads", "precision", "batch_tokens", "parser_checksum")
MEMORY_BOUND_MIB = 512
"""What a job takes on a CPU, above the loaded parser, whatever the number of rows and even if all
of them have as many tokens as a parser takes; measured with the bundled parsers."""


def execute(job: Mapping[str, Any], on_progress: Progress) -> None:
    """Loads the parser and parses the shard that a job names.

    Raises:
        ValueError: a field is missing, unknown or out of range, this machine has no such device,
            a folder's content is not what it should be, or the parser not the expected one.
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
    threads, batch_tokens = int(job.get("threads", 1)), int(job.get("batch_tokens", 0))
    if threads < 1 or batch_tokens < 0:
        raise ValueError(
            f"threads is {threads}, batch_tokens {batch_tokens}: the first must be 1 or more, the "
            "second 0 or more"
        )
    # torch reads the number of its threads when it is imported, which is in the next lines.
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    from pipeline.parsers.base import PRECISIONS
    from pipeline.parsers.device import automatic_batch_tokens, resolve_device
    from pipeline.parsers.load import load_parser

    precision = str(job.get("precision", "exact"))
    if precision not in PRECISIONS:
        raise ValueError(f"unknown precision {precision!r}; known: {', '.join(PRECISIONS)}")
    device = resolve_device(str(job.get("device", "cpu")))
    parser = load_parser(
        Path(job["parser"]),
        parse_job.stage,
        device=device,
        precision=precision,
        batch_tokens=batch_tokens or automatic_batch_tokens(device) or 0,
        expected_checksum=job.get("parser_checksum"),
    )
    on_progress(0.0, "parsing")
    parse_shard(parse_job, parser, on_progress, machine={"device": device, "precision": precision})


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute))
