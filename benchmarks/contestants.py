"""The implementations that are compared: any process can make each of them, with equal weights.

A step of training is measured but for the first of a kind. Our encoders by then have the memory
that they keep from step to step (`models.encoders.buffer_pool`), as they have in a
training. All processes keep what they free (`pipeline.base.watched.keep_memory`), so the others do
not pay for fresh pages either.

Legend: B sentences, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.references.base import PackedGRU, Reference
from benchmarks.references.plain_child_sum import PlainChildSum
from benchmarks.references.plain_nary import PlainNary
from benchmarks.references.pytorch_tree_lstm import PyTorchTreeLSTM
from benchmarks.stopwatch import Spent, spent_by
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.encoders.sentence_encoder import SentenceBatch, build_encoder
from treeviews.models.model.sentence_model import batch_of
from treeviews.models.training.numerics import GemmBackend, use_gemm

LEARNING_RATE = 1e-4


def relative_difference(found: Tensor, expected: Tensor) -> Tensor:
    """Returns |found - expected| / |expected| in the Frobenius norm; NaN if any value is NaN."""
    difference = (found.double() - expected.double()).norm()
    relative: Tensor = difference / expected.double().norm().clamp(min=1e-30)
    return relative


def _output_gradient(output: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(output.shape, generator=generator).to(output.dtype)


VIEWS = ("DEP", "CONST", "SEQ")

REFERENCES: dict[str, dict[str, Callable[..., Reference]]] = {
    "DEP": {
        "pytorch_tree_lstm": PyTorchTreeLSTM,
        "autograd": PlainChildSum,
    },
    "CONST": {"autograd": PlainNary},
    "SEQ": {"nn_gru": PackedGRU},
}
"""For each view what it is compared with, by the name in the last line's keys."""

BIAS_RMS = 0.2
"""Root mean square of the biases that all are compared with."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is measured."""

    block: SentenceBlock
    """The sentences that are encoded."""
    vectors: Tensor
    """[V, E]; float32, a vector per word of the vocabulary."""
    gemm: GemmBackend
    """Of our encoder; the others have PyTorch's default. If that is another, ours is measured with
    the default as well."""
    repeats: int
    seed: int

    def prepare(self) -> tuple[SentenceBatch, Tensor]:
        """Returns the sentences as the encoders take them, and their word types' vectors [T, E]."""
        batch = batch_of(self.block)
        return batch, self.vectors.index_select(0, batch.word_ids)


@dataclass(frozen=True, slots=True)
class Entry:
    """An implementation of one view at one width, told in a few words to whoever is to make it."""

    view: str
    hidden_size: int
    name: str
    """``ours``, or a key of `REFERENCES`."""
    dtype: torch.dtype
    gemm: GemmBackend


class Runner:
    """An implementation in this process; its weights follow from the task's seed alone."""

    def __init__(self, task: Task, entry: Entry) -> None:
        """Raises:
        ModuleNotFoundError: the implementation is a package that is not installed.
        """
        batch, word_vectors = task.prepare()
        word_size, hidden_size = word_vectors.shape[1], entry.hidden_size
        torch.manual_seed(task.seed)
        encoder = build_encoder(entry.view, word_size=word_size, hidden_size=hidden_size)
        _draw_biases(encoder)
        self.reference: Reference | None = None
        if entry.name != "ours":
            self.reference = REFERENCES[entry.view][entry.name](
                task.block, word_size=word_size, hidden_size=hidden_size
            )
            self.reference.take_weights(encoder)
        self.label = "ours" if self.reference is None else self.reference.label
        self.module = self.reference or encoder
        self._encode = self.reference or (lambda vectors: encoder(batch, vectors))
        self._word_vectors, self._gemm = word_vectors.to(entry.dtype), entry.gemm
        self._optimiser = torch.optim.Adam(self.module.parameters(), lr=LEARNING_RATE, fused=True)

    def outcome(self) -> dict[str, Tensor]:
        """Returns the sentences' vectors as ``""`` and each weight's gradient by its name.

        It is zero where a weight took no part.
        """
        use_gemm(self._gemm)
        output = self._forward_backward()
        gradients = {
            name: torch.zeros_like(weight) if weight.grad is None else weight.grad
            for name, weight in self.module.named_parameters()
        }
        return {"": output, **gradients}

    def warm_up(self, outcome: Path) -> None:
        """Takes one step that is not timed and saves what came of it to a file.

        A file, as copies to send would leave the process with another heap than a training has.
        """
        torch.save(self.outcome(), outcome)
        self._optimiser.step()

    def measure(self) -> Spent:
        """Takes one step, forward, backward and Adam; returns what it took."""
        use_gemm(self._gemm)
        return spent_by(self._forward_backward) + spent_by(self._optimiser.step)

    def _forward_backward(self) -> Tensor:
        """Sets the gradients of a fixed linear function of the output; returns the output."""
        self._optimiser.zero_grad(set_to_none=True)
        output: Tensor = self._encode(self._word_vectors)
        output.backward(_output_gradient(output))
        return output.detach()


def _draw_biases(encoder: nn.Module) -> None:
    """Draws the biases at random: that one is left out could not be seen while it is zero."""
    for name, weight in encoder.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(weight, std=BIAS_RMS)
