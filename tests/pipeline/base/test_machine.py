"""What memory a process takes and is told to take, and what the processor decides."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from treeviews.pipeline.base import machine
from treeviews.pipeline.base.machine import mkl_is_fast, own_memory, peak_bytes
from treeviews.pipeline.base.watched import watched

LARGE = 400 << 20
SLACK = 1 << 20
"""The kernel counts what is resident thread by thread, and adds it up now and then."""


def test_a_peak_stays_when_the_memory_is_given_back() -> None:
    large = np.ones(LARGE, dtype=np.uint8)
    held = peak_bytes()
    del large
    assert peak_bytes() + SLACK >= held >= LARGE
    assert f"up to {peak_bytes() >> 20:,} MiB" in own_memory()


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


@pytest.mark.parametrize(
    ("described", "is_fast"),
    [
        ("vendor_id : GenuineIntel\nflags : fpu avx2 avx512f\n", True),
        ("vendor_id : AuthenticAMD\nflags : fpu avx2 avx512f\n", False),
        ("vendor_id : AuthenticAMD\nflags : fpu avx2\n", True),
        ("", True),
    ],
)
def test_the_library_follows_from_the_processor(
    described: str, is_fast: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(described)
    monkeypatch.setattr(machine, "_PROCESSORS", tmp_path / "cpuinfo")
    mkl_is_fast.cache_clear()
    try:
        assert mkl_is_fast() is is_fast
    finally:
        mkl_is_fast.cache_clear()
