"""Sees to it that ``pipeline``, ``models`` and ``tasks`` are ours, whoever else has such packages.

The names of the floors are common ones: a program's own folder may have a package ``models``, and
Python finds that first.
"""

from __future__ import annotations

import sys
import warnings
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

FLOORS = ("pipeline", "models", "tasks")
_FOLDER = Path(__file__).resolve().parents[1]


def claim_floors() -> None:
    """Has this process import our floors from now on; warns where that hides another package.

    Raises:
        ImportError: another package of such a name is loaded already.
    """
    for name in FLOORS:
        if name in sys.modules:
            _refuse_foreign(name)
        else:
            _warn_of_hidden(name)
    if "pipeline" not in sys.modules:
        _load_first_floor()


def _refuse_foreign(name: str) -> None:
    loaded = getattr(sys.modules[name], "__file__", None)
    if loaded is None or not _is_ours(name, loaded):
        where = loaded or ", ".join(getattr(sys.modules[name], "__path__", ())) or "nowhere"
        raise ImportError(
            f"treeviews needs its own package {name!r}, but this program has loaded another from "
            f"{where}: rename that one, or run Treeviews as a program of its own (the command "
            "treeviews)"
        )


def _warn_of_hidden(name: str) -> None:
    found = PathFinder.find_spec(name)
    if found is None or found.origin is None or _is_ours(name, found.origin):
        return  # a folder without __init__.py has no origin, and comes after any package
    warnings.warn(
        f"`import {name}` now gives Treeviews' package in {_FOLDER / name}, and no longer "
        f"{found.origin}: rename that one if this program needs it",
        stacklevel=4,
    )


def _is_ours(name: str, file: str) -> bool:
    return Path(file).resolve().parent == _FOLDER / name


def _load_first_floor() -> None:
    """Imports ``pipeline`` from beside this package; it has the others found beside it, too."""
    spec = PathFinder.find_spec("pipeline", [str(_FOLDER)])
    assert spec is not None and spec.loader is not None, f"no pipeline/ in {_FOLDER}"
    sys.modules["pipeline"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["pipeline"])
