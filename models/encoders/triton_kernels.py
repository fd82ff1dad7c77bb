"""Triton kernels of the Tree-LSTMs and of the gated recurrent unit.

Arguments and shapes: `models.encoders.cell_steps.Cells`. Every program of a kernel handles
``BLOCK`` of the H columns of one row or edge. It computes in float32, or in float64 where the
buffers are that; a store rounds to the buffers' type.
"""

from __future__ import annotations

import triton
import triton.language as tl

INDICES = (
    "children",
    "parents",
    "target_rows",
    "source_rows",
    "left_operand",
    "right_operand",
    "left_row",
    "right_row",
)
"""Arguments of kernels that are read one number a program. A level's part of an index starts at any
multiple of 8 bytes: a kernel of its own for those at multiples of 16 would gain nothing."""


@triton.jit
def place_of_program(
    H: tl.constexpr, BLOCK: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """Returns the program's row, its columns [BLOCK] and which of these are inside the width.

    The row has 64 bits, as its offset may need more than 32.
    """
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    return tl.program_id(0).to(tl.int64), column, column < H


@triton.jit
def read(pointers: tl.tensor, inside: tl.tensor) -> tl.tensor:
    """Returns the values, at least in float32."""
    values = tl.load(pointers, mask=inside, other=0.0)
    if values.dtype == tl.bfloat16:
        values = values.to(tl.float32)
    return values


@triton.jit
def add(pointers: tl.tensor, values: tl.tensor, inside: tl.tensor) -> None:
    """Adds to rows, in float32 or float64, that other programs may add to at the same time."""
    rounded = values.to(pointers.dtype.element_ty)
    tl.atomic_add(pointers, rounded, mask=inside, sem="relaxed")


@triton.jit
def sigmoid(x: tl.tensor) -> tl.tensor:
    """Returns σ(x); where exp overflows, 1 / infinity is the right 0."""
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def tanh(x: tl.tensor) -> tl.tensor:
    """Returns tanh(x) as 2σ(2x) - 1; differs from it by at most 2e-7 in float32."""
    return 2.0 * sigmoid(2.0 * x) - 1.0


@triton.jit
def sigmoid_backward(grad: tl.tensor, y: tl.tensor) -> tl.tensor:
    """Returns the gradient of x from that of y = σ(x)."""
    return grad * y * (1.0 - y)


@triton.jit
def tanh_backward(grad: tl.tensor, y: tl.tensor) -> tl.tensor:
    """Returns the gradient of x from that of y = tanh(x)."""
    return grad * (1.0 - y * y)


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
    row, column, inside = place_of_program(H, BLOCK)
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
    row, column, inside = place_of_program(H, BLOCK)
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
    edge, column, inside = place_of_program(H, BLOCK)
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
    edge, column, inside = place_of_program(H, BLOCK)
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
    pair, column, inside = place_of_program(H, BLOCK)
    row = pair
    if source_rows is not None:
        row = tl.load(source_rows + pair)
    values = read(source + row * H + column, inside)
    add(target + tl.load(target_rows + pair) * H + column, values, inside)


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
    """One program a node of a binary tree; ``memory`` is of all rows, ``node_*`` of the nodes.

    Children are of other rows than the nodes of the call, so no program reads what another writes.
    """
    row, column, inside = place_of_program(H, BLOCK)
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
    row, column, inside = place_of_program(H, BLOCK)
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


@triton.jit
def gru_forward_kernel(
    gates: tl.tensor,
    previous: tl.tensor,
    hidden: tl.tensor,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """One program a sentence."""
    row, column, inside = place_of_program(H, BLOCK)
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
    row, column, inside = place_of_program(H, BLOCK)
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
