"""A run as a log shows it."""

from __future__ import annotations

import pytest

from tasks.display.log_lines import LONGEST_LINE, LogLines
from tasks.display.stages import Stages


def test_a_log_has_one_short_line_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    stages = Stages(lambda: now[0])
    for number in range(9):
        stages.plan(f"stage-{number}", f"AStageWithALongName{number}")
        stages.begin(f"stage-{number}")
        stages.progress(f"stage-{number}", 0.1, "working at something")
    view = LogLines(stages, lambda: 2)
    for second in range(0, 150, 5):
        now[0] = second
        view.tick()
    first, second_line = capsys.readouterr().err.splitlines()
    for line in (first, second_line):
        assert len(line) <= LONGEST_LINE
        assert "0 of 9 stages done, " in line
        assert "AStageWithALongName0 10 %" in line
        assert line.endswith("…")
