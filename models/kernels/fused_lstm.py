"""Triton kernels of the Tree-LSTMs' states and of Child-Sum's edges.

Arguments and shapes: `models.kernels.cells.Cells`; a program handles BLOCK of the H columns of one
row or edge.
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


@triton.jit
def lstm_forward_kernel(
    gates: tl.tensor,
    kept: tl.tensor,
    hidden: tl.tensor,
    memory: tl.tensor,
    squashed: tl.tensor,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """One program a node."""
    row = row_of_program()
    column = columns_of_program(BLOCK)
    inside = column < H
    at = row * H + column
    gate = gates + row * (3 * H) + column

    i = sigmoid(read(gate, inside))
    o = sigmoid(read(gate + H, inside))
    u = tanh(read(gate + 2 * H, inside))
    c = i * u
    if kept is not None:
        c += read(kept + at, inside)
    s = tanh(c)

    tl.store(gate, i, mask=inside)
    tl.store(gate + H, o, mask=inside)
    tl.store(gate + 2 * H, u, mask=inside)
    tl.store(memory + at, c, mask=inside)
    tl.store(squashed + at, s, mask=inside)
    tl.store(hidden + at, o * s, mask=inside)


@triton.jit
def lstm_backward_kernel(
    gates: tl.tensor,
    squashed: tl.tensor,
    grad_hidden: tl.tensor,
    grad_memory: tl.tensor,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """One program a node."""
    row = row_of_program()
    column = columns_of_program(BLOCK)
    inside = column < H
    at = row * H + column
    gate = gates + row * (3 * H) + column

    i = read(gate, inside)
    o = read(gate + H, inside)
    u = read(gate + 2 * H, inside)
    s = read(squashed + at, inside)
    dh = read(grad_hidden + at, inside)
    dc = read(grad_memory + at, inside) + tanh_backward(dh * o, s)

    tl.store(grad_memory + at, dc, mask=inside)
    tl.store(gate, sigmoid_backward(dc * u, i), mask=inside)
    tl.store(gate + H, sigmoid_backward(dh * s, o), mask=inside)
    tl.store(gate + 2 * H, tanh_backward(dc * i, u), mask=inside)


@triton.jit(do_not_specialize_on_alignment=INDICES)
def forget_forward_kernel(
    product: tl.tensor,
    forget: tl.tensor,
    memory: tl.tensor,
    children: tl.tensor,
    parents: tl.tensor,
    keep: tl.tensor,
    kept: tl.tensor,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """One program an edge."""
    edge = row_of_program()
    column = columns_of_program(BLOCK)
    inside = column < H
    child = edge
    if children is not None:
        child = tl.load(children + edge)
    of_child = child * H + column
    of_parent = tl.load(parents + edge) * H + column

    f = sigmoid(read(product + of_child, inside) + read(forget + of_parent, inside))
    tl.store(keep + edge * H + column, f, mask=inside)
    add(kept + of_parent, f * read(memory + of_child, inside), inside)


@triton.jit(do_not_specialize_on_alignment=INDICES)
def forget_backward_kernel(
    keep: tl.tensor,
    memory: tl.tensor,
    children: tl.tensor,
    parents: tl.tensor,
    grad_kept: tl.tensor,
    grad_product: tl.tensor,
    grad_forget: tl.tensor,
    grad_memory: tl.tensor,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """One program an edge."""
    edge = row_of_program()
    column = columns_of_program(BLOCK)
    inside = column < H
    child = edge
    if children is not None:
        child = tl.load(children + edge)
    of_child = child * H + column
    of_parent = tl.load(parents + edge) * H + column

    f = read(keep + edge * H + column, inside)
    asked = read(grad_kept + of_parent, inside)
    grad = sigmoid_backward(asked * read(memory + of_child, inside), f)
    if children is None:  # each child has one edge, so nobody else writes to its rows
        tl.store(grad_product + of_child, grad, mask=inside)
        of_memory = grad_memory + of_child
        tl.store(of_memory, read(of_memory, inside) + asked * f, mask=inside)
    else:
        add(grad_product + of_child, grad, inside)
        add(grad_memory + of_child, asked * f, inside)
    add(grad_forget + of_parent, grad, inside)


@triton.jit(do_not_specialize_on_alignment=INDICES)
def add_rows_kernel(
    target: tl.tensor,
    target_rows: tl.tensor,
    source: tl.tensor,
    source_rows: tl.tensor,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """One program a pair of rows."""
    pair = row_of_program()
    column = columns_of_program(BLOCK)
    inside = column < H
    row = pair
    if source_rows is not None:
        row = tl.load(source_rows + pair)
    values = read(source + row * H + column, inside)
    add(target + tl.load(target_rows + pair) * H + column, values, inside)
