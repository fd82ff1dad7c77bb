"""Triton kernels of the binary Tree-LSTM's inner nodes.

Arguments and shapes: `models.kernels.cells.Cells`, what `Pairs`, `PairStates` and `PairGradients`
hold one by one; a program handles BLOCK of the H columns of one node. Children are of other rows
than the nodes of the call, so no program reads what another one writes.
"""

from __future__ import annotations

import triton
import triton.language as tl

from models.kernels.fused_arithmetic import (
    INDICES,
    add,
    columns_of_program,
    read,
    row_of_program,
    sigmoid,
    sigmoid_backward,
    tanh,
    tanh_backward,
)


@triton.jit(do_not_specialize_on_alignment=INDICES)
def pair_forward_kernel(
    gates: tl.tensor,
    left_product: tl.tensor,
    right_product: tl.tensor,
    left_operand: tl.tensor,
    right_operand: tl.tensor,
    left_row: tl.tensor,
    right_row: tl.tensor,
    memory: tl.tensor,
    node_hidden: tl.tensor,
    node_memory: tl.tensor,
    node_squashed: tl.tensor,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """One program a node; ``memory`` is of all rows, ``node_*`` of the nodes."""
    row = row_of_program()
    column = columns_of_program(BLOCK)
    inside = column < H
    at = row * H + column
    gate = gates + row * (5 * H) + column
    left = left_product + tl.load(left_operand + row) * (5 * H) + column
    right = right_product + tl.load(right_operand + row) * (5 * H) + column
    left_c = read(memory + tl.load(left_row + row) * H + column, inside)
    right_c = read(memory + tl.load(right_row + row) * H + column, inside)

    i = sigmoid(read(left, inside) + read(right, inside))
    o = sigmoid(read(left + H, inside) + read(right + H, inside))
    u = tanh(read(left + 2 * H, inside) + read(right + 2 * H, inside))
    f_1 = sigmoid(read(left + 3 * H, inside) + read(right + 3 * H, inside))
    f_2 = sigmoid(read(left + 4 * H, inside) + read(right + 4 * H, inside))
    c = i * u + f_1 * left_c + f_2 * right_c
    s = tanh(c)

    tl.store(gate, i, mask=inside)
    tl.store(gate + H, o, mask=inside)
    tl.store(gate + 2 * H, u, mask=inside)
    tl.store(gate + 3 * H, f_1, mask=inside)
    tl.store(gate + 4 * H, f_2, mask=inside)
    tl.store(node_memory + at, c, mask=inside)
    tl.store(node_squashed + at, s, mask=inside)
    tl.store(node_hidden + at, o * s, mask=inside)


@triton.jit(do_not_specialize_on_alignment=INDICES)
def pair_backward_kernel(
    gates: tl.tensor,
    left_row: tl.tensor,
    right_row: tl.tensor,
    memory: tl.tensor,
    node_squashed: tl.tensor,
    node_grad_hidden: tl.tensor,
    node_grad_memory: tl.tensor,
    grad_memory: tl.tensor,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """One program a node; children may be shared by the nodes of a call."""
    row = row_of_program()
    column = columns_of_program(BLOCK)
    inside = column < H
    at = row * H + column
    gate = gates + row * (5 * H) + column
    of_left = tl.load(left_row + row) * H + column
    of_right = tl.load(right_row + row) * H + column

    i = read(gate, inside)
    o = read(gate + H, inside)
    u = read(gate + 2 * H, inside)
    f_1 = read(gate + 3 * H, inside)
    f_2 = read(gate + 4 * H, inside)
    s = read(node_squashed + at, inside)
    dh = read(node_grad_hidden + at, inside)
    dc = read(node_grad_memory + at, inside) + tanh_backward(dh * o, s)

    tl.store(node_grad_memory + at, dc, mask=inside)
    tl.store(gate, sigmoid_backward(dc * u, i), mask=inside)
    tl.store(gate + H, sigmoid_backward(dh * s, o), mask=inside)
    tl.store(gate + 2 * H, tanh_backward(dc * i, u), mask=inside)
    left_c = read(memory + of_left, inside)
    right_c = read(memory + of_right, inside)
    tl.store(gate + 3 * H, sigmoid_backward(dc * left_c, f_1), mask=inside)
    tl.store(gate + 4 * H, sigmoid_backward(dc * right_c, f_2), mask=inside)
    add(grad_memory + of_left, dc * f_1, inside)
    add(grad_memory + of_right, dc * f_2, inside)
