"""Tasks in forked workers: they end with who forked them, and that goes on without them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.support.repository import REPOSITORY

MODULE = """
import os, time
from pathlib import Path
import luigi
import tasks

class Slow(luigi.Task):
    folder = luigi.Parameter()
    name = luigi.Parameter()

    def output(self):
        return luigi.LocalTarget(self.folder + "/" + self.name)

    def run(self):
        Path(self.folder, self.name + ".begun").write_text(str(os.getpid()))
        time.sleep(2)
        Path(self.output().path).write_text("written by an orphan")

class Two(luigi.WrapperTask):
    folder = luigi.Parameter()

    def requires(self):
        return [Slow(folder=self.folder, name=name) for name in ("one", "two")]
"""


def test_forked_tasks_end_with_their_parent(tmp_path: Path) -> None:
    parent = start_two(tmp_path, MODULE)
    wait_for(tmp_path / "one.begun", tmp_path / "two.begun")

    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    time.sleep(3)

    assert not (tmp_path / "one").exists()
    assert not (tmp_path / "two").exists()


def start_two(folder: Path, module: str) -> subprocess.Popen[str]:
    (folder / "slow_tasks.py").write_text(module, encoding="utf-8")
    command = [sys.executable, "-m", "treeviews", "run", "Two", "--module", "slow_tasks"]
    return subprocess.Popen(
        [*command, "--workers", "2", "--folder", str(folder)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{folder}:{REPOSITORY}"},
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(*paths: Path) -> None:
    deadline = time.monotonic() + 60
    while not all(path.exists() for path in paths):
        assert time.monotonic() < deadline, f"none of {paths} appeared"
        time.sleep(0.05)


KILL = "os.kill(os.getpid(), 9)"


def test_a_forked_task_that_is_killed_is_told_with_what_it_means(tmp_path: Path) -> None:
    _, errors = start_two(tmp_path, MODULE.replace("time.sleep(2)", KILL)).communicate()

    assert "its process was ended by SIGKILL, most often sent by the kernel" in errors


LOCKED = (
    MODULE
    + """
import multiprocessing, signal
from treeviews.tasks import run

run.HAND_OVER_SECONDS = 1.0

class Slow(Slow):
    def run(self):
        if self.name == "one":
            multiprocessing.current_process().result_queue._wlock.acquire()
            os.kill(os.getpid(), signal.SIGKILL)
        super().run()
"""
)


def test_who_is_killed_while_it_tells_luigi_keeps_nobody_waiting(tmp_path: Path) -> None:
    parent = start_two(tmp_path, LOCKED)
    _, said = parent.communicate(timeout=60)

    assert parent.returncode == 1
    assert "Slow: its process was ended by SIGKILL" in said
    assert re.search("resume with: .* run Two --module slow_tasks", said)
