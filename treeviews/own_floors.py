"""Sees to it that ``pipeline``, ``models`` and ``tasks`` are ours, as their names are common."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

_FLOORS = ("pipeline", "models", "tasks")
_FOLDER = Path(__file__).resolve().parents[1]


def check_floors() -> None:
    """Refuses to go on where another package has a floor's name.

    Raises:
        ImportError: names that package and the remedy.
    """
    for name in _FLOORS:
        spec = find_spec(name)
        where = "nowhere" if spec is None else spec.origin or str(spec.submodule_search_locations)
        if Path(where).resolve().parent != _FOLDER / name:
            raise ImportError(
                f"treeviews needs its own package {name!r}, but this program's is {where}: rename "
                "that one, or run Treeviews as a program of its own (the command treeviews)"
            )
