"""Jobs keep the memory that they free, unless their user says otherwise."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from treeviews.pipeline.base.watched import watched

ALLOCATING = """
import resource

def taken_anew():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

before = taken_anew()
for _ in range(10):
    block = bytearray(64 << 20)
    block[::4096] = bytes(len(block) // 4096)
    del block
print(taken_anew() - before)
"""


def pages_taken(folder: Path, **settings: str) -> int:
    (folder / "allocating.py").write_text(ALLOCATING, encoding="utf-8")
    chosen = ("MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD")
    own = {name: value for name, value in os.environ.items() if not name.startswith(chosen)}
    found = subprocess.run(
        [sys.executable, *watched("allocating")],
        env=own | {"PYTHONPATH": str(folder)} | settings,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(found.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a matter of glibc")
def test_a_job_takes_its_memory_once_unless_its_user_sets_how(tmp_path: Path) -> None:
    assert pages_taken(tmp_path) < pages_taken(tmp_path, MALLOC_ARENA_TEST="2") / 3
