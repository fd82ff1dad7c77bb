"""How forked workers tell the process that shows a run how far they are.

A pipe, whose lines are written whole or not at all. Progress that nobody reads in time is dropped:
no worker waits for a terminal.
"""

from __future__ import annotations

import json
import os
import select
from contextlib import suppress
from typing import NamedTuple

from pipeline.base.job import Rated

_LONGEST = 200
"""Characters of a status that are told."""
_MOST = 1 << 16
"""Bytes read at once."""


class Report(NamedTuple):
    """How far a task is."""

    task_id: str
    share: float
    status: str


class Channel:
    """The pipe, which processes have that are forked while it is open."""

    def __init__(self) -> None:
        self.reader, self._writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_blocking(self._writer, False)
        self._rest = b""

    def send(self, task_id: str, share: float, status: str) -> None:
        """Tells how far a task is, unless the pipe is full."""
        speed = [status.per_second, status.unit] if isinstance(status, Rated) else None
        for text in (str(status)[:_LONGEST], ""):
            line = json.dumps([task_id, round(share, 4), text, speed]).encode() + b"\n"
            if len(line) <= select.PIPE_BUF:
                with suppress(OSError):
                    os.write(self._writer, line)
                return

    def wake(self) -> None:
        """Has whoever waits for a report go on."""
        with suppress(OSError):
            os.write(self._writer, b"\n")

    def received(self) -> list[Report]:
        """Returns what was told since the last call."""
        with suppress(BlockingIOError):
            while content := os.read(self.reader, _MOST):
                self._rest += content
        *lines, self._rest = self._rest.split(b"\n")
        return [_report(line) for line in lines if line]

    def close(self) -> None:
        """Closes both ends."""
        os.close(self.reader)
        os.close(self._writer)


def _report(line: bytes) -> Report:
    task_id, share, status, speed = json.loads(line)
    return Report(task_id, share, Rated(status, *speed) if speed else status)


_open: list[Channel] = []


def listen(channel: Channel) -> None:
    """Has reports of this process, and of those it forks from now on, go through a channel."""
    _open.append(channel)


def listen_no_more(channel: Channel) -> None:
    """Ends that, and closes the channel."""
    _open.remove(channel)
    channel.close()


def report(task_id: str, share: float, status: str) -> None:
    """Tells how far a task is, where anybody listens."""
    if _open:
        _open[-1].send(task_id, share, status)
