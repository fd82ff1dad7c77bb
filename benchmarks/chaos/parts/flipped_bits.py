"""A bit is flipped in a file that a run made, and the file is read as a user reads it.

The damage must be refused, by an error that names file and remedy, or the content made anew, the
same as before. What passes unsaid must be the same content, as when blanks between words of JSON
change.
"""

from __future__ import annotations

import logging
import random
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
    with _quiet():
        for kind in make_kinds(options.work):
            expected = kind.read()
            for file in kind.files:
                for _ in range(QUICK_FLIPS if options.quick else FLIPS):
                    yield _flipped(kind, file, draw, expected)


def _flipped(kind: Kind, file: Path, draw: random.Random, expected: Any) -> Trial:
    kept = {path: path.read_bytes() for path in kind.files}
    place, bit = draw.randrange(len(kept[file])), draw.randrange(8)
    damaged = bytearray(kept[file])
    damaged[place] ^= 1 << bit
    file.write_bytes(damaged)
    try:
        survived, outcome = _read(kind, file, bytes(damaged), expected)
    finally:
        for path, content in kept.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return Trial(f"{kind.name}: bit {bit} of byte {place} of {file.name}", survived, outcome)


def _read(kind: Kind, file: Path, damaged: bytes, expected: Any) -> tuple[bool, str]:
    """Returns whether the damage did no harm, and what was seen."""
    try:
        found = kind.read()
    except (ValueError, FileNotFoundError) as error:
        said = str(error)
        by_name = str(file) in said or str(file.parent) in said
        helps = any(word in said for word in REMEDIES) or kind.name == "checkpoint"
        return by_name and helps, f"refused: {said}"
    except Exception as error:  # what a user would see as a traceback
        return False, f"{type(error).__name__}: {error}"
    if found != expected:
        return False, "read in silence, as other content"
    same = file.exists() and file.read_bytes() == damaged
    return True, "the same content" if same else "made anew, the same content"


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps the warnings of what is made anew from the table."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)
