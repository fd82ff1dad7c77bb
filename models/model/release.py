"""What a model is made with: the release of this project, its commit, what it stands on."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@cache
def current_commit() -> str | None:
    """Returns the commit of the working tree this code runs from, or None outside of git.

    A tree with changes that are in no commit has ``-dirty`` behind it. A repository that the code
    only happens to lie in, such as one around a virtual environment, does not count.
    """
    here = Path(__file__).resolve()
    git = ["git", "-C", str(here.parent)]
    try:
        is_ours = [*git, "ls-files", "--error-unmatch", here.name]
        subprocess.run(is_ours, capture_output=True, check=True)
        command = [*git, "describe", "--always", "--dirty", "--abbrev=12"]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.strip() or None


def current_version() -> str:
    """Returns the installed release, or ``unknown`` where none is installed."""
    try:
        return version("treeviews")
    except PackageNotFoundError:
        return "unknown"


def made_with() -> dict[str, str]:
    """Returns what a model is made with: releases, and the commit where there is one."""
    commit = current_commit()
    return {
        "treeviews": current_version(),
        **({"commit": commit} if commit else {}),
        "python": platform.python_version(),
        "torch": version("torch"),
    }
