"""Measures the import of word vectors beside gensim's loader, and what an opened folder takes.

``python -m benchmarks.word_vectors`` writes text as GloVe's is, 2 million words of 300 numbers by
default (5 GB, beside 1.2 GB of the folder that is made of it), imports it, has gensim load it, each
in a process of its own, and opens the folder. ``--quick`` takes 50,000 words. The last line it
prints is one JSON object:

- ``vs_gensim`` and ``vs_gensim_cpu``: gensim's wall and CPU time over ours; ours has checked every
  number, written the folder and taken its sha256, gensim's has the vectors in memory.
- ``memory_vs_gensim``: our peak memory over gensim's.
- ``open_seconds``, ``first_lookup_seconds``; ``rows_mib``: what reading 50,000 rows then takes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quick import parse_arguments
from benchmarks.report import (
    REPOSITORY,
    Table,
    fail,
    header,
    print_last_line,
    print_lines,
    print_table,
    tell,
)
from treeviews.pipeline.base.bundled import how_to_install
from treeviews.pipeline.base.machine import available_cores

QUICK = {"words": 50_000}
ROWS_READ = 50_000
_DISTINCT_ROWS = 5_000
"""Of numbers, which are written again and again: a parser does not know."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 0, or what `fail` says of what went wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parse_arguments(_parser(), given, QUICK)
    words = options.words
    try:
        if min(words, options.size) < 1:
            raise ValueError("--words and --size must be at least 1")
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            text = Path(folder) / "glove.txt"
            tell("writing the text")
            write_glove(text, words, options.size)
            num_bytes = text.stat().st_size
            ours = _measured("ours", text, Path(folder) / "vectors")
            has_gensim = importlib.util.find_spec("gensim") is not None
            gensim = None if options.no_gensim or not has_gensim else _measured("gensim", text)
            opened = _measured("open", Path(folder) / "vectors", min(ROWS_READ, words // 2))
    except (OSError, RuntimeError, ValueError) as error:
        return fail(error)
    what = f"{words:,} synthetic words of {options.size} numbers, {num_bytes / 1e9:.2f} GB"
    run = header("benchmarks.word_vectors", given, text=what, seed=0, quick=options.quick)
    print_table(_import_table(ours, gensim), run)
    if not (has_gensim or options.no_gensim):
        print_lines([f"gensim is not installed, so not compared ({how_to_install('vectors')})"])
    print_table(_open_table(opened), run)
    print_last_line(_figures(words, options.size, ours, gensim, opened))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.word_vectors", description=__doc__)
    parser.add_argument("--words", type=int, default=2_000_000, help="default: 2,000,000")
    parser.add_argument("--size", type=int, default=300, help="numbers a word; default: 300")
    parser.add_argument("--no-gensim", action="store_true", help="measure ours alone")
    parser.add_argument("--folder", type=Path, help="for the files; by default the system's")
    return parser


def write_glove(path: Path, num_words: int, size: int) -> None:
    """Writes a word and its numbers a line, as GloVe's text has them: five digits, no header."""
    draw = np.random.default_rng(0)
    rows = draw.normal(scale=0.4, size=(min(num_words, _DISTINCT_ROWS), size))
    numbers = [" ".join(f"{value:.5g}" for value in row) for row in rows.tolist()]
    with path.open("w", encoding="utf-8") as stream:
        for number in range(num_words):
            stream.write(f"w{number} {numbers[number % len(numbers)]}\n")


def _measured(*arguments: Any) -> dict[str, Any]:
    """Returns the figures that a process of its own prints.

    Raises:
        RuntimeError: it failed.
    """
    tell(f"a process of its own: {arguments[0]}")
    command = [sys.executable, "-m", "benchmarks.word_vectors_process", *map(str, arguments)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} failed: {done.stderr.strip()}")
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _import_table(ours: dict[str, Any], gensim: dict[str, Any] | None) -> Table:
    named = {"treeviews vectors import": ours, "gensim load_word2vec_format": gensim}
    rows = [
        [name, *(f"{one[key]:,.1f}" for key in ("seconds", "cpu_seconds", "peak_mib"))]
        for name, one in named.items()
        if one is not None
    ]
    return Table(
        "Import of GloVe's text",
        ["what", "seconds", "CPU seconds", "peak MiB"],
        rows,
        [
            f"each in a process of its own, which may use {available_cores()} cores; ours writes "
            "a folder in half precision with its sha256, gensim's leaves float32 in memory"
        ],
    )


def _open_table(opened: dict[str, Any]) -> Table:
    rows = [
        ["open the folder", f"{opened['open_seconds']:.3f}", f"{opened['open_mib']:.1f}"],
        ["look the first word up", f"{opened['first_lookup_seconds']:.3f}", "-"],
        [
            f"read {opened['rows']:,} rows",
            f"{opened['rows_seconds']:.3f}",
            f"{opened['rows_mib']:.1f}",
        ],
    ]
    note = (
        f"memory: what the process takes more, pages of the mapped file included; the rows alone "
        f"are {opened['rows_own_mib']} MiB as float32; file in the system's cache; ranks of the "
        "rows spread as words are over ranks in text"
    )
    return Table("An opened folder", ["what", "seconds", "MiB"], rows, [note])


def _figures(
    words: int,
    size: int,
    ours: dict[str, Any],
    gensim: dict[str, Any] | None,
    opened: dict[str, Any],
) -> dict[str, Any]:
    def ratio(name: str, *, ours_over: bool = False) -> float | None:
        if gensim is None:
            return None
        over, under = (ours, gensim) if ours_over else (gensim, ours)
        return round(float(over[name]) / max(float(under[name]), 1e-9), 3)

    return {
        "words": words,
        "size": size,
        **{f"import_{name}": ours[name] for name in ("seconds", "cpu_seconds", "peak_mib")},
        "vs_gensim": ratio("seconds"),
        "vs_gensim_cpu": ratio("cpu_seconds"),
        "memory_vs_gensim": ratio("peak_mib", ours_over=True),
        **opened,
    }


if __name__ == "__main__":
    sys.exit(main())
