"""Names that a folder's JSON gives lead into the folder and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from treeviews.pipeline.base.inside import inside


@pytest.mark.parametrize("name", ["a", "a/b.json", "./a", "a//b", "link/a"])
def test_names_within_the_folder_are_taken(tmp_path: Path, name: str) -> None:
    (tmp_path / "within").mkdir()
    (tmp_path / "link").symlink_to("within")
    assert inside(tmp_path, name) == tmp_path / name


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("/etc/passwd", "is absolute"),
        ("../a", "leads out of the folder"),
        ("a/../../b", "leads out of the folder"),
        ("..", "leads out of the folder"),
        (".", "leads out of the folder"),
        ("", "is no name"),
        ("a\0b", "is no name"),
        (3, "is no name"),
        (["a"], "is no name"),
        ("out/a", "leads out of the folder by a link"),
        ("ring", "cannot be followed"),
        ("\ud800", "cannot be followed"),
    ],
)
def test_any_other_name_is_refused(tmp_path: Path, name: Any, fault: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path)
    (folder / "ring").symlink_to("ring")
    with pytest.raises(ValueError, match=rf"folder: names a file .*, which {fault}; only relative"):
        inside(folder, name)
