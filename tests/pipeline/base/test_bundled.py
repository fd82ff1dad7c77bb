"""What ships is found from whatever folder a program starts in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS, parser_folder
from treeviews.tasks.senteval import EvaluateTask

STAGES = ("dependencies", "constituents")


def run_in(folder: Path, *arguments: str) -> str:
    """Runs Python in a folder, with the repository on its path; returns what it prints."""
    found = subprocess.run(
        [sys.executable, *arguments],
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        input="It rains.\n",
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout + found.stderr


def test_a_parser_is_found_by_name_unless_a_folder_of_that_name_is_a_parser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dependency").mkdir()
    assert parser_folder("dependency") == BUNDLED_PARSERS["dependencies"]
    assert parser_folder("constituency") == BUNDLED_PARSERS["constituents"]
    assert parser_folder("other") == Path("other")
    (tmp_path / "dependency" / "parser.json").touch()
    assert parser_folder("dependency") == Path("dependency")


@pytest.mark.slow
def test_parsers_and_vectors_are_found_from_another_folder(tmp_path: Path) -> None:
    said = run_in(tmp_path, "-m", "treeviews", "encode", "random-0", "--output", "out.npy")

    assert "1 sentences, 0 refused" in said
    assert [path.name for path in tmp_path.iterdir()] == ["out.npy"]


@pytest.mark.slow
def test_tasks_have_the_same_digest_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(REPOSITORY)
    names = ("trained", "random-0")
    here = [EvaluateTask(encoder=name).digest for name in names]
    code = (
        "from treeviews.tasks.senteval import EvaluateTask\n"
        f"print([EvaluateTask(encoder=name).digest for name in {names}])"
    )

    assert run_in(tmp_path, "-c", code).splitlines()[0] == str(here)
