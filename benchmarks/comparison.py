"""One view at one width: our encoder beside the others, checked to compute the same, then timed.

Legend: B sentences, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from benchmarks.arithmetic import StepCost, cost_of
from benchmarks.references import (
    PackedGRU,
    PlainChildSum,
    PlainNary,
    PyTorchTreeLSTM,
    RecursiveChildSum,
    RecursiveNary,
    Reference,
)
from benchmarks.training_step import TrainingStep, interleave, relative_difference
from models.contrastive_model import batch_of
from models.corpus.sentence_block import SentenceBlock
from models.encoders import build_encoder
from models.kernels.gemm import GemmBackend, use_gemm
from models.sentence_batch import SentenceBatch

VIEWS = ("DEP", "CONST", "SEQ")

REFERENCES: dict[str, dict[str, Callable[..., Reference]]] = {
    "DEP": {
        "pytorch_tree_lstm": PyTorchTreeLSTM,
        "autograd": PlainChildSum,
        "recursion": RecursiveChildSum,
    },
    "CONST": {"autograd": PlainNary, "recursion": RecursiveNary},
    "SEQ": {"nn_gru": PackedGRU},
}
"""For each view what it is compared with, by the name in the last line's keys."""

LARGEST_DIFFERENCE = {torch.float32: 1e-4, torch.bfloat16: 0.2}
"""Of outputs and of gradients, relative to the largest; more is an error, not a slow machine."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences that are encoded."""

    block: SentenceBlock
    vectors: Tensor
    """[V, E]; float32, a vector per word of the vocabulary."""

    def first(self, count: int) -> Sentences:
        """Returns the first ``count`` of them."""
        return Sentences(self.block.slice(0, min(count, len(self.block))), self.vectors)

    def prepare(self) -> tuple[SentenceBatch, Tensor]:
        """Returns them as the encoders take them, with their word types' vectors [T, E]."""
        batch = batch_of(self.block)
        return batch, self.vectors.index_select(0, batch.word_ids)


@dataclass(frozen=True, slots=True)
class Task:
    """What is measured."""

    sentences: Sentences
    recursion_sentences: int
    gemm: GemmBackend
    """Of our encoder; the others have PyTorch's default."""
    repeats: int
    seed: int


@dataclass
class Contestant:
    """An implementation and what was found out about it."""

    name: str
    """``ours``, or a key of `REFERENCES`."""
    dtype: torch.dtype
    step: TrainingStep
    cost: StepCost | None
    """Unknown of what is measured on a part of the sentences only."""
    difference: float
    """Largest relative difference of its outputs and gradients from ours in float32."""

    def check(self) -> None:
        """Refuses an implementation that does not compute what ours does.

        Raises:
            ArithmeticError: names it and the difference.
        """
        limit = LARGEST_DIFFERENCE[self.dtype]
        # Not "greater": a difference that is no number must not pass.
        if not self.difference <= limit:
            raise ArithmeticError(
                f"{self.step.label} in {self.dtype} differs from our encoder by "
                f"{self.difference:.1e} of the largest value (rounding would be {limit:.0e} at "
                "most), so their times would compare different computations"
            )


@dataclass
class Comparison:
    """A view at a width, timed."""

    view: str
    hidden_size: int
    contestants: list[Contestant] = field(default_factory=list)

    def ours(self, dtype: torch.dtype = torch.float32) -> Contestant:
        """Returns our encoder."""
        return next(c for c in self.contestants if c.name == "ours" and c.dtype == dtype)

    def times_faster(self) -> dict[str, float]:
        """Returns the step of each reference over ours."""
        seconds = self.ours().step.seconds
        return {c.name: c.step.seconds / seconds for c in self.contestants if c.name != "ours"}


def compare(
    task: Task, view: str, hidden_size: int, dtypes: Sequence[torch.dtype] = (torch.float32,)
) -> Comparison:
    """Returns our encoder and all references of a view, checked against one another and timed.

    Raises:
        ArithmeticError: an implementation does not compute what ours does.
    """
    _, word_vectors = task.sentences.prepare()
    torch.manual_seed(task.seed)
    word_size = word_vectors.shape[1]
    encoder = build_encoder(view, word_size=word_size, hidden_size=hidden_size)
    comparison = Comparison(view, hidden_size)
    for dtype in dtypes:
        step = _our_step(encoder, task, dtype)
        cost = _first_cost(step)
        difference = _difference_from_ours(encoder, task, task.sentences, step, None)
        comparison.contestants.append(Contestant("ours", dtype, step, cost, difference))
    for name, build in REFERENCES[view].items():
        part = task.sentences
        if name == "recursion":
            part = part.first(task.recursion_sentences)
        reference = build(part.block, word_size=word_size, hidden_size=hidden_size)
        reference.take_weights(encoder)
        step = TrainingStep(
            reference.label,
            reference,
            reference,
            part.prepare()[1],
            "default",
            scale=len(task.sentences.block.token_ids) / len(part.block.token_ids),
        )
        cost = _first_cost(step)
        difference = _difference_from_ours(encoder, task, part, step, reference)
        comparison.contestants.append(Contestant(name, torch.float32, step, cost, difference))
    for contestant in comparison.contestants:
        contestant.check()
    interleave([contestant.step for contestant in comparison.contestants], task.repeats)
    return comparison


def _our_step(
    encoder: nn.Module, task: Task, dtype: torch.dtype, sentences: Sentences | None = None
) -> TrainingStep:
    batch, word_vectors = (sentences or task.sentences).prepare()
    return TrainingStep(
        "ours",
        encoder,
        lambda vectors: encoder(batch, vectors),
        word_vectors.to(dtype),
        task.gemm,
    )


def _difference_from_ours(
    encoder: nn.Module,
    task: Task,
    sentences: Sentences,
    step: TrainingStep,
    reference: Reference | None,
) -> float:
    """Returns the largest relative difference in outputs or gradients of a step from ours."""
    use_gemm(step.gemm)
    found = step.forward_backward()
    gradients = {name: gradient.clone() for name, gradient in step.gradients().items()}
    use_gemm(task.gemm)
    ours = _our_step(encoder, task, torch.float32, sentences)
    expected = ours.forward_backward()
    expected_gradients = ours.gradients()
    if reference is not None:
        expected_gradients = reference.named_as_here(expected_gradients)
    assert set(gradients) == set(expected_gradients)
    return max(
        relative_difference(found, expected),
        *(
            relative_difference(gradients[name], expected_gradients[name])
            for name in expected_gradients
        ),
    )


def _first_cost(step: TrainingStep) -> StepCost | None:
    """Returns what a step costs that has not been taken before: later ones may reuse memory."""
    if step.scale != 1:
        return None
    use_gemm(step.gemm)
    return cost_of(step.forward_backward)
