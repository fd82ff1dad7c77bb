"""Kills at random moments: a real stage, and runs that do not go on as they should."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.chaos.__main__ import main
from benchmarks.chaos.parts import kills
from benchmarks.chaos.parts.kills import WAYS, Kill, _Killer
from benchmarks.chaos.tiny_run import Process, Stage, Started, TinyRun, descendants

STAGE = Stage("Slow", "slow", "done", root=("Slow",))
PLAY = """
import sys, time
from pathlib import Path

folder = Path(sys.argv[1]) / "slow"
def say(event):
    print(f"INFO: Worker Worker(1) {event}   Slow(a=1)", flush=True)
say("running")
if folder.exists() and sys.argv[2] == "breaks":
    sys.exit("ValueError: it does not go on")
folder.mkdir(parents=True, exist_ok=True)
time.sleep(0.5)
(folder / "done").touch()
say("done")
"""


class PlayedRun(TinyRun):
    """Luigi's log, played by a script."""

    def command(self, root: object) -> list[str]:
        del root
        return [sys.executable, "-c", PLAY, str(self.work), *self.more]


def killed(folder: Path, more: str) -> tuple[_Killer, list[bool]]:
    run = PlayedRun(folder, folder / "work", folder / "logs", (more,))
    killer = _Killer(run, {"Slow": 0.3}, random.Random(0))
    survived = [trial.survived for trial in killer.kill(STAGE, len(WAYS))]
    survived += [trial.survived for trial in killer.finish([STAGE.root])]
    return killer, survived


def test_a_run_that_goes_on_survives_its_kills(tmp_path: Path) -> None:
    killer, survived = killed(tmp_path, "goes-on")

    assert survived == [True] * (len(WAYS) + 1)
    # The script has no child: its parent is killed instead.
    assert [kill.way for kill in killer.kills] == ["group", "parent", "parent"]
    assert all(kill.stages == ("Slow",) for kill in killer.kills)


def test_a_run_that_does_not_go_on_is_seen(tmp_path: Path) -> None:
    killer, survived = killed(tmp_path, "breaks")

    assert killer.kills
    assert not any(survived)


def test_what_runs_on_without_its_parent_is_seen_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kills, "ORPHAN_SECONDS", 0.2)
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (left,) = [p for p in descendants_of_this_test() if p.number == sleeper.pid]
    struck = Started(sleeper, Path())  # type: ignore[arg-type]

    trial = Kill(1, "parent", ("Slow",), struck, left=[left]).trial()

    assert not trial.survived
    assert "ran on for" in trial.outcome
    assert sleeper.wait() < 0


def descendants_of_this_test() -> list[Process]:
    import os

    return descendants(os.getpid())


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_stage_killed_in_every_way_leaves_the_same_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--work", str(tmp_path / "chaos"), "--parts", "kills", "--quick"]) == 0
    assert "| SplitSentences         |     1 |     1 |      1 |" in capsys.readouterr().out
