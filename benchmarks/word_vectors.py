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
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Benchmark, Measured, Table, check_least, measured_apart, tell
from treeviews.pipeline.base.bundled import how_to_install
from treeviews.pipeline.base.machine import available_cores

QUICK = {"words": 50_000}
ROWS_READ = 50_000
_DISTINCT_ROWS = 5_000
"""Of numbers, which are written again and again: a parser does not know."""


def _measure(options: argparse.Namespace) -> Measured:
    check_least(options, words=1, size=1)
    words = options.words
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        text, vectors = Path(folder) / "glove.txt", Path(folder) / "vectors"
        tell("writing the text")
        write_glove(text, words, options.size)
        num_bytes = text.stat().st_size
        ours = _apart("ours", text, vectors)
        has_gensim = importlib.util.find_spec("gensim") is not None
        gensim = None if options.no_gensim or not has_gensim else _apart("gensim", text)
        opened = _apart("open", vectors, min(ROWS_READ, words // 2))
    absent = f"gensim is not installed, so not compared ({how_to_install('vectors')})"
    return Measured(
        [_import_table(ours, gensim), _open_table(opened)],
        _figures(words, options.size, ours, gensim, opened),
        text=f"{words:,} synthetic words of {options.size} numbers, {num_bytes / 1e9:.2f} GB",
        remarks=[] if has_gensim or options.no_gensim else [absent],
    )


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--words", type=int, default=2_000_000, help="default: 2,000,000")
    parser.add_argument("--size", type=int, default=300, help="numbers a word; default: 300")
    parser.add_argument("--no-gensim", action="store_true", help="measure ours alone")
    parser.add_argument("--folder", type=Path, help="for the files; by default the system's")


def write_glove(path: Path, num_words: int, size: int) -> None:
    """Writes a word and its numbers a line, as GloVe's text has them: five digits, no header."""
    draw = np.random.default_rng(0)
    rows = draw.normal(scale=0.4, size=(min(num_words, _DISTINCT_ROWS), size))
    numbers = [" ".join(f"{value:.5g}" for value in row) for row in rows.tolist()]
    with path.open("w", encoding="utf-8") as stream:
        for number in range(num_words):
            stream.write(f"w{number} {numbers[number % len(numbers)]}\n")


def _apart(*arguments: Any) -> dict[str, Any]:
    """Returns the figures that a process of its own prints."""
    tell(f"a process of its own: {arguments[0]}")
    module = ("-m", "benchmarks.word_vectors_process")
    return measured_apart(*module, *map(str, arguments), threads=None)


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


main = Benchmark("benchmarks.word_vectors", __doc__ or "", _add_options, _measure, QUICK)

if __name__ == "__main__":
    sys.exit(main())
