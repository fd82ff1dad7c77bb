"""What ships is found from whatever folder a program starts in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.bundled import BUNDLED_PARSERS, BUNDLED_VECTORS, REPOSITORY, shown

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


def test_help_names_folders_as_they_stand_in_the_repository() -> None:
    assert [shown(BUNDLED_PARSERS[stage]) for stage in STAGES] == [
        "data/parsers/dependency",
        "data/parsers/constituency",
    ]
    assert shown(BUNDLED_VECTORS) == "data/vectors/english"
    assert all(path.is_dir() for path in (*BUNDLED_PARSERS.values(), BUNDLED_VECTORS))


@pytest.mark.parametrize("encoder", ["bag_of_words", "random-0"])
def test_a_baseline_is_made_in_another_folder(tmp_path: Path, encoder: str) -> None:
    said = run_in(tmp_path, "-m", "models.encode", encoder, "--output", "out.npy")

    assert "1 sentences, 0 refused" in said
    assert [path.name for path in tmp_path.iterdir()] == ["out.npy"]


def test_tasks_have_the_same_digest_in_another_folder(tmp_path: Path) -> None:
    code = (
        "from tasks.senteval import EvaluateTask\n"
        "print([EvaluateTask(encoder=name).digest for name in ('trained', 'random-0')])"
    )
    assert run_in(tmp_path, "-c", code) == run_in(REPOSITORY, "-c", code)
