"""What a command and its children took, whatever the process that times it is like."""

from __future__ import annotations

import sys

import pytest

from benchmarks.timed_command import timed

MIB = 1 << 20
SIZE = 160 * MIB
GROW = f"held = bytearray(b'x') * {SIZE}"
WORK = "import time\nwhile time.process_time() < 0.4: pass"


def started_by(code: str) -> list[str]:
    """Returns a command whose own child runs the code."""
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}], check=True)"
    return [sys.executable, "-c", parent]


def test_the_time_of_a_commands_children_counts() -> None:
    taken = timed(started_by(WORK))
    assert taken.cpu_seconds >= 0.4
    assert taken.wall_seconds >= 0.4


def test_the_peak_is_that_of_the_largest_process_of_this_command_alone() -> None:
    held = bytearray(b"x") * SIZE  # of the process that times; the kernel hands its peak on
    assert SIZE <= timed(started_by(GROW)).peak_bytes < SIZE + 100 * MIB
    assert timed(started_by("pass")).peak_bytes < SIZE / 2
    assert len(held) == SIZE


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print('out'); raise SystemExit('it broke')", "exited with 1:\n(.|\n)*it broke"),
        ("import os; os.kill(os.getpid(), 15)", "was ended by SIGTERM"),
    ],
)
def test_a_command_that_fails_is_an_error_with_its_output(code: str, said: str) -> None:
    with pytest.raises(RuntimeError, match=said):
        timed([sys.executable, "-c", code])
