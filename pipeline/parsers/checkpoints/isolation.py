"""Starts the process that reads an original checkpoint, and says how that ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from pipeline.job import THREAD_VARIABLES

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

_PROCESS = "pipeline.parsers.checkpoints.process"
_ROOT = Path(__file__).resolve().parents[3]


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
    environment |= dict.fromkeys(THREAD_VARIABLES, "1") | {"PYTHONPATH": str(_ROOT)}
    command = [sys.executable, "-P", "-s", "-m", _PROCESS]
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
    how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
    last = "".join(errors.strip().splitlines()[-1:])
    return (
        f"the process that read it {how}{f' ({last})' if last else ''}; the file is damaged, or "
        f"needs more memory than this machine or its limits have"
    )
