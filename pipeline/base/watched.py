"""How our processes start: they end with the one that started them.

    python -P …/pipeline/base/watched.py PARENT_ID MODULE ARGUMENTS…

runs a module as ``python -m MODULE ARGUMENTS…`` does, but watches the parent before a line of the
module is read: to import its libraries takes seconds, from a cold disk much longer. So it is
started by its path, and imports the standard library alone. The memory that such a process frees it
keeps, see `keep_memory`.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

ORPHANED_EXIT_CODE = 75
PARENT_POLL_SECONDS = 0.5
_PR_SET_PDEATHSIG = 1

_OWN_SETTINGS = ("MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD")
"""How names of variables begin by which users choose for themselves how memory is kept."""
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4
"""Of mallopt(3)."""
_LARGEST_INT = (1 << 31) - 1
_PAD_BYTES = 256 << 20
"""Address space that is asked for at a time; it takes memory as it is written to."""


def watched(module: str, *arguments: str) -> list[str]:
    """Returns what Python is given to run a module that ends with this process.

    It must be started, and waited for, by one thread: to the kernel, that thread is the parent.
    Python does not look for modules in the working folder first, but last.
    """
    return ["-P", str(Path(__file__).resolve()), str(os.getpid()), module, *arguments]


def end_with_parent(parent_id: int) -> None:
    """Ends this process when it is no longer a child of ``parent_id``.

    The Linux kernel does it at once, even where a library that is being loaded lets no other thread
    run; elsewhere a thread does, within `PARENT_POLL_SECONDS`.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == parent_id:
            time.sleep(PARENT_POLL_SECONDS)
        os._exit(ORPHANED_EXIT_CODE)

    if os.getppid() != parent_id:  # before the kernel was asked
        os._exit(ORPHANED_EXIT_CODE)
    threading.Thread(target=watch, daemon=True).start()


def keep_memory() -> bool:
    """From now on the main thread keeps what it frees, up to 2 GiB; says whether it does.

    Other threads have heaps of their own; they give arrays of about 64 MiB and more back as before.

    glibc takes a large array from the kernel and gives it back when it is freed; what the kernel
    gives, it has filled with zeros first, page by page. A step of training pays for that each time.
    Nothing changes where there is no glibc, or where the environment says how memory is kept.
    """
    if sys.platform != "linux" or any(name.startswith(_OWN_SETTINGS) for name in os.environ):
        return False
    import ctypes

    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return False
    settings = {_MMAP_MAX: 0, _TRIM_THRESHOLD: _LARGEST_INT, _TOP_PAD: _PAD_BYTES}
    taken = [library.mallopt(name, value) for name, value in settings.items()]
    return all(taken)


def main() -> None:
    """Runs the module that the command line names."""
    parent_id, module, *arguments = sys.argv[1:]
    # Ctrl-C is for the parent to tell: what it started ends without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent(int(parent_id))
    keep_memory()
    with suppress(FileNotFoundError):  # the folder is gone
        sys.path.append(os.getcwd())  # noqa: PTH109
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
