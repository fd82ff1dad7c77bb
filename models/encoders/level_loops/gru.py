"""The gated recurrent unit over packed sentences, forward and backward.

Equations: `models.encoders.gru`. Rows: `models.encoders.order.sequence`.

A row's gates stand side by side as n, r, z, m, where n is the words' part of the candidate and m
the state's, U^n h + d^n. So what comes of the words is the first three, what the product with the
state gives is the last three, and it is added in place to what is there; backwards likewise.

Legend: B sentences, F distinct first words, R rows, T word types, H hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from treeviews.models.encoders.kernels.cells import Cells, cells_for
from treeviews.models.encoders.level_loops.buffers import BufferPool, Lease, add_product, single_use
from treeviews.models.encoders.order import Reading, SequenceSchedule


@dataclass(frozen=True, slots=True)
class _Pass:
    """The buffers of one forward pass, which the backward pass overwrites with gradients."""

    lease: Lease
    cells: Cells
    gates: Tensor
    """[R, 4H]; n, r, z, m."""
    hidden: Tensor
    """[R, H]."""
    initial: Tensor
    """[F, H]; zeros."""
    second: Tensor
    """[·, H]; the states that the second step starts from, one a sentence that has it."""

    @classmethod
    def read(
        cls,
        word_gates: Tensor,
        weight: Tensor,
        reading: Reading,
        schedule: SequenceSchedule,
        pool: BufferPool,
    ) -> _Pass:
        """Returns the pass with all states.

        Args:
            word_gates: [T, 4H]; n, r, z, m for each word type before a state comes in: W x and all
                biases.
            weight: [3H, H]; U of r, z, n.
            reading: a direction of the schedule.
            schedule: on the tensors' device.
            pool: where the buffers come from.
        """
        H, R, F = weight.shape[1], len(reading.words), reading.num_first
        lease, cells = pool.lease(word_gates), cells_for(word_gates)
        gates = lease.empty("gates", R, 4 * H)
        torch.index_select(word_gates, 0, reading.words, out=gates)
        hidden, initial = lease.empty("hidden", R, H), lease.empty("initial", F, H).zero_()
        cells.gru_forward(gates[:F], initial, hidden[:F])
        of_second = reading.first_rows[: sum(schedule.step_sizes[1:2])]
        second = previous = hidden.index_select(0, of_second)
        for step, rows in enumerate(schedule.later_steps(reading), start=1):
            previous = previous[: rows.stop - rows.start]
            if step == 1:
                gates[rows, H:] += torch.mm(hidden[:F], weight.T).index_select(0, of_second)
            else:
                gates[rows, H:].addmm_(previous, weight.T)
            cells.gru_forward(gates[rows], previous, hidden[rows])
            previous = hidden[rows]
        return cls(lease, cells, gates, hidden, initial, second)


@torch.no_grad()
def gru_states(*arguments: Any) -> Tensor:
    """Returns the states of all rows, [R, H], without a gradient; arguments as in `_Pass.read`."""
    return _Pass.read(*arguments).hidden.clone()


class GRUFunction(torch.autograd.Function):
    """Last states from what the words give; the weights' gradient is two products for all steps."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        """Returns the states after the last words, [B, H]; arguments as in `_Pass.read`."""
        word_gates, weight, reading, schedule, _ = arguments
        p = _Pass.read(*arguments)
        ctx.save_for_backward(weight)
        ctx.buffers = p
        ctx.reading, ctx.schedule, ctx.num_words = reading, schedule, len(word_gates)
        return p.hidden.index_select(0, reading.last_rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_last: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the two tensors of `forward`."""
        (weight,) = ctx.saved_tensors
        p: _Pass = single_use(ctx)
        lease, cells, gates, hidden = p.lease, p.cells, p.gates, p.hidden
        reading: Reading = ctx.reading
        H, F, num_second = weight.shape[1], reading.num_first, len(p.second)
        carried = _later_steps_backward(p, weight, grad_last, reading, ctx.schedule)
        # Of the first step's states, by way of the interpolation and of the product.
        grad_first = lease.total("grad_first", F, H)
        cells.add_rows(grad_first, reading.first_rows, carried, None)
        grad_product = lease.total("grad_product", F, 4 * H)
        of_second = reading.first_rows[:num_second]
        cells.add_rows(grad_product, of_second, gates[F : F + num_second], None)
        grad_product = grad_product[:, H:]
        add_product(grad_first, grad_product, weight)
        cells.gru_backward(gates[:F], p.initial, grad_first.to(gates.dtype))

        before = hidden.index_select(0, reading.previous_rows)
        grad_weight = torch.mm(gates[F + num_second :, H:].T, before)
        add_product(grad_weight, grad_product.T, hidden[:F])
        grad_words = lease.total("grad_words", ctx.num_words, 4 * H)
        cells.add_rows(grad_words, reading.words, gates, None)
        return grad_words.to(gates.dtype, copy=True), grad_weight, None, None, None


def _later_steps_backward(
    p: _Pass, weight: Tensor, grad_last: Tensor, reading: Reading, schedule: SequenceSchedule
) -> Tensor:
    """Overwrites the gates of all steps but the first with their gradients.

    Returns:
        [B, H]; the gradients of the sentences' first states, longest sentence first, without what
        comes through the product with the weights.
    """
    B, H = grad_last.shape
    # Sentences that end at a step stand last in it, so their gradients wait here until then.
    carried = p.lease.empty("carried", B, H)
    torch.index_select(grad_last, 0, schedule.by_length, out=carried)
    steps = list(schedule.later_steps(reading))
    for number in range(len(steps) - 1, -1, -1):
        rows = steps[number]
        size = rows.stop - rows.start
        start = steps[number - 1].start
        before = p.hidden[start : start + size] if number else p.second
        p.cells.gru_backward(p.gates[rows], before, carried[:size])
        if number:
            carried[:size].addmm_(p.gates[rows, H:], weight)
    return carried
