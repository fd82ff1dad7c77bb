"""One view at one width: our encoder beside the others, checked to compute the same, then timed.

Legend: B sentences, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

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

LARGEST_DIFFERENCE = {torch.float32: 1e-5, torch.bfloat16: 0.05}
"""Of outputs and of gradients, by norm; more is an error, not rounding.

Measured at widths up to 1200: at most 10⁻⁶ in float32 and 0.012 in bfloat16.
"""


BIAS_RMS = 0.2
"""Root mean square of the biases that all are compared with."""


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

    def num_nodes(self, view: str) -> int:
        """Returns the nodes that a view computes: the words, and in CONST what they are part of."""
        words = len(self.block.token_ids)
        return 2 * words - len(self.block) if view == "CONST" else words


@dataclass(frozen=True, slots=True)
class Task:
    """What is measured."""

    sentences: Sentences
    recursion_sentences: int
    gemm: GemmBackend
    """Of our encoder; the others have PyTorch's default. If that is another, ours is measured with
    the default as well."""
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
    difference: float | None
    """Largest relative difference of its outputs and gradients from ours in float32; None of that
    itself."""

    def check(self) -> None:
        """Refuses an implementation that does not compute what ours does.

        Raises:
            ArithmeticError: names it and the difference.
        """
        limit = LARGEST_DIFFERENCE[self.dtype]
        # Not "greater": a difference that is no number must not pass.
        if self.difference is not None and not self.difference <= limit:
            raise ArithmeticError(
                f"{self.step.label} in {self.dtype} differs from our encoder by "
                f"{self.difference:.1e} by norm (rounding would be {limit:.0e} at most), so their "
                "times would compare different computations"
            )


@dataclass
class Comparison:
    """A view at a width, timed."""

    view: str
    hidden_size: int
    contestants: list[Contestant] = field(default_factory=list)

    def ours(self, gemm: GemmBackend | None = None) -> Contestant:
        """Returns our encoder in float32, with this backend or the one chosen for it."""
        return next(
            c
            for c in self.contestants
            if c.name == "ours" and c.dtype == torch.float32 and gemm in {None, c.step.gemm}
        )

    def times_faster(self, gemm: GemmBackend | None = None) -> dict[str, float]:
        """Returns the step of each reference over ours, that with this backend or the chosen one.

        With "default", which the references have, the backend's part of the difference is out.
        """
        seconds = self.ours(gemm).step.seconds
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
    encoder = build_encoder(view, word_size=word_vectors.shape[1], hidden_size=hidden_size)
    _draw_biases(encoder)
    comparison = Comparison(view, hidden_size, _our_contestants(encoder, task, dtypes))
    for name in REFERENCES[view]:
        comparison.contestants.append(_reference_contestant(name, encoder, task, comparison))
    for contestant in comparison.contestants:
        contestant.check()
    interleave([contestant.step for contestant in comparison.contestants], task.repeats)
    return comparison


def _draw_biases(encoder: nn.Module) -> None:
    """Draws the biases at random: that one is left out could not be seen while it is zero."""
    for name, weight in encoder.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(weight, std=BIAS_RMS)


def _our_contestants(
    encoder: nn.Module, task: Task, dtypes: Sequence[torch.dtype]
) -> list[Contestant]:
    """Returns our encoder in each precision and, in float32, with the default backend as well."""
    kinds = [(dtype, task.gemm) for dtype in dtypes]
    if task.gemm != "default":
        kinds.append((torch.float32, "default"))
    contestants = []
    for dtype, gemm in kinds:
        # Its own copy, as a copy has no memory yet: what the step takes is then counted.
        step = _our_step(deepcopy(encoder), replace(task, gemm=gemm), dtype)
        cost = _first_cost(step)
        is_measure = dtype == torch.float32 and gemm == task.gemm
        difference = None
        if not is_measure:
            difference = _difference_from_ours(encoder, task, task.sentences, step, None)
        contestants.append(Contestant("ours", dtype, step, cost, difference))
    return contestants


def _reference_contestant(
    name: str, encoder: nn.Module, task: Task, comparison: Comparison
) -> Contestant:
    """Returns a reference with our encoder's weights."""
    view, sentences = comparison.view, task.sentences
    if name == "recursion":
        sentences = sentences.first(task.recursion_sentences)
    word_vectors = sentences.prepare()[1]
    reference = REFERENCES[view][name](
        sentences.block, word_size=word_vectors.shape[1], hidden_size=comparison.hidden_size
    )
    reference.take_weights(encoder)
    step = TrainingStep(
        reference.label,
        reference,
        reference,
        word_vectors,
        "default",
        scale=task.sentences.num_nodes(view) / sentences.num_nodes(view),
    )
    cost = _first_cost(step)
    difference = _difference_from_ours(encoder, task, sentences, step, reference)
    return Contestant(name, torch.float32, step, cost, difference)


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
    """Returns the largest relative difference in outputs or gradients of a step from ours.

    NaN if any of them is NaN.
    """
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
    differences = [relative_difference(found, expected)] + [
        relative_difference(gradients[name], gradient)
        for name, gradient in expected_gradients.items()
    ]
    # torch's max, as Python's would pass over a difference that is no number.
    return float(torch.stack(differences).max())


def _first_cost(step: TrainingStep) -> StepCost | None:
    """Returns what a step costs that has not been taken before: later ones may reuse memory."""
    if step.scale != 1:
        return None
    use_gemm(step.gemm)
    return cost_of(step.forward_backward)
