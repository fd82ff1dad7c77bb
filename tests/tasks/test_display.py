"""What a run shows, on terminals and in logs, whatever ends it."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY
from tests.support.shown_stages import MadeAlone, MadeOfParts
from tests.support.terminal import Seen, seen_on_terminal
from treeviews.pipeline.base.job import Rated
from treeviews.tasks import run, run_display

MODULE = ("--module", "tests.support.shown_stages", "--local-scheduler")
STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d "


def command(folder: Path, *arguments: str) -> list[str]:
    asked = [sys.executable, "-m", "luigi", *MODULE, "WholeRun", "--folder", str(folder)]
    return [*asked, *arguments]


def on_terminal(
    folder: Path,
    *arguments: str,
    columns: int = 80,
    signal_at: tuple[str, signal.Signals] | None = None,
    **environment: str,
) -> Seen:
    return seen_on_terminal(
        command(folder, *arguments),
        {"PYTHONPATH": str(REPOSITORY), **environment},
        columns=columns,
        signal_at=signal_at,
    )


def in_log(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, *arguments),
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_log_has_a_line_a_stage_and_the_result_last(tmp_path: Path, workers: str) -> None:
    ended = in_log(tmp_path, "--workers", workers)
    assert ended.returncode == 0
    stages = [line for line in ended.stderr.splitlines() if re.match(STAMP, line)]
    said = [re.sub(r" in \d+ s", "", re.sub(STAMP, "", line)) for line in stages]
    assert said[0] == "1 of 3 stages: MadeOfParts done"
    assert {line.partition(": ")[2] for line in said[1:]} == {
        "MadeAlone (about left) done",
        "MadeAlone (about right) done",
    }
    assert "scheduler" not in ended.stderr
    assert ended.stderr.splitlines()[-1] == "The result is 42."
    assert "a library says something" in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_terminal_shows_bars_with_rates_and_is_given_back(tmp_path: Path, workers: str) -> None:
    seen = on_terminal(tmp_path, "--seconds", "0.9", "--workers", workers)
    assert seen.code == 0
    assert seen.cursor_is_visible
    assert any(line.startswith("MadeOfParts ") and " sentences/s" in line for line in seen.lines)
    assert any(line.startswith("0 of 3 stages ") for line in seen.lines)
    assert max(map(len, seen.lines)) <= 80
    assert (
        sum(line.startswith("MadeAlone (about ") and " done in" in line for line in seen.lines) == 2
    )
    assert sum("a library says something" in line for line in seen.lines) == 2
    assert seen.lines[-2].startswith("all 3 stages done in ")
    assert seen.lines[-1] == "The result is 42."


@pytest.mark.slow
def test_a_narrow_terminal_without_colours_has_no_line_that_breaks(tmp_path: Path) -> None:
    seen = on_terminal(tmp_path, "--seconds", "0.6", columns=40, NO_COLOR="1")
    drawn = [line for line in seen.lines if line.rstrip()[-7:-4] == "0:0"]
    assert drawn
    assert max(map(len, drawn)) <= 40
    assert re.search(r"\x1b\[(?:\d+;)*(?:3[0-7]|9[0-7])m", seen.raw) is None


@pytest.mark.slow
def test_a_terminal_that_cannot_move_its_cursor_gets_a_log(tmp_path: Path) -> None:
    seen = on_terminal(tmp_path, TERM="dumb")
    assert seen.code == 0
    assert "\x1b" not in seen.raw
    assert any(re.match(STAMP + "1 of 3 stages: ", line) for line in seen.lines)


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_who_interrupts_a_run_is_told_how_to_go_on(tmp_path: Path, sent: signal.Signals) -> None:
    seen = on_terminal(tmp_path, "--seconds", "60", columns=400, signal_at=("MadeOf", sent))
    assert seen.code == -signal.SIGINT
    assert seen.cursor_is_visible
    first, last = seen.lines[-2:]
    assert first == "error: interrupted; what is complete is kept"
    assert last.startswith("go on with: python -m luigi --module tests.support.shown_stages ")
    assert "Traceback" not in seen.raw


@pytest.mark.slow
def test_a_failed_run_ends_with_the_cause_and_the_command(tmp_path: Path) -> None:
    (tmp_path / "it's here").mkdir()
    ended = in_log(tmp_path / "it's here", "--fails", "--workers", "1")
    assert ended.returncode == 1
    assert ended.stdout == ""
    cause, where, last = ended.stderr.splitlines()[-3:]
    assert cause == "error: RuntimeError: the wheel came off; put it on"
    assert where.startswith("traceback: ")
    named = str(tmp_path / "it'\"'\"'s here")
    assert last.startswith("go on with: python -m luigi ")
    assert f"--folder '{named}' --fails --workers 1" in last


@pytest.mark.slow
def test_a_run_whose_log_nobody_reads_goes_on(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "luigi", *MODULE, "MadeOfParts", "--folder", str(tmp_path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
    ) as process:
        assert process.stderr is not None
        process.stderr.close()
        assert process.wait() == 0
    assert (tmp_path / "MadeOfParts").exists()


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[run.Run]:
    """A run of one stage that is on."""
    begun = run.begin_run()
    begun.plan(MadeOfParts(folder=tmp_path))
    begun.begins(MadeOfParts(folder=tmp_path).task_id)
    yield begun
    begun.is_interrupted = True  # of which nothing is said at its end
    begun.finish()


def test_a_log_says_each_minute_how_far_and_how_fast_a_stage_is(
    begun: run.Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stage = MadeOfParts(folder=tmp_path)
    if (child := os.fork()) == 0:
        run.report(stage.task_id, 0.5, Rated("3 of 6 sentences", 7.5))
        os._exit(0)
    os.waitpid(child, 0)
    monkeypatch.setattr(run_display, "SECONDS_BETWEEN_LINES", 0.0)
    begun.look()

    last = capsys.readouterr().err.splitlines()[-1]
    assert re.fullmatch(STAMP + "0 of 1 stages: MadeOfParts 50 % 7.5 sentences/s", last)


def test_nobody_waits_for_who_does_not_read(begun: run.Run, tmp_path: Path) -> None:
    with begun.lock:
        for _ in range(5_000):
            run.report(MadeOfParts(folder=tmp_path).task_id, 0.5, "\N{SNOWMAN}" * 10_000)


def test_messages_of_ours_are_shown_and_none_of_luigis(
    begun: run.Run, capsys: pytest.CaptureFixture[str]
) -> None:
    logger = logging.getLogger("luigi-interface")
    logger.warning("the wheel is loose")
    record = logger.makeRecord("luigi", logging.INFO, "/lib/luigi/worker.py", 1, "Done", (), None)
    logger.handle(record)
    begun.look()

    assert re.fullmatch(STAMP + "warning: the wheel is loose\n", capsys.readouterr().err)


def test_stages_of_one_name_are_told_apart(tmp_path: Path) -> None:
    left, right = (MadeAlone(folder=tmp_path, about=about) for about in ("left", "right"))
    alone = MadeOfParts(folder=tmp_path)

    said = run_display.told_apart([left, right, alone])

    assert said == {left: "about left", right: "about right", alone: ""}
