"""What memory a process is told to take."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from treeviews.pipeline.base.machine import own_memory, peak_bytes

LARGE = 400 << 20
SLACK = 1 << 20
"""The kernel counts what is resident thread by thread, and adds it up now and then."""
ASK = "from treeviews.pipeline.base.machine import peak_bytes; print(peak_bytes())"


def test_a_peak_stays_when_the_memory_is_given_back() -> None:
    large = np.ones(LARGE, dtype=np.uint8)
    held = peak_bytes()
    del large
    assert peak_bytes() + SLACK >= held >= LARGE
    assert f"up to {peak_bytes() >> 20:,} MiB" in own_memory()


def test_the_peak_of_a_program_is_not_that_of_the_one_that_started_it() -> None:
    large = np.ones(LARGE, dtype=np.uint8)
    asked = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True)
    assert 0 < int(asked.stdout) < large.nbytes
