"""The process that reads an original checkpoint.

Takes a job as one JSON object on standard input (`ConversionJob`'s fields), and prints one JSON
object: ``{"checksum": …}`` or ``{"error": …}``. Started by `isolation`, in an environment and
within limits that it chooses.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
from pathlib import Path

from pipeline.job import end_with_parent
from pipeline.parsers.checkpoints.isolation import ConversionJob


def main() -> int:
    """Converts as standard input says; returns the exit status, 0 also for a refusal."""
    end_with_parent(os.getppid())
    job = ConversionJob(**json.load(sys.stdin))
    _limit(job)
    try:
        answer = {"checksum": convert(job)}
    except Exception as error:  # becomes the parent's error, whatever it is
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        answer = {"error": f"{kind}{error}"}
    print(json.dumps(answer))
    return 0


def convert(job: ConversionJob) -> str:
    """Writes the parser folder of a checkpoint, loads it once as a proof, returns its checksum.

    Raises:
        ValueError: it is no checkpoint, or not one that can be taken over here.
    """
    from pipeline.parsers.checkpoints.opened import STAGE_OF_LIBRARY, open_checkpoint
    from pipeline.parsers.load import load_parser

    folder = Path(job.folder)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        opened = open_checkpoint(Path(job.checkpoint), Path(scratch), sha256=job.sha256)
        stage = STAGE_OF_LIBRARY[opened.library]
        if job.stage and job.stage != stage:
            raise ValueError(
                f"a parser of {opened.library}, which gives {stage}, but one for {job.stage} is "
                f"needed here; give it as the {_KIND_OF_STAGE[stage]} parser"
            )
        transformer = job.transformer or opened.transformer
        if opened.library == "supar":
            from pipeline.parsers.dependency.supar_conversion import convert_supar_checkpoint

            checksum = convert_supar_checkpoint(opened.content, folder, transformer=transformer)
        else:
            from pipeline.parsers.constituency.benepar_conversion import (
                convert_benepar_checkpoint,
            )

            checksum = convert_benepar_checkpoint(
                opened.content["config"],
                opened.content["state_dict"],
                folder,
                transformer=transformer,
            )
    load_parser(folder, stage, expected_checksum=checksum)
    return checksum


_KIND_OF_STAGE = {"dependencies": "dependency", "constituents": "constituency"}


def _limit(job: ConversionJob) -> None:
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, job.max_seconds),
        (resource.RLIMIT_DATA, job.max_memory_bytes),
        (resource.RLIMIT_FSIZE, job.max_file_bytes),
    ):
        _, hard = resource.getrlimit(what)
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (allowed, allowed))


if __name__ == "__main__":
    raise SystemExit(main())
