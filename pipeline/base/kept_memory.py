"""A process keeps the memory that it frees, instead of giving it back and asking for it anew.

glibc takes every array above a threshold from the kernel and gives it back when it is freed. What
the kernel gives, it has filled with zeros first, page by page: a step of training that makes large
arrays pays for that each time. A process that kept its memory has more of it at most by what it
freed and cannot use again.
"""

from __future__ import annotations

import ctypes
import os
import sys

_OWN_SETTINGS = ("MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD")
"""How names of variables begin by which users choose for themselves how memory is kept."""
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4
"""Of mallopt(3)."""
_LARGEST_INT = (1 << 31) - 1
_PAD_BYTES = 256 << 20
"""Address space that is asked for at a time; it takes memory as it is written to."""


def keep_memory() -> bool:
    """From now on this process keeps what it frees, up to 2 GiB; says whether it does.

    It does not where there is no glibc, or where the environment says how memory is kept.
    """
    if sys.platform != "linux" or any(name.startswith(_OWN_SETTINGS) for name in os.environ):
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return False
    settings = {_MMAP_MAX: 0, _TRIM_THRESHOLD: _LARGEST_INT, _TOP_PAD: _PAD_BYTES}
    taken = [library.mallopt(name, value) for name, value in settings.items()]
    return all(taken)
