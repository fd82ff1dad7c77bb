"""Waiting for what a thread or a process does in its own time."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], *, seconds: float = 10.0) -> None:
    """Returns as soon as the condition holds; fails if it does not within so many seconds."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, f"not so within {seconds} s"
        time.sleep(0.001)
