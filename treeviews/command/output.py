"""How results are printed: as text for people, or as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def print_json(value: Any) -> None:
    """Prints a value as JSON; paths and dates as text."""
    print(json.dumps(value, indent=2, default=str))


SECONDS_BETWEEN_REPORTS = 5.0


def count_teller() -> Callable[[int], None]:
    """Returns what tells every few seconds how many sentences are done."""
    last_told = time.monotonic()

    def tell(done: int) -> None:
        nonlocal last_told
        if time.monotonic() - last_told >= SECONDS_BETWEEN_REPORTS:
            last_told = time.monotonic()
            say(f"{done:,} sentences")

    return tell


def say(text: object) -> None:
    """Writes a message, which is no result, to standard error."""
    print(text, file=sys.stderr, flush=True)


def say_speed(num_sentences: int, num_refused: int, seconds: float, more: str = "") -> None:
    """Says how many sentences were done, and how fast."""
    say(
        f"{num_sentences} sentences, {num_refused} refused, {more}{seconds:.1f} s, "
        f"{num_sentences / max(seconds, 1e-9):.0f} sentences/s"
    )


def write_no_more() -> None:
    """Makes what is left to be written, at Python's end too, go nowhere."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_output(output: Path) -> None:
    """Refuses, before anything is computed, a place that no file can be written to.

    Raises:
        typer.BadParameter: names what is wrong with it.
    """
    if output.is_dir():
        raise typer.BadParameter(f"{output} is a folder; give --out a file in it")
    if not output.parent.is_dir():
        raise typer.BadParameter(f"{output.parent}: no such folder; make it first")
    is_device = output.exists() and not output.is_file()
    if not os.access(output if is_device else output.parent, os.W_OK):
        raise typer.BadParameter(f"{output.parent}: not writable; give --out another place")
