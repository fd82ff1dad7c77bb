"""The tables and the last line of `benchmarks.tree_lstm`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from benchmarks.comparison import Comparison, Contestant
from benchmarks.contestants import Task
from benchmarks.report import Table
from benchmarks.schedule_rate import ScheduleRate

VIEWS_NOTE = (
    "DEP: Child-Sum Tree-LSTM over dependency trees; CONST: binary N-ary Tree-LSTM over "
    "constituency trees; SEQ: GRU over the words; width: values in a hidden state"
)
PROCESSES_NOTE = (
    "each implementation runs in a process of its own, as in a training; each process keeps the "
    "memory that it frees, as our jobs do, so that no step takes fresh pages from the operating "
    "system; ours has buffers besides, which it keeps from step to step"
)


@dataclass(frozen=True, slots=True)
class Results:
    """What `benchmarks.tree_lstm` measured."""

    task: Task
    comparisons: Sequence[Comparison]
    schedules: Sequence[ScheduleRate]
    """Of the whole batch, then of its parts."""
    product_rates: Mapping[torch.dtype, float]
    """Operations a second of the best square product in each precision."""

    def gemm_share(self, contestant: Contestant) -> float:
        """Returns the arithmetic done in a step over what the best product does meanwhile."""
        assert contestant.cost is not None
        rate = contestant.cost.flops / contestant.seconds
        return rate / self.product_rates[contestant.entry.dtype]

    def tree_step_seconds(self) -> dict[int, float]:
        """Returns for each width the time of a step of DEP and CONST, which need both trees."""
        seconds: dict[int, float] = {}
        for comparison in self.comparisons:
            if comparison.view != "SEQ":
                took = comparison.ours().seconds
                seconds[comparison.hidden_size] = seconds.get(comparison.hidden_size, 0.0) + took
        return seconds

    def figures(self) -> dict[str, float]:
        """Returns the numbers of the last line."""
        figures: dict[str, float] = {}
        for comparison in self.comparisons:
            prefix = f"{comparison.view.lower()}_{comparison.hidden_size}"
            same = comparison.times_faster("default")
            by_cpu = comparison.times_faster_by_cpu()
            for name, ratio in comparison.times_faster().items():
                figures[f"{prefix}_vs_{name}"] = round(ratio, 3)
                figures[f"{prefix}_vs_{name}_cpu"] = round(by_cpu[name], 3)
                figures[f"{prefix}_vs_{name}_same_gemm"] = round(same[name], 3)
            figures[f"{prefix}_gemm_share"] = round(self.gemm_share(comparison.ours()), 4)
        batch = self.schedules[0]
        figures["schedule_nodes_per_second"] = round(batch.nodes / batch.best)
        figures["schedule_nodes_per_second_median"] = round(batch.nodes / batch.median)
        for hidden_size, seconds in self.tree_step_seconds().items():
            percent = 100 * batch.median / seconds
            figures[f"schedule_percent_of_step_{hidden_size}"] = round(percent, 4)
        return figures


def sentences_note(task: Task) -> str:
    """Returns what the encoders are measured on."""
    block = task.sentences.block
    batch, vectors = task.sentences.prepare()
    return (
        f"a batch of {len(block)} sentences, {len(block.token_ids)} tokens of "
        f"{len(batch.word_ids)} word types, longest {block.lengths.max()}; word vectors of "
        f"{vectors.shape[1]} dimensions, drawn at random, not trained"
    )


def comparison_table(results: Results) -> Table:
    """Returns the table of all implementations."""
    return Table(
        "Sentence encoders beside other implementations of the same equations",
        (
            *("encoder", "width", "implementation", "precision", "gemm", "sentences/s", "median"),
            *("CPU ms a step", "ours is × as fast", "× by CPU time", "× with equal gemm"),
            *("share of best gemm", "difference", "MiB a step"),
        ),
        [row for comparison in results.comparisons for row in _rows(comparison, results)],
        _comparison_notes(results),
    )


def _rows(comparison: Comparison, results: Results) -> list[tuple[str, ...]]:
    ratios, same = comparison.times_faster(), comparison.times_faster("default")
    by_cpu = comparison.times_faster_by_cpu()
    num_sentences = len(results.task.sentences.block)
    return [
        (
            comparison.view,
            str(comparison.hidden_size),
            contestant.label,
            _name(contestant.entry.dtype),
            contestant.entry.gemm,
            f"{num_sentences / contestant.seconds:.1f}",
            f"{num_sentences / contestant.median_seconds:.1f}",
            f"{1e3 * contestant.cpu_seconds:.1f}",
            f"{ratios[contestant.entry.name]:.2f}" if contestant.entry.name in ratios else "-",
            f"{by_cpu[contestant.entry.name]:.2f}" if contestant.entry.name in by_cpu else "-",
            f"{same[contestant.entry.name]:.2f}" if contestant.entry.name in same else "-",
            "-" if contestant.cost is None else f"{results.gemm_share(contestant):.2f}",
            "-" if contestant is comparison.ours() else f"{contestant.difference:.1e}",
            "-" if contestant.cost is None else f"{contestant.cost.peak_bytes / (1 << 20):.0f}",
        )
        for contestant in comparison.contestants
    ]


def _comparison_notes(results: Results) -> list[str]:
    task = results.task
    recursion = task.sentences.first(task.recursion_sentences).block
    best = " and ".join(
        f"{rate / 1e9:.1f} GFLOP/s in {_name(dtype)}"
        for dtype, rate in results.product_rates.items()
    )
    return [
        sentences_note(task),
        VIEWS_NOTE,
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
        "share of best gemm: the rate of a step's matrix products, taken over the whole step, over "
        f"the best rate of a product of two square matrices: {best}",
        "difference: the largest of the outputs and of each weight's gradient, relative by norm, "
        "from ours in float32, checked before any timing",
        "MiB a step: the most memory held at once of what the first step takes itself",
        PROCESSES_NOTE,
        f"recursion: measured on the first {len(recursion)} sentences ({len(recursion.token_ids)} "
        "tokens), forward and backward scaled by the number of nodes, Adam added once",
    ]


def schedule_table(results: Results) -> Table:
    """Returns the table of how long it takes to find the trees' orders of computation."""
    seconds = results.tree_step_seconds()
    return Table(
        "From arrays of tree nodes to an order of computation",
        (
            *("trees", "nodes", "best ms", "M nodes/s at best", "median ms", "M nodes/s at median"),
            *(f"% of a step at {hidden_size}" for hidden_size in seconds),
        ),
        [
            (
                schedule.label,
                str(schedule.nodes),
                *_time_and_rate(schedule.nodes, schedule.best),
                *_time_and_rate(schedule.nodes, schedule.median),
                *(f"{100 * schedule.median / step:.3f}" for step in seconds.values()),
            )
            for schedule in results.schedules
        ],
        [
            sentences_note(results.task),
            "a dependency tree has a node a token, a binary constituency tree of n tokens 2n - 1",
            "the batch is put in order again and again, so that the processor's caches hold it; a "
            "kind of tree alone: a batch with it less a batch without trees, - where that is "
            "within the clock's noise; time on the clock, of one thread",
            "% of a step: median time over that of our steps (forward, backward and Adam) of DEP "
            "and CONST together at that width",
        ],
    )


def profile_table(rows: Sequence[Sequence[str]], task: Task) -> Table:
    """Returns the table of where a step's time goes; rows as `profile_rows` gives them."""
    return Table(
        "Where the time of our encoders' training steps goes",
        ("encoder", "width", "part of a step", "ms", "%"),
        rows,
        [
            sentences_note(task),
            VIEWS_NOTE,
            "whole step: order of computation, forward, backward and Adam by the clock, under "
            f"PyTorch's profiler; the fastest of {task.repeats}; gemm {task.gemm}",
            "products, elementwise, gather and scatter: the operations' own time by the profiler; "
            "optimiser (Adam) and schedule (the order of computation) by the clock; rest: the "
            "whole less these",
        ],
    )


def _time_and_rate(nodes: int, seconds: float) -> tuple[str, str]:
    if seconds <= 0:
        return "-", "-"
    return f"{1e3 * seconds:.3f}", f"{nodes / seconds / 1e6:.1f}"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
