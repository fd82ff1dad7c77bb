"""What of a stage stands, by one listing of its folder: no manifest is read."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_DIGITS = 5


def num_listed(folder: Path) -> int:
    """Returns how many shards have their rows and their manifest; 0 where there is no folder."""
    rows: set[str] = set()
    manifests: set[str] = set()
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            stem, _, suffix = entry.name.partition(".")
            if len(stem) == _DIGITS and stem.isdigit():
                {"parquet": rows, "json": manifests}.get(suffix, set()).add(stem)
    return len(rows & manifests)
