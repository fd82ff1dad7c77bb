"""The table and the last line of `benchmarks.tree_lstm`."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.comparison import Comparison
from benchmarks.contestants import Task
from benchmarks.report import Table

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
    num_sentences = len(task.sentences.block)
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
    block = task.sentences.block
    batch, vectors = task.sentences.prepare()
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
