"""Names of files that a folder's own JSON gives: they may lead into the folder and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from treeviews.pipeline.base.refusal import shortened


def inside(folder: Path, name: Any) -> Path:
    """Returns the path of a name within a folder, whether or not it is there yet.

    The folder itself may be reached by links; within it a link counts as where it leads.

    Raises:
        ValueError: the name leads out of the folder, by ``..``, as a path of its own or by a link,
            or is none.
    """
    try:
        if folder.resolve() in (folder / name).resolve().parents:
            return folder / str(name)
    except (OSError, RuntimeError, TypeError, ValueError):  # a ring of links, no name at all
        pass
    raise ValueError(
        f"{folder}: names a file {shortened(name)}, which leads out of the folder; only relative "
        "names of files within the folder are taken: get the folder anew from where it came"
    )
