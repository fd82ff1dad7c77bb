"""Processes that end when the one that started them does, whatever they are at.

    python -m pipeline.base.watched PARENT_ID MODULE ARGUMENTS…

runs a module as ``python -m MODULE ARGUMENTS…`` does, but watches the parent before a line of the
module is read: to import its libraries takes seconds, from a cold disk much longer. This module
imports the standard library alone.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
import threading
import time

ORPHANED_EXIT_CODE = 75
PARENT_POLL_SECONDS = 0.5
_PR_SET_PDEATHSIG = 1


def watched(module: str, *arguments: str) -> list[str]:
    """Returns what Python is given to run a module that ends with this process.

    It must be started, and waited for, by one thread: to the kernel, that thread is the parent.
    """
    return ["-m", __name__, str(os.getpid()), module, *arguments]


def end_with_parent(parent_id: int) -> None:
    """Ends this process when it is no longer a child of ``parent_id``.

    The Linux kernel does it at once, even where a library that is being loaded lets no other thread
    run; elsewhere a thread does, within `PARENT_POLL_SECONDS`.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == parent_id:
            time.sleep(PARENT_POLL_SECONDS)
        os._exit(ORPHANED_EXIT_CODE)

    if os.getppid() != parent_id:  # before the kernel was asked
        os._exit(ORPHANED_EXIT_CODE)
    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Runs the module that the command line names."""
    parent_id, module, *arguments = sys.argv[1:]
    end_with_parent(int(parent_id))
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
