"""One training step of a sentence encoder, and how long it takes.

All steps but the first of a kind are measured. Our encoders by then have the memory that they keep
from step to step (`models.encoders.buffer_pool`), as they have in a training. All processes
keep what they free (`pipeline.base.watched.keep_memory`), so the others do not pay for fresh pages
either.

Legend: B sentences, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks.stopwatch import Spent, spent_by
from treeviews.models.training.numerics import GemmBackend, use_gemm

LEARNING_RATE = 1e-4


@dataclass(eq=False)
class TrainingStep:
    """Forward, backward and Adam of one encoder on one batch."""

    label: str
    module: nn.Module
    encode: Callable[[Tensor], Tensor]
    """From the word types' vectors [T, E] to the sentences' [B, H]."""
    word_vectors: Tensor
    gemm: GemmBackend

    def __post_init__(self) -> None:
        self.optimiser = torch.optim.Adam(self.module.parameters(), lr=LEARNING_RATE, fused=True)

    def forward_backward(self) -> Tensor:
        """Sets the gradients of a fixed linear function of the output; returns the output."""
        self.optimiser.zero_grad(set_to_none=True)
        output = self.encode(self.word_vectors)
        output.backward(_output_gradient(output))
        return output.detach()

    def measure(self) -> Spent:
        """Takes one step; returns what it took."""
        use_gemm(self.gemm)
        return spent_by(self.forward_backward) + spent_by(self.optimiser.step)

    def gradients(self) -> dict[str, Tensor]:
        """Returns the gradient of every weight by its name, zero where it took no part."""
        return {
            name: torch.zeros_like(weight) if weight.grad is None else weight.grad
            for name, weight in self.module.named_parameters()
        }


def relative_difference(found: Tensor, expected: Tensor) -> Tensor:
    """Returns |found - expected| / |expected| in the Frobenius norm; NaN if any value is NaN."""
    difference = (found.double() - expected.double()).norm()
    relative: Tensor = difference / expected.double().norm().clamp(min=1e-30)
    return relative


def _output_gradient(output: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(output.shape, generator=generator).to(output.dtype)
