"""What every benchmark prints: tables that each tell how to repeat them, and a last line.

The last line is one JSON object, for programs; all above it is for people. While a benchmark runs,
it tells on standard error what it is at.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.corpus import identity
from benchmarks.quick import ROUGH
from treeviews.models.corpus.parsed_corpus import CorpusFolders
from treeviews.models.training.numerics import versions
from treeviews.pipeline.base.foreign_text import without_secrets
from treeviews.pipeline.base.machine import processor

REPOSITORY = Path(__file__).resolve().parent.parent
FAILED, MISTAKE, LACKING = 1, 2, 3
"""Exit statuses of a benchmark, beside 0."""
_STARTED = time.perf_counter()


class LackingError(ValueError):
    """What a benchmark needs is not on this machine; says the remedy.

    A text or a library may be missing by its own error, FileNotFoundError or ModuleNotFoundError.
    """


@dataclass(frozen=True, slots=True)
class Table:
    """Figures, with what a reader must know of them."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]
    """What the columns mean and how the figures came about."""


def header(
    module: str,
    arguments: Sequence[str],
    *,
    corpus: CorpusFolders | None = None,
    text: str = "",
    seed: int,
    device: str = "cpu",
    quick: bool = False,
) -> list[str]:
    """Returns the lines that say what ran: command, commit, machine, versions, seed and text.

    Args:
        module: name of the benchmark's module.
        arguments: of the command line, as they were given.
        corpus: the parsed text; where there is none, ``text`` says what was read.
        quick: whether it is a quick run; the first line then says what that means.
    """
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    return [
        *([ROUGH] if quick else []),
        without_secrets(f"command: python -m {shlex.join([module, *arguments])}"),
        f"commit: {_commit()}",
        f"machine: {processor()}; {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f}; {torch.get_num_threads()} threads used; device {device}",
        f"versions: {used}",
        f"seed: {seed}",
        f"corpus: {', digest of its shards '.join(identity(corpus).values())}"
        if corpus is not None
        else f"text: {text}",
    ]


def print_table(table: Table, run: Sequence[str]) -> None:
    """Prints a table so that it can be read and repeated alone.

    Args:
        run: what `header` returned.
    """
    print_lines([f"## {table.title}"])
    print_lines(markdown_table(table.columns, table.rows))
    print_lines([f"- {line}" for line in [*table.notes, *run]])


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns a table's lines, padded so that it reads well unrendered; numbers to the right."""
    widths = [max(len(row[place]) for row in [columns, *rows]) for place in range(len(columns))]
    is_number = [
        bool(rows) and all(_is_number(row[place]) for row in rows) for place in range(len(columns))
    ]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, is_number, strict=True)
        ]
        return f"| {' | '.join(padded)} |"

    rule = [
        "-" * (width - 1) + (":" if right else "-")
        for width, right in zip(widths, is_number, strict=True)
    ]
    return [line(columns), line(rule), *map(line, rows)]


def print_last_line(figures: Mapping[str, Any]) -> None:
    """Prints the figures as one line of JSON, which must be the last; None: not measured."""
    print(json.dumps(figures), flush=True)


def print_lines(lines: Sequence[str]) -> None:
    """Prints lines and an empty one after them."""
    print("\n".join([*lines, ""]), flush=True)


def tell(what: str) -> None:
    """Tells on standard error what is being measured, and the seconds since the beginning."""
    print(f"[{time.perf_counter() - _STARTED:4.0f} s] {what}", file=sys.stderr, flush=True)


def fail(error: Exception | str) -> int:
    """Tells on standard error why nothing was measured; returns the exit status for it.

    That is 3 where something is not on this machine, 2 for another mistake of the user, 1 where
    what was measured failed.
    """
    print(error, file=sys.stderr)
    if isinstance(error, LackingError | FileNotFoundError | ModuleNotFoundError):
        return LACKING
    return MISTAKE if isinstance(error, ValueError | str) else FAILED


def _is_number(cell: str) -> bool:
    return cell in {"", "-"} or cell.lstrip("-≈")[:1].isdigit()


def _commit() -> str:
    """Returns the commit of the working tree, and whether files differ from it."""
    revision = _git("rev-parse", "--short=12", "HEAD")
    if revision is None:
        return "not known (no git checkout)"
    return revision + (" with changes" if _git("status", "--porcelain", "-uno") else "")


def _git(*arguments: str) -> str | None:
    try:
        result = subprocess.run(
            ["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    return result.stdout.strip() if result.returncode == 0 else None
