"""Files that several processes share: they appear whole or not at all, and hold locks."""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import secrets
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

TEMPORARY_SUFFIX = ".unfinished"
LEFT_SECONDS = 24 * 3600.0
"""Age from which an unfinished file is taken for left: no file is written for so long."""
RUN_LOCK = "run.lock"
"""File of a folder that whoever writes into it holds; empty unless somebody does."""


def write_text_atomically(path: Path, text: str) -> None:
    """Writes a UTF-8 file that appears whole or not at all, and durably."""
    write_bytes_atomically(path, text.encode("utf-8"))


def writer_name() -> str:
    """Returns what no other writer's temporary file is called by; containers share host and id."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"


def write_bytes_atomically(path: Path, content: bytes) -> None:
    """Writes a file that appears whole or not at all, and durably; see `write_by_library`."""
    write_by_library(path, lambda temporary: temporary.write_bytes(content))


def write_by_library(path: Path, write: Callable[[Path], object]) -> None:
    """Has a library write a file that appears whole or not at all, durably.

    Of several processes that write the same file, whoever ends last wins. A link stays, and the
    file that it leads to is replaced; a device or pipe is written to. The file's mode is what the
    umask gives any file: safetensors makes files for their owner alone.

    Args:
        write: takes the path to write to, which it may replace.

    Raises:
        OSError: it cannot be written, such as on a full disk; names the file.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as stream, tempfile.TemporaryDirectory() as folder:
            whole = Path(folder, "file")
            write(whole)
            with whole.open("rb") as written:
                shutil.copyfileobj(written, stream)
        return
    path = path.resolve()
    temporary = path.with_name(f"{path.name}.{writer_name()}{TEMPORARY_SUFFIX}")
    try:
        temporary.touch()
        mode = temporary.stat().st_mode
        write(temporary)
        temporary.chmod(mode)
        synchronise(temporary)
    except BaseException as error:  # an interruption, too
        temporary.unlink(missing_ok=True)  # where a disk is full, it takes what is missing
        if isinstance(error, OSError) and error.errno and error.filename in {None, str(temporary)}:
            error.filename = str(path)  # writing, unlike opening, names none
        raise
    rename_durably(temporary, path)


def json_bytes(value: Any) -> bytes:
    """Returns indented JSON, the same bytes for the same value."""
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode("utf-8")


def write_json_atomically(path: Path, value: Any) -> None:
    """Writes indented JSON that appears whole or not at all."""
    write_bytes_atomically(path, json_bytes(value))


def rename_durably(temporary: Path, path: Path) -> None:
    """Gives a durable file its name; on return a crash of the machine costs neither."""
    temporary.replace(path)
    try:
        synchronise(path.parent)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # some file systems sync no folder
            raise


def synchronise(path: Path) -> None:
    """Waits until a file or folder is on its disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep_unfinished(folder: Path, *, older_than_seconds: float = 0.0) -> int:
    """Removes temporary files that a killed writer left behind; returns how many.

    To be called while nobody writes to the folder.

    Args:
        older_than_seconds: younger ones are left, as others may be writing them; 0 takes all.
    """
    latest = time.time() - older_than_seconds
    removed = 0
    for path in folder.glob(f"*{TEMPORARY_SUFFIX}"):
        with suppress(FileNotFoundError):  # named or swept by another in this moment
            if not older_than_seconds or path.stat().st_mtime < latest:
                path.unlink()
                removed += 1
    return removed


_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
_thread = threading.local()
"""Has the descriptors of the locks that a thread holds."""


@contextmanager
def locked(
    path: Path, on_wait: Callable[[], None] | None, *, shared: bool = False
) -> Iterator[bool]:
    """Holds the lock of a file for the time of a ``with`` block.

    The operating system frees the lock of a process that ends, however it ends, once the jobs that
    it started have ended, too (`held_locks`). The file is made if it is not there and not removed:
    another may be waiting for it. Where the file system knows no locks, as some mounts of NFS, that
    is said and nothing is held.

    Args:
        on_wait: called once where there is something to wait for; None does not wait.
        shared: others may hold it shared at the same time.

    Yields:
        Whether it is held: False where it is not waited for.

    Raises:
        OSError: the file cannot be made.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    held = _thread.__dict__.setdefault("held", set())
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not (is_held := _take(descriptor, kind, path)) and on_wait is not None:
                on_wait()
                fcntl.flock(descriptor, kind)
                is_held = True
            if is_held and not _is_named(descriptor, path):
                continue
            if is_held:
                held.add(descriptor)
            yield is_held
            return
        finally:
            held.discard(descriptor)
            os.close(descriptor)


def _take(descriptor: int, kind: int, path: Path) -> bool:
    """Takes a lock if nobody holds it; returns whether it was free, or there are no locks."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        logger.warning(
            "%s: this file system knows no locks (%s): start no second run that writes here "
            "while one is under way, or mount it with locks",
            path.parent,
            error,
        )
    return True


def _is_named(descriptor: int, path: Path) -> bool:
    """Returns whether a file has still this name: its folder may be gone since it was opened."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


def held_locks() -> tuple[int, ...]:
    """Returns the descriptors of the locks that this thread holds.

    A child that inherits them (``pass_fds``) holds the locks as well, until it ends.
    """
    return tuple(_thread.__dict__.get("held", ()))
