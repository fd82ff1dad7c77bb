"""What all benchmarks share: their command line, what they print, and processes of their own.

A benchmark prints tables that each tell how to repeat them, and a last line, one JSON object for
programs. While it runs, it tells on standard error what it is at. Every benchmark has ``--quick``,
declared as other values of its own options.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.corpus import identity
from treeviews.models.corpus.parsed_corpus import CorpusFolders
from treeviews.models.report.sections import Table as MarkdownTable
from treeviews.models.report.sections import table_lines
from treeviews.models.training.numerics import versions
from treeviews.pipeline.base.foreign_text import without_secrets
from treeviews.pipeline.base.job_server import job_environment
from treeviews.pipeline.base.machine import processor

REPOSITORY = Path(__file__).resolve().parent.parent
FAILED, MISTAKE, LACKING = 1, 2, 3
"""Exit statuses of a benchmark, beside 0."""
ROUGH = (
    "quick: a small run of about a minute, whose figures are rough; measure without --quick before "
    "you compare them with others"
)
"""What stands under the tables of a quick run."""
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


@dataclass(frozen=True, slots=True)
class Measured:
    """What a benchmark measured."""

    tables: Sequence[Table]
    figures: Mapping[str, Any]
    """Of the last line; None: not measured."""
    text: str = ""
    """What was read, in words."""
    corpus: CorpusFolders | None = None
    """The parsed text, if that is what was read."""
    seed: int = 0
    device: str = "cpu"
    remarks: Sequence[str] = ()
    """What stands under the tables."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark's command: called with the arguments, it returns the exit status."""

    module: str
    purpose: str
    """The module's docstring, which ``--help`` shows."""
    add_options: Callable[[argparse.ArgumentParser], None]
    measure: Callable[[argparse.Namespace], Measured]
    quick: Mapping[str, Any]
    """What a quick run has in the place of the defaults, by the option's name; what the command
    line says goes before. Empty: it has no quick mode."""

    def __call__(self, arguments: Sequence[str] | None = None) -> int:
        """Runs it; returns 0, or what `fail` says of what went wrong."""
        given = sys.argv[1:] if arguments is None else list(arguments)
        options = self.options(given)
        try:
            measured = self.measure(options)
        except (OSError, ImportError, RuntimeError, ValueError) as error:
            return fail(error)
        run = run_lines(self.module, given, measured, quick=options.quick)
        for table in measured.tables:
            print_table(table, run)
        for remark in measured.remarks:
            print(f"{remark}\n")
        print(json.dumps(measured.figures), flush=True)
        return 0

    def options(self, given: Sequence[str]) -> argparse.Namespace:
        """Returns the options of a command line."""
        parser = argparse.ArgumentParser(
            prog=f"python -m {self.module}",
            description=self.purpose,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_options(parser)
        if not self.quick:
            parser.set_defaults(quick=False)
            return parser.parse_args(given)
        smaller = ", ".join(f"{n.replace('_', '-')} {_in_words(v)}" for n, v in self.quick.items())
        parser.add_argument(
            "--quick", action="store_true", help=f"about a minute, and rough: {smaller}"
        )
        options = parser.parse_args(given)
        assert vars(options).keys() >= self.quick.keys(), "a quick run has other values of options"
        if options.quick:
            parser.set_defaults(**self.quick)
        return parser.parse_args(given)


def check_least(options: argparse.Namespace, **least: int) -> None:
    """Refuses options below their least value; one that is not given may be None.

    Raises:
        ValueError: names the option.
    """
    for name, smallest in least.items():
        value = getattr(options, name)
        if value is not None and value < smallest:
            raise ValueError(f"--{name.replace('_', '-')} is {value}; give at least {smallest}")


def run_lines(
    module: str, arguments: Sequence[str], measured: Measured, *, quick: bool
) -> list[str]:
    """Returns the lines that say what ran: command, commit, machine, versions, seed and text.

    A quick run's first line says what that means.
    """
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    corpus = measured.corpus
    return [
        *([ROUGH] if quick else []),
        without_secrets(f"command: python -m {shlex.join([module, *arguments])}"),
        f"commit: {_commit()}",
        f"machine: {processor()}; {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f}; {torch.get_num_threads()} threads used; "
        f"device {measured.device}",
        f"versions: {used}",
        f"seed: {measured.seed}",
        f"text: {measured.text}"
        if corpus is None
        else f"corpus: {', digest of its shards '.join(identity(corpus).values())}",
    ]


def print_table(table: Table, run: Sequence[str]) -> None:
    """Prints a table so that it can be read and repeated alone.

    Args:
        run: what `run_lines` returned.
    """
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    words = [place for place, cells in enumerate(columns) if not all(map(_is_number, cells))]
    lines = table_lines(MarkdownTable("", table.columns, table.rows, words))
    notes = "\n".join(f"- {line}" for line in [*table.notes, *run])
    print(f"## {table.title}\n\n{lines}\n\n{notes}\n", flush=True)


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


def measured_apart(*command: str, threads: int | None = 1) -> dict[str, Any]:
    """Returns the figures that a process of its own prints as JSON.

    Args:
        command: arguments of Python.
        threads: that its libraries may use; None leaves it to them.

    Raises:
        RuntimeError: it failed; carries the last that it said.
    """
    done = subprocess.run(
        [sys.executable, *command],
        cwd=REPOSITORY,
        env=os.environ | ({} if threads is None else job_environment(threads=threads)),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip() or f"ended with {done.returncode}"
        raise RuntimeError(said.splitlines()[-1])
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1] if done.stdout else "{}")
    return figures


def device_of(name: str) -> torch.device:
    """Returns the device that ``auto``, ``cpu`` or ``cuda`` means here.

    Raises:
        LackingError: there is none.
    """
    has_cuda = torch.cuda.is_available()
    if name == "cuda" and not has_cuda:
        raise LackingError("--device cuda: PyTorch finds no CUDA device here; use --device cpu")
    return torch.device("cuda" if has_cuda and name != "cpu" else "cpu")


def device_name(device: torch.device) -> str:
    """Returns what a table calls the device."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def wait_for(device: torch.device) -> None:
    """Returns when the device has done all it was given; a CPU has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _in_words(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


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
