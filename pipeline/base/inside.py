"""Names of files that a folder's own JSON gives: they may lead into the folder and nowhere else."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from treeviews.pipeline.base.refusal import shortened


def inside(folder: Path, name: Any) -> Path:
    """Returns the path of a name within a folder, whether or not it is there yet.

    The folder itself may be reached by links; within it a link counts as where it leads.

    Raises:
        ValueError: the name is absolute, climbs (``..``), leaves the folder by a link, or is none.
    """
    fault = _fault(folder, name)
    if fault:
        raise ValueError(
            f"{folder}: names a file {shortened(name)}, which {fault}; only relative names of "
            "files within the folder are taken: get the folder anew from where it came"
        )
    return folder / str(name)


def _fault(folder: Path, name: Any) -> str:
    if not isinstance(name, str) or not name or "\0" in name:
        return "is no name"
    parts = PurePosixPath(name)
    if parts.is_absolute():
        return "is absolute"
    if ".." in parts.parts or not parts.parts:
        return "leads out of the folder"
    try:
        found = (folder / name).resolve()
    except (OSError, RuntimeError, ValueError):  # a ring of links, a name too long or of no text
        return "cannot be followed"
    return "" if found.is_relative_to(folder.resolve()) else "leads out of the folder by a link"
