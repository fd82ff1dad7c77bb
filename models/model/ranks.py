"""Several processes train one model: what each encodes, and how their gradients become one.

A batch of successive sentences is cut into one contiguous part a rank. Each rank encodes its part,
receives the others' views and computes the loss of the whole batch, so that any number of ranks
gives the gradients of one process with that batch.

The launcher is torchrun's; this module starts no process and reads no environment. On one rank
every function does nothing.

Legend: B sentences of the joint batch, b those of this rank's part, H hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

T = TypeVar("T")

WAIT_LIMIT = timedelta(hours=1)
"""Ranks wait for the first while it measures or saves; a rank that died, torchrun notices."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process among those that train together; by default it is alone."""

    rank: int = 0
    """This process, counted from 0."""
    size: int = 1
    """Number of processes."""

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes checkpoints, logs and results."""
        return self.rank == 0

    def part(self, num_sentences: int) -> tuple[int, int]:
        """Returns this rank's range of a batch: evenly cut, so that sizes differ by one at most.

        It is empty on some ranks if there are fewer sentences than ranks.
        """
        return num_sentences * self.rank // self.size, num_sentences * (self.rank + 1) // self.size

    def agreed(self, value: T) -> T:
        """Returns the first rank's value, for what each measures and all must do alike.

        Args:
            value: a plain object that can be pickled.
        """
        values = [value]
        if self.size > 1:
            dist.broadcast_object_list(values, src=0)
        return values[0]

    def of_first(self, values: Tensor) -> Tensor:
        """Returns the first rank's tensor, for numbers that every step measures.

        Args:
            values: of one shape and dtype on all ranks, on the device of each; the others' are
                overwritten.
        """
        if self.size > 1:
            dist.broadcast(values, src=0)
        return values

    def wait_for_all(self) -> None:
        """Returns when every rank has called it."""
        if self.size > 1:
            dist.barrier()


ALONE = Ranks()
"""The one process of a training that is not distributed."""


@contextmanager
def join_ranks(
    *, rank: int, size: int, device: torch.device, init_method: str = "env://"
) -> Iterator[Ranks]:
    """Joins the other processes for the time of the block: gloo on CPU, NCCL on CUDA.

    Args:
        device: the one that this rank computes on; no two ranks share a CUDA device.
        init_method: where the ranks meet. By default where torchrun says.
    """
    ranks = Ranks(rank, size)
    if size == 1:
        yield ranks
        return
    on_cuda = device.type == "cuda"
    if on_cuda:
        torch.cuda.set_device(device)  # NCCL's collectives run on the current device
    dist.init_process_group(
        "nccl" if on_cuda else "gloo",
        init_method=init_method,
        rank=rank,
        world_size=size,
        timeout=WAIT_LIMIT,
        device_id=device if on_cuda else None,
    )
    try:
        yield ranks
    finally:
        dist.destroy_process_group()


class _GatherRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, ranks: Ranks, num_rows: int) -> Tensor:
        ctx.range = ranks.part(num_rows)
        parts = [Ranks(rank, ranks.size).part(num_rows) for rank in range(ranks.size)]
        sizes = [stop - start for start, stop in parts]
        # Equal blocks are all that every backend gathers: a row of padding at most.
        padded = rows.new_zeros(max(sizes), *rows.shape[1:])
        padded[: len(rows)] = rows
        blocks = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(blocks, padded)
        return torch.cat([block[:size] for block, size in zip(blocks, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        start, stop = ctx.range
        return gradients[0][start:stop], None, None


def gather_rows(rows: Tensor, ranks: Ranks, num_rows: int) -> Tensor:
    """Returns all ranks' rows, [B, H] in rank order, equal on every rank; differentiable.

    The gradient of ``rows`` is this rank's slice of the result's and is not summed over the ranks,
    because each of them computes the same loss of the whole; `reduce_joint_gradients` then adds
    up what the slices contribute.

    Args:
        rows: [b, H]; this rank's part of the batch, see `Ranks.part`.
        num_rows: B, known to every rank, so that no sizes need be exchanged.
    """
    if ranks.size == 1:
        return rows
    start, stop = ranks.part(num_rows)
    assert len(rows) == stop - start, f"{len(rows)} rows where the part has {stop - start}"
    gathered: Tensor = _GatherRows.apply(rows, ranks, num_rows)
    return gathered


def reduce_joint_gradients(encoder: nn.Module, objective: nn.Module, ranks: Ranks) -> None:
    """Makes each rank's gradients those of the joint batch, after a loss of gathered rows.

    An encoder's gradient is a sum over sentences, of which every rank holds its own: they are
    added. The objective's was computed by every rank from the same rows, so it is complete: the
    first rank's is taken, lest rounding on unlike machines let the weights drift apart.
    """
    if ranks.size == 1:
        return
    for gradient in _gradients(encoder):
        dist.all_reduce(gradient)
    for gradient in _gradients(objective):
        dist.broadcast(gradient, src=0)


def _gradients(module: nn.Module) -> Iterator[Tensor]:
    """Yields the gradient of every trained parameter, of zeros where this rank has none.

    The ranks must exchange the same tensors: a part of one-word sentences leaves weights unused
    that the others' parts use, and each part has words of its own, so that the gradients of tables
    of words become dense.
    """
    for parameter in module.parameters():
        if parameter.requires_grad:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            elif parameter.grad.is_sparse:
                parameter.grad = parameter.grad.to_dense()
            yield parameter.grad
