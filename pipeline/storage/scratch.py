"""The folder in which a job of a cluster works, which goes when the job does."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SCRATCH_PREFIX = "treeviews-scratch-"
LOCK_NAME = "in-use"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Makes a folder in the system's temporary one (``TMPDIR``) and removes it in the end.

    What processes left that were killed is removed before: their locks on their folders went with
    them.
    """
    base = Path(tempfile.gettempdir())
    for folder in base.glob(f"{SCRATCH_PREFIX}*"):
        _remove_if_left(folder)
    folder = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX, dir=base))
    try:
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / "lock").rename(folder / LOCK_NAME)  # never to be seen before it is held
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_if_left(folder: Path) -> None:
    """Removes a scratch folder whose lock is there and held by nobody."""
    with suppress(OSError), (folder / LOCK_NAME).open("r+") as lock:  # BlockingIOError: in use
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
