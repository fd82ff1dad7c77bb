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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.job import THREAD_VARIABLES, Progress, run_from_command_line
from pipeline.parsers.base import PRECISIONS
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
    options = ParserOptions(
        device=str(job.get("device", "cpu")),
        threads=int(job.get("threads", 1)),
        precision=str(job.get("precision", "exact")),
        batch_tokens=int(job.get("batch_tokens", 0)),
    ).resolved()
    from pipeline.parsers.load import load_parser  # torch reads the threads when imported

    parser = load_parser(
        Path(job["parser"]),
        parse_job.stage,
        device=options.device,
        precision=options.precision,
        batch_tokens=options.batch_tokens,
        expected_checksum=job.get("parser_checksum"),
    )
    on_progress(0.0, "parsing")
    machine = {"device": options.device, "precision": options.precision}
    parse_shard(parse_job, parser, on_progress, machine=machine)


@dataclass(frozen=True, slots=True)
class ParserOptions:
    """How a parser runs."""

    device: str = "cpu"
    threads: int = 1
    """CPU threads of torch, which reads them from the environment when imported."""
    precision: str = "exact"
    """``exact``, or ``fast`` for arithmetic that may change a few answers."""
    batch_tokens: int = 0
    """Bound of a batch's size; 0: as many as suit parser and device."""

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise ValueError(
                f"unknown precision {self.precision!r}; known: {', '.join(PRECISIONS)}"
            )
        if self.threads < 1 or self.batch_tokens < 0:
            raise ValueError(
                f"threads is {self.threads}, batch_tokens {self.batch_tokens}: the first must be 1 "
                "or more, the second 0 or more"
            )

    def resolved(self) -> ParserOptions:
        """Returns the options with the device and batch size of this machine.

        To be called before anything imports torch, in the process that parses.

        Raises:
            ValueError: this machine has no such device.
        """
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(self.threads)))
        from pipeline.parsers.device import automatic_batch_tokens, resolve_device

        device = resolve_device(self.device)
        batch_tokens = self.batch_tokens or automatic_batch_tokens(device) or 0
        return replace(self, device=device, batch_tokens=batch_tokens)


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute))
