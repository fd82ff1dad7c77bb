"""Times implementations of a framework in turns, on the same batches; the table of what it took."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import torch

from benchmarks.framework_contestants import OURS, REFERENCES, Contestant, Step, TrainingText, Turn
from benchmarks.harness import Table, tell, wait_for
from benchmarks.stopwatch import Stopwatch
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.training.batches import make_ahead
from treeviews.models.training.numerics import preserve_gemm, set_gpu_precision, use_gemm

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


LARGEST_DIFFERENCE = {"generative": 0.05, "discriminative": 1e-4}
"""Of first losses, relative, in float32; more is an error. A generative loss hangs on its draws."""
LARGEST_LOW_DIFFERENCE = 0.05
"""The same in a lower precision."""


@dataclass(frozen=True, slots=True)
class Turns:
    """How the implementations take turns."""

    rounds: int
    """Turns of each; in a round all compute the same batches."""
    steps: int
    """Of a turn."""
    warmup: int
    """Steps of each before the first turn, 1 at least."""
    prefetch: int
    """Batches that a thread prepares ahead; each turn begins without any."""

    @property
    def num_batches(self) -> int:
        """Batches that are needed, those to warm up on included."""
        return self.warmup + self.rounds * self.steps


@dataclass(frozen=True, slots=True)
class Comparison:
    """A framework, timed."""

    config: TrainingConfig
    contestants: Sequence[Contestant]

    def best(self, name: str, precision: str, views: tuple[str, ...] | None = None) -> Contestant:
        """Returns an implementation with the faster of the products it was measured with.

        Args:
            views: those of the framework if None.
        """
        wanted = (name, precision, views or self.config.views)
        rivals = [c for c in self.contestants if (c.name, c.precision, c.views) == wanted]
        return max(rivals, key=lambda contestant: contestant.sentences_per_second)


def compare(
    config: TrainingConfig,
    contestants: Sequence[Contestant],
    blocks: Sequence[SentenceBlock],
    turns: Turns,
    device: torch.device,
) -> Comparison:
    """Returns the implementations, checked to minimise the same and timed.

    Args:
        blocks: ``turns.num_batches`` of them.

    Raises:
        ArithmeticError: a reference's first loss is not ours.
    """
    with preserve_gemm():
        _warm_up(contestants, blocks[: turns.warmup], device)
        _check(config, contestants)
        for first in range(turns.warmup, len(blocks), turns.steps):
            number = 1 + (first - turns.warmup) // turns.steps
            for contestant in contestants:
                tell(f"{config.objective}: turn {number} of {turns.rounds}, {contestant.label}")
                _set_up(contestant, device)
                _take_turn(contestant, blocks[first : first + turns.steps], turns.prefetch, device)
                tell(f"    {contestant.turns[-1].sentences_per_second:.1f} sentences/s")
    return Comparison(config, contestants)


def _warm_up(
    contestants: Sequence[Contestant], blocks: Sequence[SentenceBlock], device: torch.device
) -> None:
    first_losses: dict[Step, float] = {}
    for contestant in contestants:
        step = contestant.step
        tell(f"warming up: {contestant.label}")
        _set_up(contestant, device)
        losses = [step.take(step.prepare(block)) for block in blocks]
        # With a second matrix product the same weights are no longer those of the beginning.
        contestant.loss = first_losses.setdefault(step, losses[0])


def _set_up(contestant: Contestant, device: torch.device) -> None:
    set_gpu_precision(contestant.precision, device)
    if device.type == "cpu":
        use_gemm(contestant.gemm)


def _take_turn(
    contestant: Contestant, blocks: Sequence[SentenceBlock], prefetch: int, device: torch.device
) -> None:
    step = contestant.step
    wait_for(device)
    watch = Stopwatch()
    with closing(make_ahead(map(step.prepare, blocks), ahead=prefetch)) as batches:
        for batch in batches:
            step.take(batch)
    wait_for(device)
    contestant.turns.append(Turn(len(blocks), sum(map(len, blocks)), watch.read()))


def _check(config: TrainingConfig, contestants: Sequence[Contestant]) -> None:
    """Raises:
    ArithmeticError: a reference does not minimise what ours does.
    """
    expected = next(c.loss for c in contestants if c.name == OURS)
    for contestant in contestants:
        if contestant.name not in REFERENCES:
            continue
        difference = abs(contestant.loss / expected - 1)
        limit = LARGEST_DIFFERENCE[config.objective]
        if contestant.precision != "float32":
            limit = max(limit, LARGEST_LOW_DIFFERENCE)
        # Not "greater": a difference that is no number must not pass.
        if not difference <= limit:
            raise ArithmeticError(
                f"{config.objective}, {contestant.name}: its first loss {contestant.loss:.4f} is "
                f"not ours, {expected:.4f}, so their times would compare different trainings"
            )
