"""The table and the last line of `benchmarks.frameworks`."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.framework_contestants import OURS, REFERENCES, Contestant, TrainingText
from benchmarks.framework_rate import Comparison, Turns
from benchmarks.report import Table

COLUMNS = (
    *("objective", "implementation", "views", "precision", "gemm", "sentences/s"),
    *("slowest turn", "fastest turn", "ms a step", "CPU ms a step", "times plain"),
    *("times plain by CPU time", "first loss"),
)
LABELS = {OURS: OURS, **{name: encoder.label for name, encoder in REFERENCES.items()}}


def comparison_table(comparison: Comparison, text: TrainingText, turns: Turns) -> Table:
    """Returns what was measured of a framework, a row for each implementation and product."""
    config = comparison.config
    return Table(
        f"How fast the {config.objective} training goes beside plain PyTorch",
        COLUMNS,
        [_row(comparison, contestant) for contestant in comparison.contestants],
        [
            f"d = {config.hidden_size // 2} a direction, batches of {config.batch_size} successive "
            f"sentences at most, of {text.words_per_sentence:.1f} words in the mean; padded to the "
            f"longest, {text.padding_percent:.0f} % of the positions are padding",
            "a step: batch made, encoded, objective, gradients, clipping, Adam, orthonormal update "
            "of the decoder; shards were read before; word vectors drawn at random and frozen",
            f"{turns.rounds} turns of {turns.steps} steps each, all implementations in turns on "
            f"the same batches, after {turns.warmup} to warm up; {turns.prefetch} batches "
            "prepared ahead, in each turn anew",
            "plain PyTorch, padded: nn.GRU over all positions in either direction; packed: one "
            "bidirectional nn.GRU over a packed sequence. Both: "
            f"{config.negatives} negatives for every word, by torch.multinomial",
            f"ours: sentences by length, unpadded; {config.shared_negatives} negatives for the "
            "whole batch",
            "views: f, and g where g is trained; DEP or CONST in the place of f has no reference",
            "precision: bfloat16 of plain PyTorch is torch.autocast, which leaves nn.GRU in "
            "float32 on a CPU",
            "gemm: who multiplies float32 matrices on a CPU; the last line takes the faster one "
            "for each implementation",
            "times plain: sentences/s over those of the padded version in this precision, with "
            "the product that is faster for it; by CPU time: the same of the processor's time, "
            "which other work on the machine distorts less, by all threads (of a GPU's work none)",
            "first loss: from equal weights on the same batch; generative losses differ by their "
            "draws",
        ],
    )


def figures(comparisons: Sequence[Comparison]) -> dict[str, float | str]:
    """Returns the figures of the last line; each implementation with the product faster for it."""
    found: dict[str, float | str] = {}
    for comparison in comparisons:
        objective = comparison.config.objective
        for precision in dict.fromkeys(c.precision for c in comparison.contestants):
            key = objective if precision == "float32" else f"{objective}_{precision}"
            ours = comparison.best(OURS, precision)
            references = {name: comparison.best(name, precision) for name in REFERENCES}
            for name, reference in references.items():
                ratio = ours.sentences_per_second / reference.sentences_per_second
                found[f"{key}_vs_{name}"] = round(ratio, 3)
                by_cpu = ours.sentences_per_cpu_second / reference.sentences_per_cpu_second
                found[f"{key}_vs_{name}_cpu"] = round(by_cpu, 3)
            found[f"{key}_sentences_per_second"] = round(ours.sentences_per_second, 1)
            for name, reference in references.items():
                rate = round(reference.sentences_per_second, 1)
                found[f"{key}_{name}_sentences_per_second"] = rate
            found[f"{key}_gemm"] = ours.gemm
        for views in dict.fromkeys(c.views for c in comparison.contestants):
            if views != comparison.config.views:
                rate = comparison.best(OURS, "float32", views).sentences_per_second
                found[f"{objective}_{views[0].lower()}_sentences_per_second"] = round(rate, 1)
    return found


def _row(comparison: Comparison, contestant: Contestant) -> tuple[str, ...]:
    plain = comparison.best("plain", contestant.precision)
    rates = [turn.sentences_per_second for turn in contestant.turns]
    steps = sum(turn.steps for turn in contestant.turns)
    spent = contestant.spent.times(1e3 / steps)
    return (
        comparison.config.objective,
        LABELS[contestant.name],
        ",".join(contestant.views),
        contestant.precision,
        contestant.gemm,
        f"{contestant.sentences_per_second:.1f}",
        f"{min(rates):.1f}",
        f"{max(rates):.1f}",
        f"{spent.wall:.0f}",
        f"{spent.cpu:.0f}",
        f"{contestant.sentences_per_second / plain.sentences_per_second:.2f}",
        f"{contestant.sentences_per_cpu_second / plain.sentences_per_cpu_second:.2f}",
        f"{contestant.loss:.4f}",
    )
