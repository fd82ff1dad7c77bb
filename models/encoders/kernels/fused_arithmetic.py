"""What the Triton kernels share: reading, adding, σ and tanh; nothing here is called from Python.

Every program of a kernel handles ``BLOCK`` columns of one row. It computes in float32, or in
float64 where the buffers are that; a store rounds to the buffers' type.
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
def columns_of_program(BLOCK: tl.constexpr) -> tl.tensor:
    """Returns the columns of this program, [BLOCK]; the last ones may be beyond the width."""
    return tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)


@triton.jit
def row_of_program() -> tl.tensor:
    """Returns the row of this program; 64 bits, as its offset may need more than 32."""
    return tl.program_id(0).to(tl.int64)


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
