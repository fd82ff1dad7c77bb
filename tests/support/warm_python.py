"""A process that has imported the libraries; forked for each program, it saves them their start.

What runs is a process of its own nevertheless: with its own folder, environment, files and end.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support import python_example
from tests.support.repository import REPOSITORY
from treeviews.command import main

PROGRAMS = {"treeviews": main, "example": lambda files: python_example.main(files[0])}
PRELOADED = ("torch", "spacy", "scipy.stats", "pyarrow.dataset", "nltk", "supar", "duckdb", "tqdm")
PRELOADED += ("treeviews.models.evaluate_tasks", "treeviews.pipeline.parsers.sentence_parser")
PRELOADED += ("treeviews.tasks", "treeviews.pipeline.parsing.parse_text")


class WarmPython:
    """Runs programs, each in a fork of one process."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", __name__],
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, words: Sequence[str], folder: Path, *, stdin: str = os.devnull, stdout: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program, a name of `PROGRAMS` with its arguments, in a folder.

        Args:
            stdin: a file that it reads.
            stdout: a file that it writes; by default what it prints is returned.
        """
        assert self._server.stdin is not None and self._server.stdout is not None
        with tempfile.TemporaryDirectory() as name:
            said = [Path(name) / "stdout", Path(name) / "stderr"]
            files = [folder / stdin, folder / stdout if stdout else said[0], said[1]]
            job = {"words": list(words), "folder": str(folder), "files": list(map(str, files))}
            print(json.dumps(job), file=self._server.stdin, flush=True)
            code = int(self._server.stdout.readline())
            texts = [path.read_text("utf-8") if path.exists() else "" for path in said]
        return subprocess.CompletedProcess(list(words), code, *texts)

    def close(self) -> None:
        """Ends the process."""
        self._server.communicate()


def _run(job: Mapping[str, Any]) -> int:
    os.chdir(job["folder"])
    sys.path.insert(0, job["folder"])
    modes = {"stdin": "r", "stdout": "w", "stderr": "w"}
    for number, (name, mode) in enumerate(modes.items()):
        with Path(job["files"][number]).open(mode) as file:
            os.dup2(file.fileno(), number)
        setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    program, *arguments = sys.argv = job["words"]
    try:
        return PROGRAMS[program](arguments) or 0
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _serve() -> None:
    for name in PRELOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            os._exit(_run(json.loads(line)))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    _serve()
