"""Plain words for what is told of runs: sizes, values, fields as the options that set them."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Collection, Sequence
from typing import Any

from pipeline.base.foreign_text import printable
from tasks.runs.parameters import option_of

_HEXADECIMAL = re.compile(r"[0-9a-f]{13,}")
_SHOWN_DIGITS = 12

_OTHER_NAMES = {
    "num_folds": "folds",
    ("alterations", "seed"): "probing_seed",
    ("probing", "seed"): "probing_seed",
}
"""Fields whose option bears another name."""
_CHANGES = {
    "training": "changes",
    "architecture": "changes",
    "alterations": "probing_changes",
    "probing": "probing_changes",
    "protocol": "protocol_changes",
    "representation": "representation_changes",
    "cleaning": "cleaning_changes",
    "expansion": "expansion_changes",
    "vectors": "vector_changes",
}
"""Part of a stage's configuration -> the parameter whose JSON changes its fields."""
_CALLED = {
    ("corpus", "sha256"): "the text",
    "parser_checksum": "the parser",
    "vectors": "--vectors",
}
_LONG = 80
"""Characters of a value from which on it is cut short."""
_NO_LIMIT = "limit"


def size_in_words(num_bytes: int | None) -> str:
    """Returns a size as people read it: ``433 kB``, ``4.4 MB``; a dash of none."""
    if num_bytes is None:
        return "-"
    size, unit = float(num_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    digits = 0 if unit in ("B", "kB") or size >= 100 else 1
    return f"{size:.{digits}f} {unit}"


def field_in_words(path: Sequence[str], parameters: Collection[str]) -> str:
    """Returns what a field of a stage's configuration is called: the option that sets it, if any.

    Args:
        path: keys from the outside in.
        parameters: names of the stage's.
    """
    last = path[-1]
    for known in (tuple(path[-2:]), last):
        if known in _CALLED:
            return _CALLED[known]
    name = _OTHER_NAMES.get((path[0], last)) or _OTHER_NAMES.get(last, last)
    if name in parameters and path[0] != "representation":  # it has views of its own
        return option_of(name)
    changes = next((_CHANGES[key] for key in path[:-1] if key in _CHANGES), "")
    if changes in parameters:
        return f"{printable(last)} ({option_of(changes)})"
    return printable(" ".join(path).replace("_", " "))


def value_in_words(value: Any, path: Sequence[str] = ()) -> str:
    """Returns a value of a configuration on one line, checksums cut short."""
    if value is None or value == "" or (value == 0 and path[-1:] == (_NO_LIMIT,)):
        return "none"
    if isinstance(value, bool | int | float):
        return {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"{value:,}"
    if isinstance(value, str):
        if _HEXADECIMAL.fullmatch(value):
            return value[:_SHOWN_DIGITS]
        return _short(value)
    if isinstance(value, list | tuple) and all(isinstance(one, str | int) for one in value):
        return ",".join(map(printable, value)) or "none"
    return _short(json.dumps(value, sort_keys=True))


def _short(text: str) -> str:
    """Returns text on one line, cut off where it is long."""
    return printable(text if len(text) <= _LONG else f"{text[:_LONG]} …")


def wrapped(text: str, width: int) -> list[str]:
    """Returns text as lines of at most so many characters, at least one of them."""
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    """Returns rows of cells as lines whose columns stand under one another.

    Args:
        right: columns whose cells end at the same place, as figures do.
    """
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
