"""Lets one process at a time do something, among all that know a file's name."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Holds the lock of a file for the time of a ``with`` block; waits while another holds it.

    The operating system frees the lock of a process that ends, however it ends. The file is made if
    it is not there, stays empty and is not removed: another may be waiting for it.

    Args:
        on_wait: called once where there is something to wait for.

    Raises:
        OSError: the file cannot be made, or its file system knows no locks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
