"""The cells' steps as Triton kernels, one launch a call.

Arguments and shapes: `Cells` of `kernels.cells`. In plain PyTorch a step is four to fifteen
kernels, each of which reads and writes its operands; here every value is read once and written
once. A level of a tree is small, and what its steps cost is mostly their launching. Launches a
level, forward and backward:

- Child-Sum: 3 of these and 2 products; 2 of these, 2 products and a selection of rows;
- binary: 1 and 2 products; 1, 2 products and 2 selections;
- recurrent unit, a step: 1 and 1 product; 1 and 1 product.

Rows that several edges write to are added to atomically, so on CUDA a sum's order, and with it the
last bits of a result, differ from run to run. Differs from `kernels.eager` in bfloat16:
within a step nothing is rounded, only what is stored.

Kernels are compiled on their first call, for each width and type; widths that are no multiple of
16 bytes are compiled several times, as Triton tells aligned buffers from others, and run slower.
Importing this module needs Triton; with TRITON_INTERPRET=1 set before, its kernels run on CPU
tensors, slowly, for tests.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor

from models.encoders.kernels.cells import PairGradients, Pairs, PairStates
from models.encoders.kernels.fused_kernels import (
    add_rows_kernel,
    forget_backward_kernel,
    forget_forward_kernel,
    gru_backward_kernel,
    gru_forward_kernel,
    lstm_backward_kernel,
    lstm_forward_kernel,
    pair_backward_kernel,
    pair_forward_kernel,
)

MAX_BLOCK = 256
"""Columns of a program. At 256, 600 and 1200 wide none, 22 % and 6 % of the lanes are masked.
Chosen by reasoning, not by measurement."""

NUM_WARPS = 2
"""Of a program: four columns a thread, which load 16 bytes of float32 at once."""


class FusedCells:
    """Implements `models.encoders.kernels.cells.Cells` for contiguous buffers."""

    def lstm_forward(
        self, gates: Tensor, kept: Tensor | None, hidden: Tensor, memory: Tensor, squashed: Tensor
    ) -> None:
        """See `Cells`."""
        _launch(lstm_forward_kernel, *hidden.shape, gates, kept, hidden, memory, squashed)

    def lstm_backward(
        self, gates: Tensor, squashed: Tensor, grad_hidden: Tensor, grad_memory: Tensor
    ) -> None:
        """See `Cells`."""
        _launch(lstm_backward_kernel, *squashed.shape, gates, squashed, grad_hidden, grad_memory)

    def forget_forward(
        self,
        product: Tensor,
        forget: Tensor,
        memory: Tensor,
        children: Tensor | None,
        parents: Tensor,
        keep: Tensor,
        kept: Tensor,
    ) -> None:
        """See `Cells`."""
        buffers = (product, forget, memory, children, parents, keep, kept)
        _launch(forget_forward_kernel, *keep.shape, *buffers)

    def forget_backward(
        self,
        keep: Tensor,
        memory: Tensor,
        children: Tensor | None,
        parents: Tensor,
        grad_kept: Tensor,
        grad_product: Tensor,
        grad_forget: Tensor,
        grad_memory: Tensor,
    ) -> None:
        """See `Cells`."""
        edges = (keep, memory, children, parents)
        gradients = (grad_kept, grad_product, grad_forget, grad_memory)
        _launch(forget_backward_kernel, *keep.shape, *edges, *gradients)

    def pair_forward(
        self,
        gates: Tensor,
        left_product: Tensor,
        right_product: Tensor,
        pairs: Pairs,
        states: PairStates,
    ) -> None:
        """See `Cells`."""
        nodes = slice(states.first, states.last)
        hidden = states.hidden[nodes]
        _launch(
            pair_forward_kernel,
            *hidden.shape,
            gates,
            left_product,
            right_product,
            pairs.left_operand,
            pairs.right_operand,
            pairs.left_row,
            pairs.right_row,
            states.memory,
            hidden,
            states.memory[nodes],
            states.squashed[nodes],
        )

    def pair_backward(
        self, gates: Tensor, pairs: Pairs, states: PairStates, gradients: PairGradients
    ) -> None:
        """See `Cells`."""
        nodes = slice(states.first, states.last)
        squashed = states.squashed[nodes]
        _launch(
            pair_backward_kernel,
            *squashed.shape,
            gates,
            pairs.left_row,
            pairs.right_row,
            states.memory,
            squashed,
            gradients.hidden[nodes],
            gradients.memory[nodes],
            gradients.memory,
        )

    def gru_forward(self, gates: Tensor, previous: Tensor, hidden: Tensor) -> None:
        """See `Cells`."""
        _launch(gru_forward_kernel, *hidden.shape, gates, previous, hidden)

    def gru_backward(self, gates: Tensor, previous: Tensor, grad_hidden: Tensor) -> None:
        """See `Cells`."""
        _launch(gru_backward_kernel, *grad_hidden.shape, gates, previous, grad_hidden)

    def add_rows(
        self, target: Tensor, target_rows: Tensor, source: Tensor, source_rows: Tensor | None
    ) -> None:
        """See `Cells`."""
        buffers = (target, target_rows, source, source_rows)
        _launch(add_rows_kernel, len(target_rows), target.shape[1], *buffers)


def _launch(kernel: Any, num_rows: int, width: int, *buffers: Tensor | None) -> None:
    """Runs a kernel with one program for each block of columns of each row."""
    assert all(b is None or b.is_contiguous() for b in buffers), "buffers must be contiguous"
    if not num_rows:
        return
    block = min(MAX_BLOCK, triton.next_power_of_2(width))
    grid = (num_rows, triton.cdiv(width, block))
    with torch.cuda.device_of(buffers[0]):  # Triton launches on the current device
        kernel[grid](*buffers, H=width, BLOCK=block, num_warps=NUM_WARPS)
