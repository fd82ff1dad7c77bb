"""Which code a run exits with, and what its last lines are, by either command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY
from treeviews.command import main
from treeviews.pipeline.base.job import JobKilledError


def luigi_command(*arguments: str, here: Path) -> subprocess.CompletedProcess[str]:
    command = ["-m", "luigi", "--module", "tasks", "--local-scheduler", *arguments]
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=here,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        check=False,
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "text.txt").write_text("A cat sat here. A dog sat there.\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


SPLIT = ("run", "SplitSentences", "--source", "files", "--paths", "text.txt", "--workers", "1")


@pytest.mark.slow
def test_what_is_done_exits_0(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(SPLIT) == 0
    said = capsys.readouterr().err.splitlines()
    assert " 1 of 1 stages: SplitSentences done in " in said[0]
    assert said[1].startswith("1 stage done in ")
    assert main(SPLIT) == 0
    assert capsys.readouterr().err.startswith("everything was done before\n")


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (OSError(28, "full"), 1, "no space left on the device; free some or write elsewhere"),
        (RuntimeError("the server is down"), 1, "RuntimeError: the server is down"),
        (JobKilledError("a job was ended by SIGKILL"), 1, "a job was ended by SIGKILL"),
        (ValueError("https://user:hunter2@host\nis wrong"), 2, "https://***@host is wrong"),
    ],
)
def test_what_failed_at_work_exits_by_whose_fault_it_is(
    error: Exception,
    code: int,
    told: str,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise error

    monkeypatch.setattr("treeviews.tasks.sentences.CorpusSplit", fail)
    assert main(SPLIT) == code
    *shown, sentence, where = capsys.readouterr().err.splitlines()
    assert len(shown) == 1  # that the stage failed
    assert sentence == f"error: {told}"
    kept = Path(where.removeprefix("traceback: "))
    assert not kept.is_relative_to(here)
    assert "in fail\n" in kept.read_text(encoding="utf-8")
    assert "hunter2" not in kept.read_text(encoding="utf-8")


def test_several_failures_are_told_by_the_first(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(task: object, *arguments: object, **named: object) -> None:
        raise ValueError(f"{type(task).__name__} cannot be")

    monkeypatch.setattr("treeviews.tasks.parsing.ParseStage.fill", fail)
    shared = [*SPLIT[2:], "--views", "DEP,CONST", "--held-out-fraction", "0"]
    assert main(["run", "TrainEncoders", *shared]) == 2
    first, others, where = capsys.readouterr().err.splitlines()[-3:]
    assert first.startswith("error: Parse")
    assert others.startswith("1 more failed, too: Parse")
    assert where.startswith("traceback: ")


def test_luigis_own_command_ends_alike(here: Path) -> None:
    ended = luigi_command(*SPLIT[1:4], "--paths", "nowhere.txt", here=here)
    assert ended.returncode == 2
    assert ended.stderr == "error: nowhere.txt: no such file, folder or match; check the path\n"


def test_what_waits_for_a_file_that_nobody_makes_is_not_done(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = ("--module", "tests.support.small_stages")
    assert main(["run", "MadeOfSupplied", *module, "--folder", str(here)]) == 1
    told = capsys.readouterr().err
    assert "not all was run, as another run holds " in told
    assert "stages done" not in told
