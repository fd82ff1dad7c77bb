"""The lock between processes: held one at a time, and freed by the death of who holds it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY
from treeviews.pipeline.base.atomic_files import held_locks, locked

HOLDER = """
import sys, time
from pathlib import Path
from treeviews.pipeline.base.atomic_files import locked

with locked(Path(sys.argv[1]), lambda: None):
    print("held", flush=True)
    time.sleep(60)
"""


def never() -> None:
    pytest.fail("there was nothing to wait for")


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


def test_several_hold_a_lock_that_is_shared(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path, never, shared=True), locked(path, never, shared=True):
        assert len(held_locks()) == 2
    assert held_locks() == ()


def test_a_job_that_outlives_its_parent_still_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path, never):
        job = subprocess.Popen(["sleep", "60"], pass_fds=held_locks())
    waited: list[str] = []

    def end() -> None:
        waited.append("yes")
        job.kill()
        job.wait()

    with locked(path, end):
        assert waited == ["yes"]


def test_a_lock_whose_folder_was_deleted_meanwhile_is_taken_anew(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "lock"
    holder = locked(path, never)
    holder.__enter__()

    def delete_and_free() -> None:
        shutil.rmtree(path.parent)
        holder.__exit__(None, None, None)

    with locked(path, delete_and_free), locked(path, None) as is_free:
        assert not is_free
