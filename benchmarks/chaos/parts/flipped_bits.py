"""A bit is flipped in a file that a run made, and the file is read as a user reads it.

The damage must be refused, by an error that names file and remedy, or the content made anew, the
same as before. What passes unsaid must be the same content, as when blanks between words of JSON
change. A resume that goes on from the checkpoint before must say so.
"""

from __future__ import annotations

import logging
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.chaos.run_files import Kind, make_kinds
from benchmarks.chaos.trial import Options, Trial

FLIPS = 40
"""Of each file."""
QUICK_FLIPS = 3
REMEDIES = ("delete", "again", "restore")


def trials(options: Options) -> Iterator[Trial]:
    """Yields a trial a flipped bit; each file is as it was before the next."""
    draw = random.Random(options.seed)
    with heard() as warnings:
        for kind in make_kinds(options.work):
            with _restored(kind):
                expected = kind.read()
            for file in kind.files:
                for _ in range(QUICK_FLIPS if options.quick else FLIPS):
                    yield _flipped(kind, file, draw, expected, warnings)


def _flipped(
    kind: Kind, file: Path, draw: random.Random, expected: Any, warnings: list[str]
) -> Trial:
    damaged = bytearray(file.read_bytes())
    place, bit = draw.randrange(len(damaged)), draw.randrange(8)
    damaged[place] ^= 1 << bit
    with _restored(kind):
        file.write_bytes(damaged)
        survived, outcome = read(kind, file, expected, warnings)
    return Trial(f"{kind.name}: bit {bit} of byte {place} of {file.name}", survived, outcome)


@contextmanager
def _restored(kind: Kind) -> Iterator[None]:
    """Puts a kind's files back after a ``with`` block, and all of its folder if it has one."""
    files = kind.files if kind.folder is None else kind.folder.rglob("*")
    kept = {path: path.read_bytes() for path in files if path.is_file()}
    try:
        yield
    finally:
        if kind.folder is not None:
            shutil.rmtree(kind.folder)
        for path, content in kept.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def read(kind: Kind, file: Path, expected: Any, warnings: list[str]) -> tuple[bool, str]:
    """Returns whether a damaged file of a kind did no harm, and what was seen.

    Args:
        expected: the content before the damage.
        warnings: what `heard` fills.
    """
    damaged = file.read_bytes()
    warnings.clear()
    try:
        found = kind.read()
    except (ValueError, FileNotFoundError) as error:
        said = str(error)
        by_name = str(file) in said or str(file.parent) in said
        helps = any(word in said for word in REMEDIES)
        return by_name and helps, f"refused: {said}"
    except Exception as error:  # what a user would see as a traceback
        return False, f"{type(error).__name__}: {error}"
    if kind.before is not None and found == kind.before:
        named = [warning for warning in warnings if str(file.parent) in warning]
        return bool(named), f"went on from the one before: {(named or ['it did not say so'])[-1]}"
    if found != expected:
        return False, "read in silence, as other content"
    same = file.exists() and file.read_bytes() == damaged
    return True, "the same content" if same else "made anew, the same content"


@contextmanager
def heard() -> Iterator[list[str]]:
    """Yields a list of the warnings that follow, and keeps them from the table."""
    warnings: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            """Keeps a warning."""
            warnings.append(record.getMessage())

    before, logging.root.handlers = logging.root.handlers, [Ear(logging.WARNING)]
    try:
        yield warnings
    finally:
        logging.root.handlers = before
