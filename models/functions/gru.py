"""The gated recurrent unit over packed sentences, forward and backward.

Equations: `models.encoders.gru`. Rows: `models.schedules.sequence`.

Legend: B sentences, N tokens (= rows), T word types, H hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from models.functions.buffers import BufferPool, Lease, single_use
from models.kernels.cells import Cells, cells_for
from models.schedules import SequenceSchedule


@dataclass(frozen=True, slots=True)
class _Pass:
    """The buffers of one forward pass, which the backward pass overwrites with gradients."""

    lease: Lease
    cells: Cells
    gates: Tensor
    """[N, 3H]; of the words, and likewise of the states before."""
    state_gates: Tensor
    hidden: Tensor
    """[N, H]."""
    initial: Tensor
    """[B, H]; zeros."""

    @classmethod
    def read(
        cls,
        word_gates: Tensor,
        weight: Tensor,
        bias: Tensor,
        words: Tensor,
        schedule: SequenceSchedule,
        pool: BufferPool,
    ) -> _Pass:
        """Computes all states; arguments as in `GRUFunction.forward`."""
        H, N = weight.shape[1], len(words)
        lease, cells = pool.lease(word_gates), cells_for(word_gates)
        gates = torch.index_select(word_gates, 0, words, out=lease.empty("gates", N, 3 * H))
        state_gates = lease.empty("state_gates", N, 3 * H)
        hidden = lease.empty("hidden", N, H)
        initial = previous = lease.empty("initial", schedule.step_sizes[0], H).zero_()
        for first, last in pairwise(accumulate(schedule.step_sizes, initial=0)):
            rows, previous = slice(first, last), previous[: last - first]
            if first:
                torch.addmm(bias, previous, weight.T, out=state_gates[rows])
            else:  # the first state is zero
                state_gates[rows] = bias
            cells.gru_forward(gates[rows], state_gates[rows], previous, hidden[rows])
            previous = hidden[rows]
        return cls(lease, cells, gates, state_gates, hidden, initial)


@torch.no_grad()
def gru_states(
    word_gates: Tensor,
    weight: Tensor,
    bias: Tensor,
    words: Tensor,
    schedule: SequenceSchedule,
    pool: BufferPool,
) -> Tensor:
    """Returns the state after each word, [N, H] by row, without a gradient.

    Arguments as in `GRUFunction.forward`.
    """
    return _Pass.read(word_gates, weight, bias, words, schedule, pool).hidden.clone()


class GRUFunction(torch.autograd.Function):
    """Last states from what the words give, with one weight-gradient product a matrix."""

    @staticmethod
    def forward(
        ctx: Any,
        word_gates: Tensor,
        weight: Tensor,
        bias: Tensor,
        words: Tensor,
        schedule: SequenceSchedule,
        pool: BufferPool,
    ) -> Tensor:
        """Returns the state after each sentence's last word, [B, H].

        Args:
            word_gates: [T, 3H]; W x + b of r, z, n for each word type.
            weight: [3H, H]; U of r, z, n.
            bias: [3H]; d of r, z, n.
            words: [N]; word type of each row.
            schedule: on the tensors' device.
            pool: where the buffers come from.
        """
        p = _Pass.read(word_gates, weight, bias, words, schedule, pool)
        ctx.save_for_backward(weight)
        ctx.buffers = p
        ctx.words, ctx.schedule, ctx.num_words = words, schedule, len(word_gates)
        return p.hidden.index_select(0, schedule.last_rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_last: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the three tensors of `forward`."""
        (weight,) = ctx.saved_tensors
        p: _Pass = single_use(ctx)
        lease, cells, gates, state_gates, hidden = (
            p.lease,
            p.cells,
            p.gates,
            p.state_gates,
            p.hidden,
        )
        schedule: SequenceSchedule = ctx.schedule
        B, H = grad_last.shape
        # Sentences that end at a step stand last in it, so their gradients wait here until then.
        carried = torch.index_select(
            grad_last, 0, schedule.by_length, out=lease.empty("carried", B, H)
        )
        starts = list(accumulate(schedule.step_sizes, initial=0))
        for step in range(len(schedule.step_sizes) - 1, -1, -1):
            rows = slice(starts[step], starts[step + 1])
            size = rows.stop - rows.start
            before = hidden[starts[step - 1] : starts[step - 1] + size] if step else p.initial
            cells.gru_backward(gates[rows], state_gates[rows], before, carried[:size])
            if step:
                carried[:size].addmm_(state_gates[rows], weight)
        before = hidden.index_select(0, schedule.previous_rows)
        grad_weight = torch.mm(state_gates[B:].T, before)
        grad_words = lease.total("grad_words", ctx.num_words, 3 * H)
        cells.add_rows(grad_words, ctx.words, gates, None)
        return (
            grad_words.to(gates.dtype, copy=True),
            grad_weight,
            state_gates.sum(0),
            None,
            None,
            None,
        )
