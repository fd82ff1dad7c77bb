"""The implementations that are compared: any process can make each of them, with equal weights.

Legend: B sentences, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.references import (
    PackedGRU,
    PlainChildSum,
    PlainNary,
    PyTorchTreeLSTM,
    Reference,
)
from benchmarks.stopwatch import Spent
from benchmarks.training_step import TrainingStep
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.encoders.sentence_batch import SentenceBatch
from treeviews.models.encoders.sentence_encoder import build_encoder
from treeviews.models.model.sentence_model import batch_of
from treeviews.models.training.numerics import GemmBackend, use_gemm

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
class Sentences:
    """The sentences that are encoded."""

    block: SentenceBlock
    vectors: Tensor
    """[V, E]; float32, a vector per word of the vocabulary."""

    def prepare(self) -> tuple[SentenceBatch, Tensor]:
        """Returns them as the encoders take them, with their word types' vectors [T, E]."""
        batch = batch_of(self.block)
        return batch, self.vectors.index_select(0, batch.word_ids)


@dataclass(frozen=True, slots=True)
class Task:
    """What is measured."""

    sentences: Sentences
    gemm: GemmBackend
    """Of our encoder; the others have PyTorch's default. If that is another, ours is measured with
    the default as well."""
    repeats: int
    seed: int


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
        batch, word_vectors = task.sentences.prepare()
        word_size, hidden_size = word_vectors.shape[1], entry.hidden_size
        torch.manual_seed(task.seed)
        encoder = build_encoder(entry.view, word_size=word_size, hidden_size=hidden_size)
        _draw_biases(encoder)
        self.reference: Reference | None = None
        if entry.name != "ours":
            self.reference = REFERENCES[entry.view][entry.name](
                task.sentences.block, word_size=word_size, hidden_size=hidden_size
            )
            self.reference.take_weights(encoder)
        self.step = TrainingStep(
            "ours" if self.reference is None else self.reference.label,
            self.reference or encoder,
            self.reference or (lambda vectors: encoder(batch, vectors)),
            word_vectors.to(entry.dtype),
            entry.gemm,
        )

    def outcome(self) -> dict[str, Tensor]:
        """Returns the sentences' vectors as ``""`` and each weight's gradient by its name."""
        use_gemm(self.step.gemm)
        output = self.step.forward_backward()
        return {"": output, **self.step.gradients()}

    def warm_up(self, outcome: Path) -> None:
        """Takes one step that is not timed and saves what came of it to a file.

        A file, as copies to send would leave the process with another heap than a training has.
        """
        torch.save(self.outcome(), outcome)
        self.step.optimiser.step()

    def measure(self) -> Spent:
        """Takes one step; returns what it took."""
        return self.step.measure()


def _draw_biases(encoder: nn.Module) -> None:
    """Draws the biases at random: that one is left out could not be seen while it is zero."""
    for name, weight in encoder.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(weight, std=BIAS_RMS)
