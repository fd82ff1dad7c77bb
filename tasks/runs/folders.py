"""Sizes of folders, and whether anything was begun in them, by listing them once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pipeline.base.atomic_files import TEMPORARY_SUFFIX

_NOTHING = (".lock", TEMPORARY_SUFFIX)
"""Ends of names of files that say nothing of work that was done."""


def bytes_below(folder: Path) -> int | None:
    """Returns the bytes of the files in a folder and below; None where there is none.

    A link counts as itself, wherever it leads.
    """
    found = [entry.stat(follow_symlinks=False).st_size for entry in _files(folder)]
    return sum(found) if found else None


def is_begun(folder: Path) -> bool:
    """Returns whether a folder holds anything but locks."""
    return any(not entry.name.endswith(_NOTHING) for entry in _files(folder))


def _files(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """Yields what is no folder; what is gone or closed to us meanwhile is left out."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
            else:
                yield entry
