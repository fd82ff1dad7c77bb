"""What a run shows, on terminals and in logs, whatever ends it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.display import shown_run
from tests.support.repository import REPOSITORY
from tests.support.terminal import Seen, seen_on_terminal

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
    stages = [line for line in ended.stderr.splitlines() if re.match(STAMP + "stage", line)]
    told = [re.sub(r" in \d+ s", "", re.sub(STAMP, "", line)) for line in stages]
    assert told[:2] == ["stage 1 of 3 begins: MadeOfParts", "stage 1 of 3 done: MadeOfParts"]
    assert sorted(line.rpartition(": ")[0] for line in told[2:]) == [
        *("stage 2 of 3 begins", "stage 2 of 3 done", "stage 3 of 3 begins", "stage 3 of 3 done")
    ]
    names = {line.rpartition(": ")[2] for line in told[2:]}
    assert names == {"MadeAlone (about left)", "MadeAlone (about right)"}
    assert "scheduler" not in ended.stderr
    assert max(map(len, stages)) <= 120
    assert ended.stderr.splitlines()[-1] == "The result is 42."
    assert "a library says something" in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_terminal_shows_stages_in_place_and_is_given_back(tmp_path: Path, workers: str) -> None:
    seen = on_terminal(tmp_path, "--seconds", "0.6", "--workers", workers)
    assert seen.code == 0
    assert seen.cursor_is_visible
    assert any(line.startswith("1/3 MadeOfParts") and " words/s" in line for line in seen.lines)
    assert any(re.match("0 of 3 stages done, . s so far", line) for line in seen.lines)
    assert max(map(len, seen.lines)) <= 80
    assert sum(line.startswith("✓ MadeAlone") for line in seen.lines) >= 2
    assert sum("a library says something" in line for line in seen.lines) == 2
    assert seen.lines[-2:] == [
        next(line for line in seen.lines if line.startswith("all 3 stages done in ")),
        "The result is 42.",
    ]


@pytest.mark.slow
def test_a_narrow_terminal_has_no_line_that_breaks(tmp_path: Path) -> None:
    seen = on_terminal(tmp_path, "--seconds", "0.6", columns=40)
    drawn = [line for line in seen.lines if re.match(r"\d+/3 |\d of 3 stages", line)]
    assert drawn
    assert max(map(len, drawn)) <= 40


@pytest.mark.slow
def test_markup_in_a_status_shows_itself(tmp_path: Path) -> None:
    seen = on_terminal(tmp_path, "--seconds", "0.8", "--workers", "1", columns=200)
    assert not any("\x1b[31m" in part for part in seen.raw.split("[red]")[1:])
    assert "of 10 words" not in seen.raw or "[red]" in seen.raw


@pytest.mark.slow
def test_no_colour_is_shown_where_none_is_wanted(tmp_path: Path) -> None:
    seen = on_terminal(tmp_path, "--seconds", "0.4", NO_COLOR="1")
    assert seen.code == 0
    assert re.search(r"\x1b\[(?:\d+;)*(?:3[0-7]|9[0-7])m", seen.raw) is None


@pytest.mark.slow
def test_a_terminal_that_cannot_move_its_cursor_gets_a_log(tmp_path: Path) -> None:
    seen = on_terminal(tmp_path, TERM="dumb")
    assert seen.code == 0
    assert "\x1b" not in seen.raw
    assert re.match(STAMP + "stage 1 of 3 begins", seen.lines[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "code", "told"),
    [
        (signal.SIGINT, -signal.SIGINT, "error: interrupted; what is complete is kept"),
        (signal.SIGTERM, -signal.SIGTERM, "error: ended by SIGTERM; what is complete is kept"),
    ],
)
@pytest.mark.parametrize("workers", ["1", "2"])
def test_who_interrupts_a_run_is_told_how_to_go_on(
    tmp_path: Path, sent: signal.Signals, code: int, told: str, workers: str
) -> None:
    seen = on_terminal(
        tmp_path, "--seconds", "60", "--workers", workers, columns=400, signal_at=("1/3", sent)
    )
    assert seen.code == code
    assert seen.cursor_is_visible
    first, last = seen.lines[-2:]
    assert first == told
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
    shown = str(tmp_path / "it'\"'\"'s here")
    assert last.startswith("go on with: python -m luigi ")
    assert f"--folder '{shown}' --fails --workers 1" in last


def test_a_run_whose_log_nobody_reads_goes_on(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "luigi", *MODULE, "MadeOfParts", "--folder", str(tmp_path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.stderr.close()
        assert process.wait() == 0
    assert (tmp_path / "MadeOfParts").exists()


def test_who_wants_luigis_talk_gets_it(tmp_path: Path) -> None:
    ended = in_log(tmp_path, "--log-level", "DEBUG")
    assert ended.returncode == 0
    assert "Informed scheduler that task" in ended.stderr


def test_who_interrupts_luigis_talk_is_told_how_to_go_on(tmp_path: Path) -> None:
    seen = on_terminal(
        tmp_path,
        *("--seconds", "60", "--workers", "1", "--log-level", "DEBUG"),
        columns=400,
        signal_at=(" running   ", signal.SIGTERM),
    )
    assert seen.code == -signal.SIGTERM
    assert any(line.startswith("go on with: python -m luigi ") for line in seen.lines)


def test_who_waits_for_the_first_stage_is_told_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shown_run, "_LONG_LOOK", 0.0)
    with shown_run.shown() as display:
        display._looks.join()
    assert capsys.readouterr().err.endswith(" looking at what is there\n")
    monkeypatch.setattr(shown_run, "_LONG_LOOK", 60.0)
    with shown_run.shown():
        pass
    assert capsys.readouterr().err == ""


LATE = """
import sys, time
from luigi.cmdline import luigi_run
from tasks.display.screen import Screen
from tests.support.shown_stages import MadeAlone

def draw(screen):
    if time.monotonic() > failing_from:
        raise RuntimeError("the wheel came off")
    return drawn(screen)

def work(task):
    for step in range(20_000):
        sys.stderr.write(f"\\rstep {step}")
    sys.stderr.flush()
    time.sleep(1.5)
    sys.stderr.write(", the last one\\nhere comes more\\n")
    sys.stderr.flush()
    task._done()

drawn, Screen._lines = Screen._lines, draw
MadeAlone.run, MadeAlone.requires = work, lambda task: []
failing_from = time.monotonic() + float(sys.argv.pop())
luigi_run(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.parametrize(("fails_after", "is_told"), [("0.7", True), ("60", False)])
def test_what_cannot_be_shown_holds_up_no_stage(
    tmp_path: Path, fails_after: str, is_told: bool
) -> None:
    asked = ["MadeAlone", "--folder", str(tmp_path), "--workers", "2", "--local-scheduler"]
    seen = seen_on_terminal(
        [sys.executable, "-c", LATE, *asked, fails_after], {"PYTHONPATH": str(REPOSITORY)}
    )
    assert seen.code == 0
    assert seen.cursor_is_visible
    assert ("the run goes on, but cannot be shown" in seen.raw) == is_told
    assert "step 19999, the last one" in seen.lines
    assert "here comes more" in seen.lines
    assert not any(line.startswith("step 7 ") for line in seen.lines)
    assert (tmp_path / "alone-").exists()
