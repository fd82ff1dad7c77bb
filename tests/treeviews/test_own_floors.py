"""`import treeviews` in a program whose own folder has packages of our floors' names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY

USES_TREEVIEWS = """
import treeviews, models, pipeline.base.bundled, tasks
print(models.__file__, pipeline.__file__, tasks.__file__, treeviews.load.__module__)
"""


def package(folder: Path, *names: str) -> Path:
    """Writes packages that say who was imported, and returns their folder."""
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"print('their {name}')\n", encoding="utf-8")
    return folder


def run_script(
    folder: Path, code: str, *options: str, python_path: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs a script that lies in a folder, which Python therefore looks into first."""
    (folder / "script.py").write_text(code, encoding="utf-8")
    return subprocess.run(
        [sys.executable, *options, "script.py"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{python_path}:{REPOSITORY}".lstrip(":")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("names", [("models",), ("pipeline", "tasks"), ("models", "pipeline")])
def test_ours_come_first_and_a_sentence_names_both(tmp_path: Path, names: tuple[str, ...]) -> None:
    done = run_script(package(tmp_path, *names), USES_TREEVIEWS)

    assert done.returncode == 0, done.stderr
    floors = [str(REPOSITORY / name / "__init__.py") for name in ("models", "pipeline", "tasks")]
    assert done.stdout.split()[:3] == floors
    warned = [line for line in done.stderr.splitlines() if "UserWarning" in line]
    assert len(warned) == len(names)
    for name, line in zip(sorted(names), sorted(warned), strict=True):
        assert line.startswith(
            f"{tmp_path / 'script.py'}:2: UserWarning: `import {name}` now gives"
        )
        assert str(REPOSITORY / name) in line
        assert str(tmp_path / name / "__init__.py") in line


def test_a_package_of_python_path_is_hidden_too(tmp_path: Path) -> None:
    theirs = package(tmp_path / "theirs", "models")

    done = run_script(tmp_path, USES_TREEVIEWS, python_path=str(theirs))

    assert done.returncode == 0, done.stderr
    assert str(theirs / "models") in done.stderr


def test_a_package_that_is_loaded_already_is_an_error(tmp_path: Path) -> None:
    done = run_script(package(tmp_path, "models"), "import models\nimport treeviews\n")

    theirs = tmp_path / "models" / "__init__.py"
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: treeviews needs its own package 'models', but this program has loaded "
        f"another from {theirs}: rename that one, or run Treeviews as a program of its own (the "
        "command treeviews)"
    )


def test_a_plain_folder_of_that_name_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "english.bin").write_bytes(b"")

    done = run_script(tmp_path, USES_TREEVIEWS, "-W", "error::UserWarning")

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_our_floors_may_be_loaded_before(tmp_path: Path) -> None:
    done = run_script(tmp_path, "import models\n" + USES_TREEVIEWS, "-W", "error::UserWarning")

    assert done.returncode == 0, done.stderr


def test_luigi_finds_our_floors_in_such_a_folder(tmp_path: Path) -> None:
    """Python looks there first, and `tasks` is all that Luigi is told of."""
    done = subprocess.run(
        [sys.executable, "-m", "luigi", "--module", "tasks", "SplitSentences", "--help"],
        cwd=package(tmp_path, "models", "treeviews"),
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{REPOSITORY}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "--work-folder" in done.stdout
