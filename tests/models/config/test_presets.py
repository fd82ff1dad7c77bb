"""The list of trainings known by name."""

from __future__ import annotations

import pytest

from models.config.training_presets import PRESETS
from models.presets import main


def test_every_preset_stands_with_its_views_objective_and_parameters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--word-size", "300"]) == 0

    header, rule, *rows = capsys.readouterr().out.strip().splitlines()
    assert header == "| preset | views | objective | width of a view | trained parameters |"
    assert rule == "| --- | --- | --- | ---: | ---: |"
    assert [row.split(" | ")[0].strip("| ") for row in rows] == list(PRESETS)
    assert "| B-D | SEQ,LIN | discriminative | 2048 | 8,761,345 |" in rows
    assert "| weighted-words | BOW,BOW | contrastive | 300 | 300 + 300 a word |" in rows


def test_a_width_of_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--word-size", "0"])

    assert "--word-size must be at least 1, not 0" in capsys.readouterr().err
