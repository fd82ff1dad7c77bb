"""What a run shows, on terminals and in logs, whatever ends it."""

from __future__ import annotations

import fcntl
import logging
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY
from tests.support.small_stages import MadeOfParts
from treeviews.pipeline.base.job import Rated
from treeviews.tasks import run, run_display

MODULE = ("--module", "tests.support.small_stages")
STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d "


HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_SIZES = ("COLUMNS", "LINES")
"""Of another terminal: libraries take them before they ask this one."""
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Seen:
    """What a program wrote to its terminal, and how it ended."""

    code: int
    raw: str

    @property
    def lines(self) -> list[str]:
        """Every line that was ever drawn, without what moves the cursor or sets colours."""
        return [line for line in re.split(r"[\r\n]+", _ESCAPE.sub("", self.raw)) if line.strip()]

    @property
    def cursor_is_visible(self) -> bool:
        """Whether it is when all is over."""
        return self.raw.rfind(SHOW_CURSOR) >= self.raw.rfind(HIDE_CURSOR)


def seen_on_terminal(
    command: Sequence[str],
    *,
    columns: int,
    signal_at: tuple[str, signal.Signals] | None = None,
) -> Seen:
    """Runs a program on a terminal.

    Args:
        signal_at: text at whose appearance a signal is sent to the program's group, as Ctrl-C is.
    """
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    inherited = {name: value for name, value in os.environ.items() if name not in _SIZES}
    with subprocess.Popen(
        command,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=inherited | {"TERM": "xterm-256color", "PYTHONPATH": str(REPOSITORY)},
        start_new_session=True,
        # A suite that runs in the background may have been started with Ctrl-C ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        os.close(terminal)
        content, is_sent = b"", signal_at is None
        while True:
            try:
                found = os.read(reader, 65536)
            except OSError:  # nobody has the terminal any more
                break
            if not found:
                break
            content += found
            if not is_sent and signal_at is not None and signal_at[0].encode() in content:
                os.killpg(process.pid, signal_at[1])
                is_sent = True
    os.close(reader)
    return Seen(process.returncode, content.decode("utf-8", "replace"))


def command(folder: Path, *arguments: str) -> list[str]:
    run_whole = [sys.executable, "-m", "treeviews", "run", "WholeRun", *MODULE]
    return [*run_whole, "--folder", str(folder), *arguments]


def in_log(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, *arguments),
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        check=False,
    )


@pytest.mark.slow
def test_a_log_has_a_line_a_stage_and_the_result_last(tmp_path: Path) -> None:
    ended = in_log(tmp_path, "--workers", "2")
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
@pytest.mark.parametrize(("workers", "columns"), [("1", 40), ("2", 80)])
def test_a_terminal_shows_bars_with_rates_and_is_given_back(
    tmp_path: Path, workers: str, columns: int
) -> None:
    seen = seen_on_terminal(
        command(tmp_path, "--seconds", "0.9", "--workers", workers), columns=columns
    )
    assert seen.code == 0
    assert seen.cursor_is_visible
    drawn = [line for line in seen.lines if line.rstrip()[-7:-4] == "0:0"]
    assert drawn and max(map(len, drawn)) <= columns
    assert sum("a library says something" in line for line in seen.lines) == 2
    assert seen.lines[-1] == "The result is 42."
    if columns == 80:
        assert any(line.startswith("MadeOfParts ") and " sentences/s" in line for line in drawn)
        assert seen.lines[-2].startswith("all 3 stages done in ")


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_who_interrupts_a_run_is_told_how_to_go_on(tmp_path: Path, sent: signal.Signals) -> None:
    seen = seen_on_terminal(
        command(tmp_path, "--seconds", "60"), columns=400, signal_at=("MadeOf", sent)
    )
    assert seen.code == 1
    assert seen.cursor_is_visible
    first, last = seen.lines[-2:]
    assert first == "error: interrupted; what is complete is kept"
    assert last.startswith("resume with: python -m treeviews run WholeRun --module ")
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
    assert last.startswith("resume with: python -m treeviews ")
    assert f"--folder '{named}' --fails --workers 1" in last


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[run.Run]:
    """A run of one stage that is on."""
    begun = run.begin_run(MadeOfParts(folder=tmp_path))
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
