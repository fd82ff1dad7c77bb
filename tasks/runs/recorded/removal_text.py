"""A removal of runs as lines for people and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pipeline.base.foreign_text import printable
from tasks.runs.recorded.removal import Removal
from tasks.runs.words import aligned, size_in_words

_MOST_ALIKE = 3
"""Folders in one place that are listed one by one."""


def removal_lines(removal: Removal) -> list[str]:
    """Returns what goes, with its size, and what stays, with the reason."""
    names = ", ".join(record.name for record in removal.records)
    rows = [(size_in_words(size), printable(path)) for path, size in _grouped(removal.folders)]
    lines = [f"of {names} would go:", *(f"  {row}" for row in aligned(rows, right=(0,)))]
    if not rows:
        lines = [f"of {names} nothing would go but the record"]
    if removal.kept:
        lines.append("stays:")
        reasons = Counter(removal.kept.values())
        for why, count in reasons.items():
            path = next(one for one, reason in removal.kept.items() if reason == why)
            more = f" and {count - 1} more" if count > 1 else ""
            lines.append(f"  {printable(path)}{more}: {printable(why)}")
    return [*lines, f"together {size_in_words(removal.num_bytes)}"]


def removal_facts(removal: Removal) -> dict[str, Any]:
    """Returns the same as JSON knows it."""
    return {
        "runs": [record.name for record in removal.records],
        "folders": removal.folders,
        "kept": removal.kept,
        "bytes": removal.num_bytes,
    }


def _grouped(folders: dict[str, int]) -> list[tuple[str, int]]:
    """Returns folders with their sizes, those of one place together where they are many."""
    places = Counter(path.rpartition("/")[0] for path in folders)
    sizes: dict[str, int] = {}
    for path, size in folders.items():
        place = path.rpartition("/")[0]
        shown = path if places[place] <= _MOST_ALIKE else f"{place}/… ({places[place]} folders)"
        sizes[shown] = sizes.get(shown, 0) + size
    return list(sizes.items())
