"""The process that reads an original checkpoint: how it is started, what it does, how it ended.

It takes a job as one JSON object on standard input (`ConversionJob`'s fields), and prints one JSON
object: ``{"checksum": …}`` or ``{"error": …}``. Its environment and limits are chosen here.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from pipeline.base.job import THREAD_VARIABLES, end_in_words
from pipeline.base.watched import watched

_KEPT_VARIABLES = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
    "HF_HOME",
    "HF_ENDPOINT",
    "HF_HUB_CACHE",
    "HF_HUB_OFFLINE",
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
)
"""What a conversion needs to find its libraries and a hub; keys and tokens are not among them."""

_PROCESS = "pipeline.parsers.isolation"
_SHORT_OF_MEMORY = (
    "the process that read it ran out of memory; the file is damaged, or needs more than this "
    "machine or its limits have"
)
_UNLIKE_THEIRS = (
    "what is in it is not as supar or benepar save it ({}); name a checkpoint that one of them "
    "saved whole"
)
_KIND_OF_STAGE = {"dependencies": "dependency", "constituents": "constituency"}


@dataclass(frozen=True, slots=True)
class ConversionJob:
    """What to convert, and within what limits; in JSON's types."""

    checkpoint: str
    """File or folder."""
    sha256: str
    """Of the file, or of the folder's weights; nothing is read from any other."""
    folder: str
    """Empty; becomes the parser folder."""
    stage: str
    """``dependencies`` or ``constituents``; empty takes either."""
    transformer: str
    """Folder or hub's name with the configuration and tokenizer of the transformer inside."""
    max_seconds: int
    max_memory_bytes: int
    max_file_bytes: int


def run_isolated(job: ConversionJob) -> str:
    """Converts in a process of its own and returns the parser's checksum.

    Raises:
        ValueError: the checkpoint cannot be taken over, or the process did not survive it.
    """
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    environment |= dict.fromkeys(THREAD_VARIABLES, "1")
    command = [sys.executable, "-s", *watched(_PROCESS)]
    name = Path(job.checkpoint).name
    try:
        ended = subprocess.run(
            command,
            input=json.dumps(asdict(job)),
            capture_output=True,
            text=True,
            check=False,
            timeout=job.max_seconds,
            env=environment,
            cwd=job.folder,
        )
    except subprocess.TimeoutExpired as error:
        raise ValueError(
            f"{name}: not converted within {job.max_seconds} seconds; is it a parser at all?"
        ) from error
    if ended.returncode != 0:
        raise ValueError(f"{name}: {_end_in_words(ended.returncode, ended.stderr)}")
    answer = json.loads(ended.stdout.splitlines()[-1])
    if "error" in answer:
        raise ValueError(f"{name}: {answer['error']}")
    return str(answer["checksum"])


def _end_in_words(code: int, errors: str) -> str:
    last = "".join(errors.strip().splitlines()[-1:])
    return (
        f"the process that read it {end_in_words(code)}{f' ({last})' if last else ''}; the file is "
        "damaged, or needs more memory than this machine or its limits have"
    )


def main() -> int:
    """In the process: converts as standard input says; returns 0 also for a refusal."""
    sys.path.remove(os.getcwd())  # noqa: PTH109 - nothing is imported from what is written there
    job = ConversionJob(**json.load(sys.stdin))
    _limit(job)
    try:
        answer = {"checksum": convert(job)}
    except (ValueError, OSError) as error:
        answer = {"error": str(error)}
    except MemoryError:
        answer = {"error": _SHORT_OF_MEMORY}
    except Exception as error:  # what the library's own code, or ours, makes of a stranger's file
        reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
        answer = {"error": _UNLIKE_THEIRS.format(reason)}
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
            from pipeline.parsers.supar_conversion import convert_supar_checkpoint as take_over
        else:
            from pipeline.parsers.benepar_conversion import convert_benepar_checkpoint as take_over
        checksum = take_over(opened.content, folder, transformer=transformer)
    load_parser(folder, stage, expected_checksum=checksum)
    return checksum


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
