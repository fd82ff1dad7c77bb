"""The machine: what memory a process takes and may have, its processor, its releases."""

from __future__ import annotations

import functools
import os
import platform
import re
import resource
import sys
from pathlib import Path

_PROCESSORS = Path("/proc/cpuinfo")
MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024
"""In one of `ru_maxrss`: bytes on macOS, KiB elsewhere."""


def available_cores() -> int:
    """Returns how many CPU cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def peak_bytes() -> int:
    """Returns the most memory that this process has had resident.

    On Linux the kernel's own figure for the program that runs is taken (`VmHWM`). The usual
    `ru_maxrss`, which other systems have, begins with the peak of the process that started it.
    """
    if found := re.search(r"^VmHWM:\s+(\d+) kB$", _read(Path("/proc/self/status")), re.M):
        return int(found[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_BYTES


def free_memory() -> str:
    """Returns in words what memory is free, such as ``1,024 of 24,000 MiB of memory are free``."""
    kib = dict(re.findall(r"^(\w+):\s+(\d+) kB$", _read(Path("/proc/meminfo")), re.M))
    if "MemAvailable" not in kib:
        return "how much memory is free is not known"
    free, total = int(kib["MemAvailable"]) >> 10, int(kib["MemTotal"]) >> 10
    return f"{free:,} of {total:,} MiB of memory are free"


def own_memory() -> str:
    """Returns in words what memory this process took at most."""
    return f"this process took up to {peak_bytes() >> 20:,} MiB"


@functools.cache
def mkl_is_fast() -> bool:
    """Says whether MKL multiplies float32 as fast as oneDNN here; True where nobody can tell.

    The processor decides, and no measurement: runs must not differ by chance.

    MKL does not use AVX-512 on processors of AMD: on those of family 26 it reached 95 GFLOPS a core
    where oneDNN reached 220, on family 25, model 17 51 to 88 where oneDNN reached 85 to 101. Of
    AMD's without AVX-512, family 25, model 1 was measured: 74 to 94, where oneDNN had 58 to 84.
    """
    described = _read(_PROCESSORS)
    return "AuthenticAMD" not in described or "avx512f" not in described


def processor() -> str:
    """Returns the name of this machine's processor."""
    named = re.search(r"^model name\s*:\s*(\S.*)$", _read(_PROCESSORS), re.M)
    return named[1].strip() if named else platform.processor() or platform.machine()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
