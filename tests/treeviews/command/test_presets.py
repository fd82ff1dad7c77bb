"""The list of trainings known by name."""

from __future__ import annotations

import json

import pytest

from tests.support.command import subcommand
from treeviews.models.config.training_presets import PRESETS

main = subcommand("presets")


def test_every_preset_stands_with_its_views_objective_and_parameters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--word-size", "300"]) == 0

    _, _, *rows = capsys.readouterr().out.strip().splitlines()
    assert [row.split(" | ")[0].strip("| ") for row in rows] == list(PRESETS)
    assert "| B-D | SEQ,LIN | discriminative | 2048 | 8,761,345 |" in rows
    assert "| weighted-words | BOW,BOW | contrastive | 300 | 300 + 300 a word |" in rows


def test_presets_are_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json"]) == 0
    found = {one["preset"]: one for one in json.loads(capsys.readouterr().out)}
    assert list(found) == list(PRESETS)
    assert found["B-D"]["views"] == ["SEQ", "LIN"]
    assert found["B-D"]["config"] == PRESETS["B-D"].to_dict()
