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
from benchmarks.contestants import VIEWS, Task
from benchmarks.corpus import (
    add_corpus_options,
    corpus_folders,
    first_sentences,
    identity,
    random_vectors,
)
from benchmarks.harness import Benchmark, Measured, Table, check_least, tell
from benchmarks.references.pytorch_tree_lstm import treelstm_module
from treeviews.models.corpus.parsed_corpus import CorpusFolders
from treeviews.models.training.numerics import choose_gemm

COLUMNS = (
    *("encoder", "width", "implementation", "precision", "gemm", "sentences/s", "median"),
    *("CPU ms a step", "ours is × as fast", "× by CPU time", "× with equal gemm", "difference"),
)


def figures(comparisons: Sequence[Comparison]) -> dict[str, float]:
    """Returns the numbers of the last line."""
    found: dict[str, float] = {}
    for comparison in comparisons:
        prefix = f"{comparison.view.lower()}_{comparison.hidden_size}"
        same = comparison.times_faster("default")
        by_cpu = comparison.times_faster_by_cpu()
        for name, ratio in comparison.times_faster().items():
            found[f"{prefix}_vs_{name}"] = round(ratio, 3)
            found[f"{prefix}_vs_{name}_cpu"] = round(by_cpu[name], 3)
            found[f"{prefix}_vs_{name}_same_gemm"] = round(same[name], 3)
    return found


def comparison_table(task: Task, comparisons: Sequence[Comparison]) -> Table:
    """Returns the table of all implementations."""
    return Table(
        "Sentence encoders beside other implementations of the same equations",
        COLUMNS,
        [row for comparison in comparisons for row in _rows(comparison, task)],
        _notes(task),
    )


def _rows(comparison: Comparison, task: Task) -> list[tuple[str, ...]]:
    ratios = (
        comparison.times_faster(),
        comparison.times_faster_by_cpu(),
        comparison.times_faster("default"),
    )
    num_sentences = len(task.block)
    return [
        (
            comparison.view,
            str(comparison.hidden_size),
            contestant.label,
            str(contestant.entry.dtype).removeprefix("torch."),
            contestant.entry.gemm,
            f"{num_sentences / contestant.seconds:.1f}",
            f"{num_sentences / contestant.median_seconds:.1f}",
            f"{1e3 * contestant.cpu_seconds:.1f}",
            *(
                f"{one[name]:.2f}" if (name := contestant.entry.name) in one else "-"
                for one in ratios
            ),
            "-" if contestant is comparison.ours() else f"{contestant.difference:.1e}",
        )
        for contestant in comparison.contestants
    ]


def _notes(task: Task) -> list[str]:
    block = task.block
    batch, vectors = task.prepare()
    return [
        f"a batch of {len(block)} sentences, {len(block.token_ids)} tokens of "
        f"{len(batch.word_ids)} word types, longest {block.lengths.max()}; word vectors of "
        f"{vectors.shape[1]} dimensions, drawn at random, not trained",
        "DEP: Child-Sum Tree-LSTM over dependency trees; CONST: binary N-ary Tree-LSTM over "
        "constituency trees; SEQ: GRU over the words; width: values in a hidden state",
        "sentences/s: of training steps (forward, backward and Adam) on that batch, its orders of "
        f"computation made beforehand; of the fastest of {task.repeats} steps, after one that is "
        "not counted, the implementations taking turns; median: of the step in the middle; all "
        "other columns are of the fastest",
        "sentences/s, median and × as fast are of time on the clock; CPU ms and × by CPU time of "
        "the processor's time, the least of those steps, which other work on the machine distorts "
        "less",
        "gemm: who multiplies float32 matrices, PyTorch's default BLAS or oneDNN; for ours "
        f"{task.gemm} was chosen, the others have the default",
        "ours is × as fast: the time of the others' steps over that of ours in float32 with "
        f"gemm {task.gemm}; × with equal gemm: over ours with gemm default, as they have it",
        "difference: the largest of the outputs and of each weight's gradient, relative by norm, "
        "from ours in float32, checked before any timing",
        "each implementation runs in a process of its own, as in a training; each process keeps "
        "the memory that it frees, as our jobs do, so that no step takes fresh pages from the "
        "operating system; ours has buffers besides, which it keeps from step to step",
    ]


DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
QUICK = {"sentences": 100, "hidden": [256]}


def _measure(options: argparse.Namespace) -> Measured:
    torch.set_num_threads(1)
    treelstm_module()  # what would fail later without it is not begun
    check_least(options, sentences=1, repeats=1, word_size=1)
    folders = corpus_folders(options.corpus)
    task = _task(options, folders)
    comparisons = _compare_all(task, options)
    found = {**figures(comparisons), "gemm": task.gemm, **identity(folders)}
    return Measured([comparison_table(task, comparisons)], found, corpus=folders, seed=options.seed)


def _compare_all(task: Task, options: argparse.Namespace) -> list[Comparison]:
    """Returns a comparison for each view and width; tells on standard error what is measured."""
    dtypes = [DTYPES[name] for name in options.precision]
    comparisons = []
    for hidden_size in options.hidden:
        for view in VIEWS:
            tell(f"measuring {view} at {hidden_size}")
            comparisons.append(compare(task, view, hidden_size, dtypes))
    return comparisons


def _add_options(parser: argparse.ArgumentParser) -> None:
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


def _task(options: argparse.Namespace, folders: CorpusFolders) -> Task:
    options.precision = list(dict.fromkeys(["float32", *options.precision]))
    vectors = random_vectors(folders, options.word_size, options.seed)
    block = first_sentences(folders, vectors, options.sentences)
    return Task(
        block=block,
        vectors=torch.from_numpy(vectors.matrix),
        gemm=choose_gemm() if options.gemm == "auto" else options.gemm,
        repeats=options.repeats,
        seed=options.seed,
    )


main = Benchmark("benchmarks.tree_lstm", __doc__ or "", _add_options, _measure, QUICK)

if __name__ == "__main__":
    sys.exit(main())
