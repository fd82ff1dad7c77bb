"""The cells' steps as Triton kernels, one launch a call.

Arguments and shapes: `models.encoders.cell_steps.Cells`. In plain PyTorch a step is four to fifteen
kernels, each of which reads and writes its operands; here every value is read once and written
once. A level of a tree is small, and what its steps cost is mostly their launching. Launches a
level, forward and backward:

- Child-Sum: 3 of these and 2 products; 2 of these, 2 products and a selection of rows;
- binary: 1 and 2 products; 1, 2 products and 2 selections;
- recurrent unit, a step: 1 and 1 product; 1 and 1 product.

Rows that several edges write to are added to atomically, so on CUDA a sum's order, and with it the
last bits of a result, differ from run to run. Differs from `Cells` in bfloat16:
within a step nothing is rounded, only what is stored.

Kernels are compiled on their first call, for each width and type; widths that are no multiple of
16 bytes are compiled several times, as Triton tells aligned buffers from others, and run slower.
Importing this module needs Triton; with TRITON_INTERPRET=1 set before, its kernels run on CPU
tensors, slowly, for tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
from torch import Tensor

from treeviews.models.encoders.cell_steps import Cells
from treeviews.models.encoders.triton_kernels import (
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


def _launching(kernel: Any, *, rows: int, width: int = -1) -> Callable[..., None]:
    """Returns the step of `Cells` that hands its buffers to a kernel as they are.

    Each block of columns of each row is one program's.

    Args:
        rows: which of the buffers has a row for each program, or block of programs.
        width: which of them is as wide as the states.
    """

    def step(_: Cells, *buffers: Tensor | None) -> None:
        of_rows, wide = buffers[rows], buffers[width]
        assert of_rows is not None and wide is not None
        assert all(b is None or b.is_contiguous() for b in buffers), "buffers must be contiguous"
        if not len(of_rows):
            return
        H = wide.shape[1]
        block = min(MAX_BLOCK, triton.next_power_of_2(H))
        grid = (len(of_rows), triton.cdiv(H, block))
        with torch.cuda.device_of(buffers[0]):  # Triton launches on the current device
            kernel[grid](*buffers, H=H, BLOCK=block, num_warps=NUM_WARPS)

    return step


class FusedCells(Cells):
    """The same for contiguous buffers."""

    lstm_forward = _launching(lstm_forward_kernel, rows=2)
    lstm_backward = _launching(lstm_backward_kernel, rows=1)
    forget_forward = _launching(forget_forward_kernel, rows=5)
    forget_backward = _launching(forget_backward_kernel, rows=0)
    pair_forward = _launching(pair_forward_kernel, rows=8)
    pair_backward = _launching(pair_backward_kernel, rows=4)
    gru_forward = _launching(gru_forward_kernel, rows=2)
    gru_backward = _launching(gru_backward_kernel, rows=2)
    add_rows = _launching(add_rows_kernel, rows=1, width=0)
