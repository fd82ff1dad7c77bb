"""A watched process ends with its parent, even while a library is being loaded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY
from tests.support.waiting import wait_until

PARENT = """
import sys
from pathlib import Path
from treeviews.pipeline.base.job import run_job_process

print("begun", flush=True)
run_job_process(sys.argv[1], {}, Path(sys.argv[2]), lambda *_: None, threads=1)
"""

LOADING = """
import ctypes, os
from pathlib import Path

Path(os.environ["BEGUN"]).write_text(str(os.getpid()))
ctypes.PyDLL(None).sleep(60)  # as a library that is read from a slow disk: no other thread runs
"""

STARTING = """
import os, subprocess, sys
from pathlib import Path
from treeviews.pipeline.base.watched import watched

subprocess.run([sys.executable, *watched("loading")])
"""


@pytest.mark.parametrize("module", ["loading", "starting"])
def test_a_job_that_is_loading_ends_with_its_parent(tmp_path: Path, module: str) -> None:
    """The job itself, and what it started in its turn."""
    (tmp_path / "loading.py").write_text(LOADING, encoding="utf-8")
    (tmp_path / "starting.py").write_text(STARTING, encoding="utf-8")
    begun = tmp_path / "begun"
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{REPOSITORY}", "BEGUN": str(begun)}
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, module, str(tmp_path / "job.json")], env=environment
    )
    wait_until(lambda: begun.exists() and begun.read_text() != "", seconds=60)

    parent.send_signal(signal.SIGKILL)
    parent.wait()

    wait_until(lambda: not is_alive(int(begun.read_text())), seconds=20)  # it would sleep 60


def is_alive(process_id: int) -> bool:
    """Whether a process is there and no zombie that its new parent has not collected."""
    try:
        status = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rsplit(")", 1)[1].split()[0] != "Z"
