"""What memory a process is told to take."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np

from pipeline.base.machine import own_memory, peak_bytes, resident_bytes

LARGE = 400 << 20
SLACK = 1 << 20
"""The kernel counts what is resident thread by thread, and adds it up now and then."""
ASK = "from pipeline.base.machine import peak_bytes; print(peak_bytes())"


def test_a_peak_stays_when_the_memory_is_given_back() -> None:
    before = resident_bytes(os.getpid())
    large = np.ones(LARGE, dtype=np.uint8)
    held = resident_bytes(os.getpid())
    del large
    assert held >= before + LARGE // 2
    assert peak_bytes() >= held - SLACK
    assert peak_bytes(os.getpid()) == peak_bytes()
    assert resident_bytes(os.getpid()) < held
    assert f"up to {peak_bytes() >> 20:,} MiB" in own_memory()


def test_the_peak_of_a_program_is_not_that_of_the_one_that_started_it() -> None:
    large = np.ones(LARGE, dtype=np.uint8)
    asked = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True)
    assert 0 < int(asked.stdout) < large.nbytes
