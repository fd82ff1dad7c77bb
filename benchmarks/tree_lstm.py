"""Measures the encoders beside other implementations of the same equations.

``python -m benchmarks.tree_lstm`` trains each on the same sentences, on one thread: forward,
backward and Adam, the orders of computation made beforehand. Each runs in a process of its own, as
in a training, and the processes take turns, one step at a time while the others wait. Before any
timing it checks that all compute the same. The last line it prints is one JSON object.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import torch

from benchmarks.comparison import Comparison, compare
from benchmarks.contestants import VIEWS, Sentences, Task
from benchmarks.corpus import (
    add_corpus_options,
    corpus_folders,
    first_sentences,
    identity,
    random_vectors,
)
from benchmarks.quick import parse_arguments
from benchmarks.references.pytorch_tree_lstm import treelstm_module
from benchmarks.report import fail, header, print_last_line, print_table, tell
from benchmarks.tree_lstm_tables import comparison_table, figures
from treeviews.models.corpus.parsed_corpus import CorpusFolders
from treeviews.models.training.numerics import choose_gemm

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
QUICK = {"sentences": 100, "hidden": [256]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 0, or what `fail` says of what went wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parse_arguments(_parser(), given, QUICK)
    torch.set_num_threads(1)
    try:
        treelstm_module()  # what would fail later without it is not begun
        folders = corpus_folders(options.corpus)
        task = _task(options, folders)
        run = header(
            *("benchmarks.tree_lstm", given),
            corpus=folders,
            seed=options.seed,
            quick=options.quick,
        )
        comparisons = _measure(task, options)
    except (ChildProcessError, FileNotFoundError, ModuleNotFoundError, ValueError) as error:
        return fail(error)
    print_table(comparison_table(task, comparisons), run)
    print_last_line({**figures(comparisons), "gemm": task.gemm, **identity(folders)})
    return 0


def _measure(task: Task, options: argparse.Namespace) -> list[Comparison]:
    """Returns a comparison for each view and width; tells on standard error what is measured."""
    dtypes = [DTYPES[name] for name in options.precision]
    comparisons = []
    for hidden_size in options.hidden:
        for view in VIEWS:
            tell(f"measuring {view} at {hidden_size}")
            comparisons.append(compare(task, view, hidden_size, dtypes))
    return comparisons


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tree_lstm", description=(__doc__ or "").partition("\n")[0]
    )
    add_corpus_options(parser)
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--hidden", type=int, nargs="+", default=[256, 600, 1200])
    parser.add_argument("--repeats", type=int, default=3, help="steps of each; its best one counts")
    parser.add_argument(
        "--gemm",
        choices=("auto", "default", "onednn"),
        default="auto",
        help="who multiplies float32 matrices for our encoders; auto is what a training chooses; "
        "the others have the default, with which ours are measured as well",
    )
    parser.add_argument(
        "--precision",
        choices=tuple(DTYPES),
        nargs="+",
        default=["float32"],
        help="float32 is always measured; bfloat16 adds rows of our encoders in it",
    )
    return parser


def _task(options: argparse.Namespace, folders: CorpusFolders) -> Task:
    for name in ("sentences", "repeats", "word_size"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name.replace('_', '-')} must be at least 1")
    options.precision = list(dict.fromkeys(["float32", *options.precision]))
    vectors = random_vectors(folders, options.word_size, options.seed)
    block = first_sentences(folders, vectors, options.sentences)
    return Task(
        sentences=Sentences(block, torch.from_numpy(vectors.matrix)),
        gemm=choose_gemm() if options.gemm == "auto" else options.gemm,
        repeats=options.repeats,
        seed=options.seed,
    )


if __name__ == "__main__":
    sys.exit(main())
