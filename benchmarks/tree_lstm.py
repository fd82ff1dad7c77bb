"""Measures the encoders beside other implementations of the same equations.

``python -m benchmarks.tree_lstm`` trains each on the same sentences, on one thread: forward,
backward and Adam, the orders of computation made beforehand. Before any timing it checks that all
compute the same. The last line it prints is one JSON object.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import torch

from benchmarks.arithmetic import best_product_rate
from benchmarks.comparison import VIEWS, Comparison, Contestant, Sentences, Task, compare
from benchmarks.corpus import add_corpus_options, corpus_folders, first_sentences, random_vectors
from benchmarks.report import fail, header, markdown_table, print_last_line, print_lines
from benchmarks.schedule_rate import ScheduleRate, schedule_rates
from benchmarks.step_profile import profile_rows
from models.kernels.gemm import choose_gemm, use_gemm

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}

COLUMNS = (
    "encoder",
    "width",
    "implementation",
    "precision",
    "gemm",
    "sentences/s",
    "ours is × as fast",
    "share of best gemm",
    "max difference",
    "MiB a step",
)
PROFILE_COLUMNS = ("encoder", "width", "part of a step", "ms", "%")
SCHEDULE_COLUMNS = ("order of computation", "nodes", "ms", "M nodes/s")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 0, or 2 for a user's mistake."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(given)
    torch.set_num_threads(1)
    print_lines(header("benchmarks.tree_lstm", given, seed=options.seed))
    try:
        task = _task(options)
    except (FileNotFoundError, ValueError) as error:
        return fail(str(error))
    print_lines(_facts(task))
    dtypes = [DTYPES[name] for name in options.precision]
    if options.profile:
        print_lines(markdown_table(PROFILE_COLUMNS, profile_rows(task, options.hidden)))
        return 0
    try:
        _run(task, options, dtypes)
    except ModuleNotFoundError as error:
        return fail(str(error))
    return 0


def _run(task: Task, options: argparse.Namespace, dtypes: list[torch.dtype]) -> None:
    """Measures and prints the tables and the last line."""
    rates = _product_rates(dtypes, options)
    comparisons = []
    for hidden_size in options.hidden:
        for view in VIEWS:
            print(f"measuring {view} at {hidden_size}", file=sys.stderr)
            comparisons.append(compare(task, view, hidden_size, dtypes))
        # Again, since the machine may by now be faster: the share must not gain by that.
        again = _product_rates(dtypes, options)
        rates = {dtype: max(rate, again[dtype]) for dtype, rate in rates.items()}
    use_gemm("default")
    rows = [row for comparison in comparisons for row in _rows(comparison, task, rates)]
    print_lines(markdown_table(COLUMNS, rows))
    schedules = schedule_rates(task.sentences.block, options.schedule_repeats)
    step_seconds = sum(
        comparison.ours().step.seconds
        for comparison in comparisons
        if comparison.hidden_size == max(options.hidden) and comparison.view in {"DEP", "CONST"}
    )
    columns = (*SCHEDULE_COLUMNS, f"% of a DEP,CONST step at {max(options.hidden)}")
    print_lines(markdown_table(columns, _schedule_rows(schedules, step_seconds)))
    best = ", ".join(f"{_name(dtype)} {rate / 1e9:.1f}" for dtype, rate in rates.items())
    print_lines([f"best square gemm, GFLOP/s: {best}"])
    print_last_line(_figures(comparisons, schedules, rates))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tree_lstm", description=(__doc__ or "").partition("\n")[0]
    )
    add_corpus_options(parser)
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--hidden", type=int, nargs="+", default=[256, 600, 1200])
    parser.add_argument("--repeats", type=int, default=3, help="each is judged by its best one")
    parser.add_argument(
        "--gemm",
        choices=("auto", "default", "onednn", "fastest"),
        default="auto",
        help="who multiplies float32 matrices for our encoders; auto is what a training chooses, "
        "fastest takes the faster one even where it is so by chance; the others have the default",
    )
    parser.add_argument(
        "--precision",
        choices=tuple(DTYPES),
        nargs="+",
        default=["float32"],
        help="float32 is always measured; bfloat16 adds rows of our encoders in it",
    )
    parser.add_argument(
        "--recursion-sentences",
        type=int,
        default=20,
        help="recursion node by node is slow: it is measured on so many sentences, and forward "
        "and backward scaled by the number of nodes",
    )
    parser.add_argument("--gemm-sizes", type=int, nargs="+", default=[1024, 1536, 2048])
    parser.add_argument("--schedule-repeats", type=int, default=200)
    parser.add_argument(
        "--profile", action="store_true", help="show instead where our encoders' time goes"
    )
    return parser


def _task(options: argparse.Namespace) -> Task:
    for name in ("sentences", "recursion_sentences", "repeats", "word_size", "schedule_repeats"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name.replace('_', '-')} must be at least 1")
    options.precision = list(dict.fromkeys(["float32", *options.precision]))
    folders = corpus_folders(options.corpus)
    vectors = random_vectors(folders, options.word_size, options.seed)
    block = first_sentences(folders, vectors, options.sentences)
    gemm = options.gemm
    if gemm in {"auto", "fastest"}:
        gemm = choose_gemm() if gemm == "auto" else choose_gemm(margin=1.0)
    return Task(
        sentences=Sentences(block, torch.from_numpy(vectors.matrix)),
        recursion_sentences=options.recursion_sentences,
        gemm=gemm,
        repeats=options.repeats,
        seed=options.seed,
    )


def _facts(task: Task) -> list[str]:
    block = task.sentences.block
    batch, _ = task.sentences.prepare()
    recursion = task.sentences.first(task.recursion_sentences).block
    return [
        f"{len(block)} sentences, {len(block.token_ids)} tokens of {len(batch.word_ids)} word "
        f"types, longest {block.lengths.max()}; word vectors of {task.sentences.vectors.shape[1]} "
        "dimensions, not trained",
        f"recursion: measured on the first {len(recursion)} sentences ({len(recursion.token_ids)} "
        "tokens), forward and backward scaled by the number of nodes, Adam added once",
        f"best of {task.repeats} interleaved repeats; forward, backward and Adam, orders of "
        f"computation made beforehand; gemm of our encoders: {task.gemm}, of the others: default",
    ]


def _product_rates(
    dtypes: Sequence[torch.dtype], options: argparse.Namespace
) -> dict[torch.dtype, float]:
    return {
        dtype: best_product_rate(dtype, options.gemm_sizes, options.repeats) for dtype in dtypes
    }


def _rows(
    comparison: Comparison, task: Task, rates: dict[torch.dtype, float]
) -> list[tuple[str, ...]]:
    ratios = comparison.times_faster()
    return [
        (
            comparison.view,
            str(comparison.hidden_size),
            contestant.step.label,
            _name(contestant.dtype),
            contestant.step.gemm,
            f"{len(task.sentences.block) / contestant.step.seconds:.1f}",
            f"{ratios[contestant.name]:.2f}" if contestant.name in ratios else "-",
            "-" if contestant.cost is None else f"{_gemm_share(contestant, rates):.2f}",
            f"{contestant.difference:.1e}",
            "-" if contestant.cost is None else f"{contestant.cost.peak_bytes / (1 << 20):.0f}",
        )
        for contestant in comparison.contestants
    ]


def _schedule_rows(schedules: Sequence[ScheduleRate], step_seconds: float) -> list[tuple[str, ...]]:
    return [
        (
            rate.label,
            str(rate.nodes),
            f"{1e3 * rate.seconds:.3f}",
            f"{rate.nodes_per_second / 1e6:.1f}",
            f"{100 * rate.seconds / step_seconds:.3f}",
        )
        for rate in schedules
    ]


def _figures(
    comparisons: Sequence[Comparison],
    schedules: Sequence[ScheduleRate],
    rates: dict[torch.dtype, float],
) -> dict[str, float]:
    figures: dict[str, float] = {}
    for comparison in comparisons:
        prefix = f"{comparison.view.lower()}_{comparison.hidden_size}"
        for name, ratio in comparison.times_faster().items():
            figures[f"{prefix}_vs_{name}"] = round(ratio, 3)
        figures[f"{prefix}_gemm_share"] = round(_gemm_share(comparison.ours(), rates), 4)
    figures["schedule_nodes_per_second"] = round(schedules[0].nodes_per_second)
    return figures


def _gemm_share(contestant: Contestant, rates: dict[torch.dtype, float]) -> float:
    """Returns the arithmetic done in a step over what the best square product does meanwhile."""
    assert contestant.cost is not None
    return contestant.cost.flops / contestant.step.seconds / rates[contestant.dtype]


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


if __name__ == "__main__":
    sys.exit(main())
