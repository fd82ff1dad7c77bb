"""Times implementations of a framework in turns, on the same batches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import torch

from benchmarks.device import wait_for
from benchmarks.framework_contestants import OURS, REFERENCES, Contestant, Step, Turn
from benchmarks.report import tell
from benchmarks.stopwatch import Stopwatch
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.training.batches import make_ahead
from treeviews.models.training.numerics import preserve_process_state, set_gpu_precision, use_gemm

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
    with preserve_process_state(device):
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
