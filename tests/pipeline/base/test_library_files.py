"""Files that a library writes appear whole, with the mode that the umask gives."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from treeviews.pipeline.base.atomic_files import write_by_library


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_whoever_may_read_other_files_may_read_weights(tmp_path: Path, umask: int) -> None:
    former = os.umask(umask)
    try:
        write_by_library(tmp_path / "file", partial(save_file, {"a": np.zeros(1)}))
    finally:
        os.umask(former)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_library_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_by_library(path, partial(save_file, {"a": np.zeros(1)}))
    before = path.read_bytes()

    def fail(temporary: Path) -> None:
        temporary.write_bytes(b"half")
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        write_by_library(path, fail)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]
