"""A program on a terminal of its own, and what is seen there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_SIZES = ("COLUMNS", "LINES")
"""Of another terminal: libraries take them before they ask this one."""
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Seen:
    """What a program wrote to its terminal, and how it ended."""

    code: int
    raw: str

    @property
    def lines(self) -> list[str]:
        """Every line that was ever drawn, without what moves the cursor or sets colours."""
        return [line for line in re.split(r"[\r\n]+", _ESCAPE.sub("", self.raw)) if line.strip()]

    @property
    def cursor_is_visible(self) -> bool:
        """Whether it is when all is over."""
        return self.raw.rfind(SHOW_CURSOR) >= self.raw.rfind(HIDE_CURSOR)


def seen_on_terminal(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    columns: int = 80,
    signal_at: tuple[str, signal.Signals] | None = None,
) -> Seen:
    """Runs a program on a terminal.

    Args:
        signal_at: text at whose appearance a signal is sent to the program's group, as Ctrl-C is.
    """
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    inherited = {name: value for name, value in os.environ.items() if name not in _SIZES}
    with subprocess.Popen(
        command,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=inherited | {"TERM": "xterm-256color"} | dict(environment),
        start_new_session=True,
        # A suite that runs in the background may have been started with Ctrl-C ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        os.close(terminal)
        content, is_sent = b"", signal_at is None
        while True:
            try:
                found = os.read(reader, 65536)
            except OSError:  # nobody has the terminal any more
                break
            if not found:
                break
            content += found
            if not is_sent and signal_at is not None and signal_at[0].encode() in content:
                os.killpg(process.pid, signal_at[1])
                is_sent = True
    os.close(reader)
    return Seen(process.returncode, content.decode("utf-8", "replace"))
