"""A progress bar for people who watch, nothing for the others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class ProgressBar(Protocol):
    """What the training loop tells about itself."""

    def advance(self, *, loss: float, accuracy: float) -> None:
        """Counts one step."""
        ...


class _NoBar:
    def advance(self, *, loss: float, accuracy: float) -> None:
        del loss, accuracy


class _TerminalBar:
    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def advance(self, *, loss: float, accuracy: float) -> None:
        self._bar.set_postfix(loss=f"{loss:.3f}", accuracy=f"{accuracy:.1%}", refresh=False)
        self._bar.update()


@contextmanager
def progress_bar(total: int, *, initial: int, shown: bool | None) -> Iterator[ProgressBar]:
    """Yields a bar over ``total`` steps on standard error.

    Args:
        initial: steps done before.
        shown: whether it is drawn; None draws it on a terminal only.
    """
    if not (sys.stderr.isatty() if shown is None else shown):
        yield _NoBar()
        return
    from tqdm import tqdm

    with tqdm(total=total, initial=initial, unit="step", desc="training") as bar:
        yield _TerminalBar(bar)
