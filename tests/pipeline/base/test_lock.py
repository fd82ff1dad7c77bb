"""The lock between processes: held one at a time, and freed by the death of who holds it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.base.atomic_files import locked
from tests.support.repository import REPOSITORY

HOLDER = """
import sys, time
from pathlib import Path
from pipeline.base.atomic_files import locked

with locked(Path(sys.argv[1]), lambda: None):
    print("held", flush=True)
    time.sleep(60)
"""


def never() -> None:
    pytest.fail("there was nothing to wait for")


def test_a_lock_that_nobody_holds_is_taken_at_once(tmp_path: Path) -> None:
    for _ in range(2):
        with locked(tmp_path / "new/lock", never):
            pass


def test_a_lock_is_waited_for_and_freed_by_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    root = REPOSITORY
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        waited: list[str] = []

        def kill() -> None:
            waited.append("yes")
            holder.kill()

        with locked(path, kill):
            assert waited == ["yes"]
