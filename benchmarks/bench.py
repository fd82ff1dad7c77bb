"""Runs every benchmark that has a quick mode, one after the other, and prints one page.

    python -m benchmarks.bench [--only tree_lstm parsing] [--corpus FOLDER] > page.md

What they tell while they run goes to standard error, the page to standard output: what became of
each, then the tables of all. Where something is lacking (a text, a library, a GPU), the page has
the reason and the remedy, and the others go on. The exit status is 1 where one failed otherwise,
else 0. The last line is one JSON object, with the figures of each.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import LACKING, Measured, Table, print_table, run_lines, tell
from benchmarks.stopwatch import Spent, Stopwatch, children_cpu_seconds
from treeviews.pipeline.base.job import end_in_words

READ_A_CORPUS = ("tree_lstm", "parsing", "frameworks", "evaluation", "shards")
"""Benchmarks that take ``--corpus`` in their quick mode."""
BENCHMARKS = (*READ_A_CORPUS, "splitting", "encode", "embedding", "word_vectors")
"""All that have a quick mode, in the order in which they run."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a benchmark."""

    name: str
    status: int
    spent: Spent
    """The processor's time is of all processes that it started and waited for, too."""
    page: str
    """Its tables."""
    figures: Mapping[str, Any]
    """Of its last line."""
    reason: str
    """What it said last; empty where it measured."""

    @property
    def outcome(self) -> str:
        """Returns it in a few words."""
        if self.status == 0:
            return "measured"
        return "lacks something" if self.status == LACKING else end_in_words(self.status)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmarks; returns 1 if one failed though it lacked nothing, else 0."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(given)
    names = list(dict.fromkeys(options.only))
    ended = []
    for number, name in enumerate(names, 1):
        tell(f"benchmark {number} of {len(names)}: {name}")
        takes_corpus = options.corpus is not None and name in READ_A_CORPUS
        ended.append(run_quick(name, ["--corpus", str(options.corpus)] if takes_corpus else []))
        tell(f"{name}: {ended[-1].outcome}, {ended[-1].spent.wall:.0f} s")
    run = run_lines("benchmarks.bench", given, Measured([], {}, text="see each"), quick=True)
    _print_page(ended, run)
    return int(any(one.status not in {0, LACKING} for one in ended))


def run_quick(name: str, arguments: Sequence[str]) -> Ended:
    """Returns what became of a benchmark's quick mode, in a process of its own.

    What it tells goes to standard error at once.
    """
    command = [sys.executable, "-m", f"benchmarks.{name}", "--quick", *arguments]
    watch, cpu_before = Stopwatch(), children_cpu_seconds()
    said = ""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        with subprocess.Popen(
            command, stdout=printed, stderr=subprocess.PIPE, text=True, errors="replace"
        ) as process:
            assert process.stderr is not None
            for line in process.stderr:
                print(line, end="", file=sys.stderr, flush=True)
                said = line.strip() or said
        printed.seek(0)
        page, figures = _divided(printed.read())
    spent = Spent(watch.read().wall, children_cpu_seconds() - cpu_before)
    status = process.returncode
    return Ended(name, status, spent, page, figures, reason=said if status else "")


def _divided(printed: str) -> tuple[str, dict[str, Any]]:
    """Returns a benchmark's tables, and the figures of its last line; none where it has none."""
    tables, _, last = printed.rstrip().rpartition("\n")
    try:
        figures = json.loads(last)
    except json.JSONDecodeError:
        figures = None
    return (tables.strip(), figures) if isinstance(figures, dict) else (printed.strip(), {})


def _print_page(ended: Sequence[Ended], run: Sequence[str]) -> None:
    rows = [
        [one.name, one.outcome, f"{one.spent.wall:.0f}", f"{one.spent.cpu:.0f}"] for one in ended
    ]
    notes = [
        "seconds: of a benchmark's whole process, on the clock and of the processor, by all "
        "processes that it waited for",
        *(f"{one.name}: {one.outcome}: {one.reason}" for one in ended if one.reason),
    ]
    columns = ("benchmark", "outcome", "seconds", "CPU seconds")
    print("# Quick benchmarks\n")
    print_table(Table("What became of each", columns, rows, notes), run)
    for one in ended:
        if one.page:
            print(f"# {one.name}\n\n{one.page}\n")
    figures = {one.name: dict(one.figures) for one in ended if one.figures}
    print(json.dumps(figures), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    some = f"these alone; default: {' '.join(BENCHMARKS)}"
    add("--only", nargs="+", choices=BENCHMARKS, default=BENCHMARKS, metavar="NAME", help=some)
    add("--corpus", type=Path, help="a parsed corpus; by default the newest of python-docs")
    return parser


if __name__ == "__main__":
    sys.exit(main())
