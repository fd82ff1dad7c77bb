"""Which versions of what a run used."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("treeviews", "torch", "numpy", "pyarrow", "luigi", "spacy", "supar", "benepar")


def installed_versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Returns the version of Python and of each package, ``not installed`` where it is absent."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
