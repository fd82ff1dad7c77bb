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


NONE = (
    "/etc/passwd",
    "../a",
    "a/../../b",
    "..",
    "",
    "a\0b",
    3,
    ["a"],
    "out/a",
    "ring",
    "\ud800",
)


@pytest.mark.parametrize("name", NONE)
def test_any_other_name_is_refused(tmp_path: Path, name: Any) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path)
    (folder / "ring").symlink_to("ring")
    with pytest.raises(ValueError, match=r"folder: names a file .*; only relative names"):
        inside(folder, name)
