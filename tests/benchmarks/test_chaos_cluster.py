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
from benchmarks.chaos.parts.cluster import _kill_in
from benchmarks.chaos.tiny_run import Started

PLAY = """
import sys, time
for event in sys.argv[1:]:
    print(f"INFO: Worker Worker(1) {event}   ParseDependencies(a=1)", flush=True)
    time.sleep(0.5)
"""


class PlayedCluster:
    """Always has the job on its first machine."""

    def working(self) -> int:
        return 0

    def kill(self, place: int) -> int:
        return 1 + place


@pytest.mark.parametrize(
    ("events", "survived"),
    [(["running", "done"], True), (["running", "failed"], False), (["done"], False)],
)
def test_a_stage_must_be_done_though_it_lost_its_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: list[str], survived: bool
) -> None:
    monkeypatch.setattr(cluster, "LONGEST_SECONDS", 0.0)
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", PLAY, *events], stdout=log)
    played: Any = PlayedCluster()

    trial = _kill_in(
        "ParseDependencies", Started(process, tmp_path / "log"), played, random.Random(0)
    )

    assert trial.survived is survived


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_stage_that_loses_a_machine_leaves_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    assert main(["--work", str(tmp_path / "chaos"), "--parts", "cluster", "--quick"]) == 0
