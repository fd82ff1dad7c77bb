"""A wheel of this repository in an environment that has nothing else of it."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY


@dataclass(frozen=True, slots=True)
class Installation:
    """An environment with the wheel, and the libraries of the one that runs the tests."""

    folder: Path
    wheel: Path

    def run(self, where: Path, *command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Runs a command of the environment in a folder, as somebody who knows no repository.

        Args:
            code: the exit code that it must have.
        """
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        program, *arguments = command
        done = subprocess.run(
            [str(self.folder / "bin" / program), *arguments],
            cwd=where,
            env=environment | {"OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
        return done


def install_wheel(folder: Path) -> Installation:
    """Builds the wheel and installs it into a new environment below a folder, without an index."""
    pytest.importorskip("hatchling", reason="builds the wheel: pip install hatchling")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    how = ("--quiet", "--no-deps", "--no-index")
    subprocess.run(
        [*pip, "wheel", *how, "--no-build-isolation", "--wheel-dir", str(folder), str(REPOSITORY)],
        check=True,
    )
    (wheel,) = folder.glob("treeviews-*.whl")
    new = folder / "environment"
    venv.create(new)
    (libraries,) = new.glob("lib/python*/site-packages")
    # Their own .pth files are not read there, so an editable installation does not come along.
    theirs = [place for place in sys.path if Path(place).name == "site-packages"]
    (libraries / "libraries.pth").write_text("\n".join(theirs) + "\n", encoding="utf-8")
    python = ("--python", str(new / "bin" / "python"))
    subprocess.run([*pip, *python, "install", *how, str(wheel)], check=True)
    return Installation(new, wheel)
