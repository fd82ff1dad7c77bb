"""`import treeviews` in a program whose own folder has packages of our floors' names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY


def run_script(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Runs a script that lies in a folder, which Python therefore looks into first."""
    (folder / "script.py").write_text(code, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "script.py"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("code", ["import treeviews", "import models\nimport treeviews"])
def test_another_package_of_such_a_name_is_an_error(tmp_path: Path, code: str) -> None:
    theirs = tmp_path / "models" / "__init__.py"
    theirs.parent.mkdir()
    theirs.touch()
    done = run_script(tmp_path, code)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        f"ImportError: treeviews needs its own package 'models', but this program's is {theirs}: "
    )


def test_a_plain_folder_of_that_name_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    done = run_script(tmp_path, "import treeviews.models.encoders, treeviews")
    assert done.returncode == 0, done.stderr
