"""A disk that gets full under a run, and runs that hide it."""

from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest

from benchmarks.chaos.__main__ import main
from benchmarks.chaos.parts.full_disk import _on_full_disk, small_disk
from benchmarks.chaos.tiny_run import Stage, TinyRun

STAGE = Stage("Slow", "slow", "done", root=("Slow",))


class PlayedRun(TinyRun):
    """A run that does what `more` says."""

    def command(self, root: object) -> list[str]:
        del root
        return [sys.executable, "-c", *self.more]


@pytest.mark.parametrize(
    ("script", "survived"),
    [
        ("raise OSError(28, 'No space left on device')", True),
        ("print('No space left on device')", False),  # but it ends as if all were well
        ("raise KeyError('rows')", False),
    ],
)
def test_a_run_must_say_that_the_disk_is_full(tmp_path: Path, script: str, survived: bool) -> None:
    run = PlayedRun(tmp_path, tmp_path / "work", tmp_path / "logs", (script,))

    assert _on_full_disk(run, STAGE, 0).survived is survived


def test_a_small_disk_is_full_where_it_should_be(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        if isinstance(disk, str):
            pytest.skip(disk)
        disk.leave_free(8192)
        (disk.seen_from_outside / "fits").write_bytes(bytes(8192))
        with pytest.raises(OSError) as full:
            (disk.seen_from_outside / "more").write_bytes(b"one")
        assert full.value.errno == errno.ENOSPC
        disk.leave_free(-1)
        (disk.seen_from_outside / "more").write_bytes(b"one")
    assert list((tmp_path / "disk").iterdir()) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_stage_on_a_full_disk_says_so_and_finishes_with_space(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        if isinstance(disk, str):
            pytest.skip(disk)
    assert main(["--work", str(tmp_path / "chaos"), "--parts", "full_disk", "--quick"]) == 0
