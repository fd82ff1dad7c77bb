"""Machines of a Ray cluster that are killed while they parse."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.chaos.__main__ import main
from benchmarks.chaos.parts import cluster
from benchmarks.chaos.parts.cluster import _kill_in, _round, _wait_for_job
from benchmarks.chaos.tiny_run import Started, TinyRun
from tests.support.ray_tests import on_ray

PLAY = """
import sys, time
for event in sys.argv[1:]:
    print(f"INFO: Worker Worker(1) {event}   ParseDependencies(a=1)", flush=True)
    time.sleep(0.5)
"""


class PlayedCluster:
    """Has the job on its second machine; some kills come when it is over."""

    def __init__(self, num_missed: int = 0) -> None:
        self.num_missed = num_missed

    def working(self) -> int:
        return 1

    def kill(self, place: int) -> int:
        self.num_missed -= 1
        return 0 if self.num_missed >= 0 else 1 + place


class PlayedRun(TinyRun):
    """A stage that begins and is done."""

    def command(self, root: object) -> list[str]:
        del root
        return [sys.executable, "-c", PLAY, "running", "done"]


@pytest.mark.parametrize(
    ("events", "survived"),
    [(["running", "done"], True), (["running", "failed"], False), (["done"], False)],
)
def test_a_stage_must_be_done_though_it_lost_its_machine(
    tmp_path: Path, events: list[str], survived: bool
) -> None:
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", PLAY, *events], stdout=log)
    played: Any = PlayedCluster()
    started = Started(process, tmp_path / "log")

    found = _wait_for_job(["ParseConstituents", "ParseDependencies"], started, played)

    assert found == (("ParseDependencies", 1) if "running" in events else None)
    trial = found and _kill_in(found[0], started, played, found[1], 0.0)
    assert (trial is not None and trial.survived) is survived


@pytest.mark.parametrize(("num_missed", "survived"), [(0, True), (2, True), (9, False)])
def test_a_kill_after_the_job_is_no_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_missed: int, survived: bool
) -> None:
    monkeypatch.setattr(cluster, "LONGEST_SECONDS", 0.0)
    monkeypatch.setattr(cluster, "TRIES", 3)
    run = PlayedRun(tmp_path, tmp_path / "work", tmp_path / "logs")
    made = tmp_path / "work" / "corpora" / f"files-{'0' * 12}" / "dependencies-x"
    made.mkdir(parents=True)
    played: Any = PlayedCluster(num_missed)

    trial, ended = _round(
        run, ["ParseDependencies"], ["ParseDependencies"], played, random.Random(0)
    )

    assert (trial.survived, ended.survived) == (survived, True)
    assert made.exists() is (num_missed == 0)  # to be made, and killed, once more


@on_ray
def test_a_stage_that_loses_a_machine_leaves_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    assert main(["--work", str(tmp_path / "chaos"), "--parts", "cluster", "--quick"]) == 0
