"""A run of all stages over a tiny text, and what two runs must have in common."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.support.repository import REPOSITORY
from treeviews.pipeline.base.digest import sha256_of_file

TRAINING = {"hidden_size": 8, "epochs": 3, "batch_size": 20, "held_out_batches": 3}
PROBING = {"min_train": 20, "min_dev": 6, "min_test": 12, "min_class_train": 3}
SETTINGS = (
    *("EvaluateEncoder", "--derived", "--local-scheduler", "--source", "files"),
    *("--held-out-fraction", "0.5", "--changes", json.dumps(TRAINING), "--vectors", "corpus"),
    *("--probing-changes", json.dumps(PROBING), "--checkpoint-every-seconds", "0.2"),
)
_RUN_OF = "TREEVIEWS_TESTED_WORK_FOLDER"
"""Variable of the environment by which the processes of a run are known."""
_OF_THE_RUN = re.compile(
    r'"(\w*seconds|\w+_per_second|peak_memory_gib|data_wait_percent|commit)": (\{[^}]*|[^,}\n]+)'
    r"|[0-9a-f]{64}|commit \S+"
)
"""Of JSON: what tells of the run itself, and every sha256, since that of such JSON changes."""
_NOT_PROMISED = re.compile(r"(^|/)(jobs/|job\.json$|plan\.json$|.*\.lock$)")
"""What jobs were told, and locks."""


def arguments(text: Path, work: Path) -> list[str]:
    """Returns what a user gives Luigi."""
    return ["--module", "tasks", *SETTINGS, "--paths", str(text), "--work-folder", str(work)]


def start(text: Path, work: Path, *more: str, strike: Sequence[str] = ()) -> subprocess.Popen[str]:
    """Starts the run in a process group of its own.

    Args:
        strike: whom to kill, in which stage, after how many seconds; see `struck_run`.
    """
    program = ["tests.faults.struck_run", *strike] if strike else ["luigi"]
    return subprocess.Popen(
        [sys.executable, "-m", *program, *arguments(text, work), *more],
        cwd=REPOSITORY,
        env=os.environ | {_RUN_OF: str(work)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(run: subprocess.Popen[str]) -> tuple[int, str]:
    """Returns a run's exit status and what it said."""
    said = run.communicate()[1]
    return run.returncode, said


def left_running(work: Path, within_seconds: float) -> list[str]:
    """Returns the commands of the processes of a run that do not end in time."""
    deadline = time.monotonic() + within_seconds
    while time.monotonic() < deadline:
        alive = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it is gone
                variables = (path / "environ").read_text(errors="replace").split("\0")
                if f"{_RUN_OF}={work}" in variables:
                    alive.append((path / "cmdline").read_text().replace("\0", " "))
        if not alive:
            break
        time.sleep(0.05)
    return alive


def contents(work: Path) -> dict[str, str]:
    """Returns what a run made, a line a file, but for what it says of itself."""
    files = {str(p.relative_to(work)): p for p in work.rglob("*") if p.is_file()}
    return {
        name: _OF_THE_RUN.sub("", path.read_text(encoding="utf-8"))
        if path.suffix in {".json", ".jsonl", ".md"}
        else sha256_of_file(path)
        for name, path in files.items()
        if not _NOT_PROMISED.search(name)
    }


def differences(expected: Path, found: Path) -> list[str]:
    """Returns the names of the files that two runs do not have alike."""
    one, two = contents(expected), contents(found)
    assert one, f"{expected} holds nothing to compare"
    return sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name))
