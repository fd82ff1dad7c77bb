"""A run as a terminal shows it: lines that stay in place, and above them what is over.

While it is shown, whatever else is written to the terminal, by libraries and forked workers too,
goes through a pipe and appears above these lines.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from models.training.logs import duration
from pipeline.base.foreign_text import printable
from tasks.display import words
from tasks.display.nothing import Nothing
from tasks.display.stages import Stage, Stages

_TOO_NARROW_FOR_BARS = 72
_TOO_NARROW_FOR_FACTS = 48
_WIDE = 110
"""Columns from which a line has the rate and what the stage does."""
_BAR, _SHORT_BAR = 16, 10
_FACT = len("1,234 sentences/s")
_USUAL = os.terminal_size((80, 24))
_MOST_AT_ONCE = 1 << 16
_SHOWN_CURSOR = "\x1b[?25h"


class _Lasting:
    """The terminal as a file; one that is gone takes what is written without a word."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, text: str) -> int:
        content = text.encode("utf-8", "replace")
        with suppress(OSError):
            while content:
                content = content[os.write(self._descriptor, content) :]
        return len(text)

    def flush(self) -> None:
        """Does nothing: each write is one already."""

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return True


class Screen:
    """Shows it on the terminal that standard error is."""

    refresh_seconds = 0.2
    """How often `tick` is to be called."""

    def __init__(self, stages: Stages, num_workers: Callable[[], int]) -> None:
        self._stages, self._num_workers = stages, num_workers
        self._kept: dict[int, int] = {}
        self._reader = -1
        self._line = b""

    def open(self) -> None:
        """Takes the terminal: what is written to it comes here from now on."""
        sys.stderr.flush()
        sys.stdout.flush()
        on_terminal = [one for one in (1, 2) if os.isatty(one)]
        self._kept = {one: os.dup(one) for one in on_terminal}
        self._terminal = self._kept[2]
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        for one in on_terminal:
            os.dup2(writer, one)
        os.close(writer)
        console = Console(
            file=_Lasting(self._terminal),  # type: ignore[arg-type]
            force_terminal=True,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
        )
        self._live = Live(
            console=console,
            auto_refresh=False,  # a thread of rich's would refresh while workers are forked
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        self._live.start()

    def begins(self, stage: Stage) -> None:
        """Shows the stage from the next look on."""

    def ends(self, stage: Stage, *, is_done: bool) -> None:
        """Lets the stage scroll away above, with its time."""
        sign = Text("✓", "green") if is_done else Text("✗", "red")
        took = duration(stage.took)
        room = self._size().columns - len(took) - 4
        name = words.cut(stage.called, room)
        self._above(Text.assemble(sign, " ", name, (f"  {took}", "dim")))

    def tick(self) -> None:
        """Shows how far the stages are now."""
        self._show_written()
        self._live.console.size = self._size()  # type: ignore[misc, assignment]
        self._live.update(self._lines(), refresh=True)

    def close(self) -> None:
        """Gives the terminal back, as it was, under what scrolled away."""
        sys.stderr.flush()
        sys.stdout.flush()
        self._show_written()
        if self._line:
            self._above(Text(_shown(self._line)))
        self._live.stop()
        self._give_back()
        os.close(self._terminal)
        os.close(self._reader)

    def given_up(self) -> Nothing:
        """Gives the terminal back; returns what passes on what the stages at work write to it.

        They were forked while it was shown, so that they write to the pipe, and would fail if
        nobody read it any more.
        """
        with suppress(Exception):
            self._live.stop()
        _Lasting(self._terminal).write(f"{_SHOWN_CURSOR}\n")
        self._give_back()
        return _PassedOn(self._reader, self._terminal, self._line)

    def _give_back(self) -> None:
        """Has what this process writes go to the terminal again."""
        for one, kept in self._kept.items():
            os.dup2(kept, one)
            if kept != self._terminal:
                os.close(kept)
        self._kept = {}

    def _size(self) -> Any:
        """Returns columns and lines of the terminal, as they are now."""
        try:
            size = os.get_terminal_size(self._terminal)
        except OSError:
            return _USUAL
        return size if size.columns and size.lines else _USUAL

    def _show_written(self) -> None:
        """Shows above what was written to the terminal meanwhile, line by line."""
        with suppress(BlockingIOError):
            while content := os.read(self._reader, _MOST_AT_ONCE):
                *lines, self._line = (self._line + content).split(b"\n")
                self._line = _last_state(self._line)
                for line in lines:
                    self._above(Text(_shown(line)))

    def _above(self, text: Text) -> None:
        self._live.console.print(text, soft_wrap=True)

    def _lines(self) -> Group:
        size, running = self._size(), self._stages.running
        room = max(size.lines - 3, 1)
        shown, hidden = running[:room], len(running) - room
        table = Table.grid(padding=(0, 1, 0, 0), expand=True)
        for column in self._columns(size.columns):
            table.add_column(**column)
        for stage in shown:
            table.add_row(*self._row(stage, size.columns))
        left = self._stages.left(self._num_workers())
        more = f" ({hidden} more run)" if hidden > 0 else ""
        overall = words.how_far(self._stages, left, size.columns - 1 - len(more))
        return Group(table, Text(words.cut(overall + more, size.columns - 1), "bold"))

    @staticmethod
    def _columns(width: int) -> list[dict[str, Any]]:
        """Returns number, name, bar, share, facts and time left, as far as a width has room."""
        name: dict[str, Any] = {"no_wrap": True, "overflow": "ellipsis", "ratio": 2}
        fixed: dict[str, Any] = {"no_wrap": True, "justify": "right"}
        fact: dict[str, Any] = {"no_wrap": True, "overflow": "ellipsis", "width": _FACT}
        columns = [fixed, name]
        if width >= _TOO_NARROW_FOR_BARS:
            columns.append({"width": _bar(width)})
        columns.append(fixed)
        if width >= _TOO_NARROW_FOR_FACTS:
            columns.append(fact)
        if width >= _WIDE:
            columns.append(fact | {"width": None, "ratio": 1})
        return [*columns, fixed]

    def _row(self, stage: Stage, width: int) -> list[Any]:
        number = Text(f"{stage.number}/{self._stages.num_planned}", "dim")
        row: list[Any] = [number, Text(words.cut(stage.called, width))]
        if width >= _TOO_NARROW_FOR_BARS:
            row.append(ProgressBar(total=1.0, completed=stage.share, width=_bar(width)))
        row.append(Text(words.percent_of(stage)))
        rate, status = words.rate_of(stage), words.cut(stage.status, width)
        if width >= _WIDE:
            row += [Text(rate), Text(status)]
        elif width >= _TOO_NARROW_FOR_FACTS:
            row.append(Text(rate or status))
        return [*row, Text(words.left_of(stage, self._stages.now()))]


def _bar(width: int) -> int:
    return _BAR if width >= _WIDE else _SHORT_BAR


class _PassedOn(Nothing):
    """Passes on, as it is, what is still written to a screen that was given up."""

    refresh_seconds = Screen.refresh_seconds

    def __init__(self, reader: int, terminal: int, line: bytes) -> None:
        self._reader, self._terminal, self._line = reader, terminal, line

    def tick(self) -> None:
        """Passes on what was written meanwhile, whole lines alone."""
        with suppress(BlockingIOError):
            while content := os.read(self._reader, _MOST_AT_ONCE):
                *lines, last = (self._line + content).split(b"\n")
                self._line = _last_state(last)
                _Lasting(self._terminal).write("".join(f"{_shown(line)}\n" for line in lines))

    def close(self) -> None:
        """Passes on the rest, and ends."""
        self.tick()
        if self._line:
            _Lasting(self._terminal).write(f"{_shown(self._line)}\n")
        os.close(self._terminal)
        os.close(self._reader)


def _last_state(line: bytes) -> bytes:
    """Returns what remains to be seen of a line that does not end yet, such as of a bar."""
    written, ends = line.rstrip(b"\r"), line.endswith(b"\r")
    return (written.rpartition(b"\r")[2] + b"\r" * ends)[-_MOST_AT_ONCE:]


def _shown(line: bytes) -> str:
    """Returns a line that was written to the terminal, the last state of one that was rewritten."""
    return printable(_last_state(line).rstrip(b"\r").decode("utf-8", "replace"))
