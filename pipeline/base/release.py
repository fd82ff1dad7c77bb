"""Which release of this project runs, and from which commit."""

from __future__ import annotations

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
        known = subprocess.run([*git, "ls-files", "--error-unmatch", here.name], capture_output=True)
        if known.returncode:
            return None
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
