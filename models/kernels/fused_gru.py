"""Triton kernels of the gated recurrent unit.

Arguments and shapes: `models.kernels.cells.Cells`; a program handles BLOCK of the H columns of one
sentence's step.
"""

from __future__ import annotations

import triton
import triton.language as tl

from models.kernels.fused_arithmetic import (
    columns_of_program,
    read,
    row_of_program,
    sigmoid,
    sigmoid_backward,
    tanh,
    tanh_backward,
)


@triton.jit
def gru_forward_kernel(
    gates: tl.tensor,
    previous: tl.tensor,
    hidden: tl.tensor,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """One program a sentence."""
    row = row_of_program()
    column = columns_of_program(BLOCK)
    inside = column < H
    at = row * H + column
    gate = gates + row * (4 * H) + column

    r = sigmoid(read(gate + H, inside))
    z = sigmoid(read(gate + 2 * H, inside))
    n = tanh(read(gate, inside) + r * read(gate + 3 * H, inside))
    h = read(previous + at, inside)

    tl.store(gate, n, mask=inside)
    tl.store(gate + H, r, mask=inside)
    tl.store(gate + 2 * H, z, mask=inside)
    tl.store(hidden + at, n + z * (h - n), mask=inside)


@triton.jit
def gru_backward_kernel(
    gates: tl.tensor,
    previous: tl.tensor,
    grad_hidden: tl.tensor,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """One program a sentence."""
    row = row_of_program()
    column = columns_of_program(BLOCK)
    inside = column < H
    at = row * H + column
    gate = gates + row * (4 * H) + column

    n = read(gate, inside)
    r = read(gate + H, inside)
    z = read(gate + 2 * H, inside)
    m = read(gate + 3 * H, inside)
    h = read(previous + at, inside)
    dh = read(grad_hidden + at, inside)

    grad_n = tanh_backward(dh * (1.0 - z), n)
    grad_z = sigmoid_backward(dh * (h - n), z)
    grad_r = sigmoid_backward(grad_n * m, r)
    tl.store(grad_hidden + at, dh * z, mask=inside)
    tl.store(gate, grad_n, mask=inside)
    tl.store(gate + H, grad_r, mask=inside)
    tl.store(gate + 2 * H, grad_z, mask=inside)
    tl.store(gate + 3 * H, grad_n * r, mask=inside)
