"""The command as a whole: help, completion, JSON, how soon it is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.support.repository import REPOSITORY
from treeviews import tasks
from treeviews.command import main
from treeviews.pipeline.base.bundled import BUNDLED_MODELS

SUBCOMMANDS = ("run", "encode", "evaluate", "compare", "inspect", "models", "data")


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out)


def test_help_names_every_subcommand_and_the_exit_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert [name for name in SUBCOMMANDS if f" {name} " not in said] == []
    assert "0 done, 1 the work failed, 2 the command is wrong" in said


@pytest.mark.parametrize("group", ["", "data", "inspect", "models", "vectors", "vocabulary"])
def test_help_cuts_no_description(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*filter(None, [group]), "--help"]) == 0
    _, _, commands = capsys.readouterr().out.partition("Commands:")
    assert commands and "..." not in commands


def test_help_loads_no_heavy_library() -> None:
    code = (
        "import sys; from treeviews.command import main; code = main(['--help']); "
        "heavy = [m for m in ('torch', 'luigi', 'spacy') if m in sys.modules]; "
        "sys.exit(code or heavy or 0)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def test_help_of_run_names_every_stage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help"]) == 0
    said = capsys.readouterr().out
    assert [name for name in tasks.__all__ if f"  {name} " not in said] == []


def test_help_of_a_stage_groups_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "TrainEncoders", "--help"]) == 0
    said = capsys.readouterr().out
    text, training = (
        said.index("Text and sentence splitting:"),
        said.index("Training: a preset"),
    )
    machine = said.index("Settings that change no result:")
    assert text < said.index("--source") < training < said.index("--preset") < machine
    assert machine < said.index("--threads")
    assert "[default: python-docs]" in " ".join(said.split())
    for name, _ in tasks.TrainEncoders.get_params():
        assert f"--{name.replace('_', '-')} " in said


def test_what_ships_is_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    listed = json_of(capsys, "evaluate", "--list", "--json")
    assert {"MR", "STS14"} <= {one["name"] for one in listed}
    shown = json_of(capsys, "models", "show", "english-trees", "--json")
    assert shown["needs"] == ["dependencies", "constituents"]
    assert shown["path"] == str(BUNDLED_MODELS["english-trees"])
    assert shown["card"].startswith("# english-trees")


def test_who_reads_no_further_hears_of_no_error() -> None:
    reads, writes = os.pipe()
    os.close(reads)
    ended = subprocess.run(
        [sys.executable, "-m", "treeviews", "evaluate", "--list"],
        cwd=REPOSITORY,
        stdout=writes,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writes)
    assert (ended.returncode, ended.stderr) == (1, b"")
