"""Memory that a level loop reuses from batch to batch.

A step at width 1200 fills a gigabyte. Fresh from the operating system, every page of it is a fault:
a tenth of the step on a CPU. CUDA's allocator keeps its memory itself.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

SPARE = 1.25
"""A buffer is made larger than asked for, as the next batch may hold a few more nodes."""


class BufferPool:
    """Flat tensors by name, handed out for one forward and backward pass at a time.

    Safe for a second forward pass before the first one's backward pass: it gets other buffers.
    """

    def __init__(self) -> None:
        self._free: dict[tuple[str, torch.dtype], list[Tensor]] = {}

    def lease(self, like: Tensor) -> Lease:
        """Returns a lease on buffers of the type and on the device of ``like``."""
        return Lease(self, like)

    def take(self, name: str, like: Tensor, size: int) -> Tensor:
        """Returns a flat tensor of at least ``size`` values that nobody else holds."""
        free = self._free.get((name, like.dtype), [])
        if free and free[-1].device == like.device:
            found = free.pop()
            if found.numel() >= size:
                return found
        return like.new_empty(math.ceil(size * SPARE))

    def give_back(self, name: str, buffer: Tensor) -> None:
        """Takes a tensor back for the next lease."""
        self._free.setdefault((name, buffer.dtype), []).append(buffer)

    def __deepcopy__(self, memo: dict[int, Any]) -> BufferPool:
        return BufferPool()

    def __getstate__(self) -> dict[str, Any]:
        return {"_free": {}}


class Lease:
    """Buffers of one pass, which go back to their pool when the lease is dropped."""

    def __init__(self, pool: BufferPool, like: Tensor) -> None:
        self._pool = pool
        self._like = like
        self._taken: dict[str, Tensor] = {}

    def empty(self, name: str, *shape: int) -> Tensor:
        """Returns an uninitialised tensor of this shape, contiguous."""
        if self._like.device.type != "cpu":
            return self._like.new_empty(shape)
        size = math.prod(shape)
        buffer = self._pool.take(name, self._like, size)
        self._taken[name] = buffer
        return buffer[:size].view(shape)

    def zeros(self, name: str, *shape: int) -> Tensor:
        """Returns a tensor of zeros, contiguous."""
        return self.empty(name, *shape).zero_()

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
