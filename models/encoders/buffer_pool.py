"""Memory that a level loop reuses from batch to batch, and matrix products into it.

A step at width 1200 fills a gigabyte, and every fresh page of it is a fault. CUDA's allocator keeps
its memory itself. What is summed up may be held in a wider type than the factors of a product.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

SPARE = 1.25
"""A buffer is made larger than asked for, as the next batch may hold a few more nodes."""


class BufferPool:
    """Flat CPU tensors by name, handed out for one forward and backward pass at a time.

    Safe for a second forward pass before the first one's backward pass: it gets other buffers.
    Holds what its largest batch so far has needed, in one type.
    """

    def __init__(self) -> None:
        self._free: dict[str, list[Tensor]] = {}

    def take(self, name: str, dtype: torch.dtype, size: int) -> Tensor:
        """Returns a flat tensor of at least ``size`` values that nobody else holds."""
        free = self._free.get(name, [])
        while free:
            found = free.pop()
            # What was made in inference mode must not be written to outside of it.
            usable = torch.is_inference_mode_enabled() or not found.is_inference()
            if usable and found.dtype == dtype and found.numel() >= size:
                return found
        return torch.empty(math.ceil(size * SPARE), dtype=dtype)

    def give_back(self, name: str, buffer: Tensor) -> None:
        """Takes a tensor back for the next lease."""
        self._free.setdefault(name, []).append(buffer)


class Lease:
    """Buffers of one pass, which go back to their pool when the lease is dropped."""

    def __init__(self, pool: BufferPool, like: Tensor) -> None:
        self._pool = pool
        self._like = like
        self._taken: dict[str, Tensor] = {}

    def empty(self, name: str, *shape: int) -> Tensor:
        """Returns an uninitialised tensor of this shape, contiguous; a name is given out once."""
        return self._make(name, self._like.dtype, shape)

    def total(self, name: str, *shape: int) -> Tensor:
        """Returns zeros to add any number of terms to: in float32 where states are in bfloat16.

        (A sum of ones in bfloat16 ends at 256: the next one is rounded off.)
        """
        low = self._like.dtype == torch.bfloat16
        return self._make(name, torch.float32 if low else self._like.dtype, shape).zero_()

    def _make(self, name: str, dtype: torch.dtype, shape: tuple[int, ...]) -> Tensor:
        assert name not in self._taken, f"{name} is taken"
        if self._like.device.type != "cpu":
            return self._like.new_empty(shape, dtype=dtype)
        size = math.prod(shape)
        buffer = self._taken[name] = self._pool.take(name, dtype, size)
        return buffer[:size].view(shape)

    def __del__(self) -> None:
        for name, buffer in self._taken.items():
            self._pool.give_back(name, buffer)


def single_use(ctx: Any) -> Any:
    """Returns an autograd context's ``buffers``, which its backward pass overwrites, and drops
    them.

    Raises:
        RuntimeError: they were used before.
    """
    buffers = ctx.buffers
    if buffers is None:
        raise RuntimeError("the buffers of this forward pass were used by a backward pass")
    ctx.buffers = None
    return buffers


def add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Adds ``left @ right`` to ``total``; multiplies in the type of ``right``.

    Args:
        total: [n, m].
        left: [n, k].
        right: [k, m].
    """
    left = left.to(right.dtype)
    if total.dtype == right.dtype:
        total.addmm_(left, right)
    else:
        total.add_(torch.mm(left, right))


def write_product(out: Tensor, left: Tensor, right: Tensor) -> None:
    """Writes ``left @ right`` to ``out``; arguments as in `add_product`."""
    left = left.to(right.dtype)
    if out.dtype == right.dtype:
        torch.mm(left, right, out=out)
    else:
        out.copy_(torch.mm(left, right))
