"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from treeviews.pipeline.base.atomic_files import write_bytes_atomically


def test_a_full_disk_is_named_with_the_file_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(OSError, match=r"No space left on device: '.*/a\.json'"):
        write_bytes_atomically(tmp_path / "a.json", b"{}")

    assert list(tmp_path.iterdir()) == []
