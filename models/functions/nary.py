"""The binary N-ary Tree-LSTM over a batch's schedule, forward and backward.

Equations: `models.encoders.nary`. Rows and operands: `models.schedules.binary`.

Legend: T word types (= leaf rows), Q cherries, M inner rows, R = T + M state rows, P operands of a
side, P_S of them shared, H hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from models.functions.buffers import BufferPool, Lease, single_use
from models.kernels.cells import Cells, PairGradients, Pairs, PairStates, cells_for
from models.schedules import BinarySchedule
from models.schedules.binary import Side


@dataclass(frozen=True, slots=True)
class _Level:
    """A level of the core: inner rows, and for each side the operands that its nodes are."""

    inner: slice
    operands: tuple[slice, slice]


@dataclass(frozen=True, slots=True)
class _Pass:
    """The buffers of one forward pass, which the backward pass overwrites with gradients."""

    schedule: BinarySchedule
    lease: Lease
    cells: Cells
    word_gates: Tensor
    """[T, 3H]; of the leaves."""
    gates: Tensor
    """[M, 5H]; of the inner nodes."""
    hidden: Tensor
    """[R, H]; h, and likewise c and tanh(c)."""
    memory: Tensor
    squashed: Tensor
    products: tuple[Tensor, Tensor]
    """[P, 5H] for each side; U h of its operands, on the way back their gradients."""

    @classmethod
    def begin(cls, schedule: BinarySchedule, lease: Lease, cells: Cells, width: int) -> _Pass:
        rows = schedule.num_rows
        left, right = len(schedule.left.operands), len(schedule.right.operands)
        return cls(
            schedule=schedule,
            lease=lease,
            cells=cells,
            word_gates=lease.empty("word_gates", schedule.num_leaves, 3 * width),
            gates=lease.empty("gates", schedule.num_inner, 5 * width),
            hidden=lease.empty("hidden", rows, width),
            memory=lease.empty("memory", rows, width),
            squashed=lease.empty("squashed", rows, width),
            products=(
                lease.empty("left_product", left, 5 * width),
                lease.empty("right_product", right, 5 * width),
            ),
        )

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.schedule.left, self.schedule.right

    def core_levels(self) -> list[_Level]:
        """Returns the core's levels, deepest first."""
        s = self.schedule
        reached = [s.left.num_shared, s.right.num_shared]
        levels = []
        for number, (first, last) in enumerate(pairwise(s.level_starts)):
            operands = []
            for side, counts in enumerate((s.left.level_counts, s.right.level_counts)):
                operands.append(slice(reached[side], reached[side] + counts[number]))
                reached[side] += counts[number]
            inner = slice(s.num_cherries + first, s.num_cherries + last)
            levels.append(_Level(inner, (operands[0], operands[1])))
        return levels

    def pairs(self, inner: slice) -> Pairs:
        left, right = self.sides
        return Pairs(
            left.operand_of[inner],
            right.operand_of[inner],
            left.children[inner],
            right.children[inner],
        )

    def states(self, inner: slice) -> PairStates:
        first = self.schedule.num_leaves
        return PairStates(
            self.hidden, self.memory, self.squashed, first + inner.start, first + inner.stop
        )

    def multiply(
        self, side: int, operands: slice, hidden: Tensor, child_pair: Tensor, bias: Tensor
    ) -> None:
        """Multiplies operands with these states, [·, H]; the left ones carry the bias."""
        H = hidden.shape[1]
        out = self.products[side][operands]
        if side == 0:
            torch.addmm(bias, hidden, child_pair[:, :H].T, out=out)
        else:
            torch.mm(hidden, child_pair[:, H:].T, out=out)

    def multiply_shared(self, operands: list[slice], child_pair: Tensor, bias: Tensor) -> None:
        """Multiplies operands of both sides whose rows do not stand side by side."""
        for number, (side, some) in enumerate(zip(self.sides, operands, strict=True)):
            hidden = self.hidden.index_select(0, side.operands[some])
            self.multiply(number, some, hidden, child_pair, bias)

    def gather_operands(self, side: int, operands: slice) -> Tensor:
        """Returns the gradients of the products of operands with one parent, [·, 5H]."""
        first = self.sides[side].num_shared
        parents = self.sides[side].core_parents[operands.start - first : operands.stop - first]
        return torch.index_select(self.gates, 0, parents, out=self.products[side][operands])

    def operands_backward(
        self, side: int, operands: slice, weight: Tensor, grad_hidden: Tensor
    ) -> None:
        """Adds what shared operands' products ask of their states."""
        grad = torch.mm(self.products[side][operands], weight)
        self.cells.add_rows(grad_hidden, self.sides[side].operands[operands], grad, None)

    def inner_backward(self, inner: slice, gradients: PairGradients) -> None:
        self.cells.pair_backward(
            self.gates[inner], self.pairs(inner), self.states(inner), gradients
        )

    def compute_inner(self, inner: slice) -> None:
        if inner.start < inner.stop:
            self.cells.pair_forward(
                self.gates[inner], *self.products, self.pairs(inner), self.states(inner)
            )


class NaryFunction(torch.autograd.Function):
    """Root states from what the words give, with one weight-gradient product a matrix."""

    @staticmethod
    def forward(
        ctx: Any,
        word_gates: Tensor,
        child_pair: Tensor,
        bias: Tensor,
        schedule: BinarySchedule,
        pool: BufferPool,
    ) -> Tensor:
        """Returns the roots' h, [B, H].

        Args:
            word_gates: [T, 3H]; W x + b of i, o, u for each word type.
            child_pair: [5H, 2H]; U of i, o, u, f_1, f_2, for [left; right].
            bias: [5H].
            schedule: on the tensors' device.
            pool: where the buffers come from.
        """
        H = child_pair.shape[1] // 2
        lease = pool.lease(word_gates)
        p = _Pass.begin(schedule, lease, cells_for(word_gates), H)
        T, Q = schedule.num_leaves, schedule.num_cherries
        p.word_gates.copy_(word_gates)
        p.cells.lstm_forward(p.word_gates, None, p.hidden[:T], p.memory[:T], p.squashed[:T])

        p.multiply_shared([side.leaf_operands for side in p.sides], child_pair, bias)
        p.compute_inner(slice(0, Q))
        p.multiply_shared([side.cherry_operands for side in p.sides], child_pair, bias)
        for level in p.core_levels():
            p.compute_inner(level.inner)
            start = T + level.inner.start
            for number, operands in enumerate(level.operands):
                stop = start + operands.stop - operands.start
                p.multiply(number, operands, p.hidden[start:stop], child_pair, bias)
                start = stop
        ctx.save_for_backward(child_pair)
        ctx.buffers = p
        return p.hidden.index_select(0, schedule.roots)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_roots: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the three tensors of `forward`."""
        (child_pair,) = ctx.saved_tensors
        p: _Pass = single_use(ctx)
        H = child_pair.shape[1] // 2
        weights = child_pair.split(H, 1)
        T, Q, R = p.schedule.num_leaves, p.schedule.num_cherries, p.schedule.num_rows
        gradients = PairGradients(
            p.lease.zeros("grad_hidden", R, H).index_add_(0, p.schedule.roots, grad_roots),
            p.lease.zeros("grad_memory", R, H),
        )
        for level in reversed(p.core_levels()):
            start = T + level.inner.start
            for number, operands in enumerate(level.operands):
                stop = start + operands.stop - operands.start
                grad = p.gather_operands(number, operands)
                if stop > start:
                    torch.mm(grad, weights[number], out=gradients.hidden[start:stop])
                start = stop
            p.inner_backward(level.inner, gradients)

        for number, side in enumerate(p.sides):
            grad = p.products[number][: side.num_shared].zero_()
            parents = side.shared_parents
            p.cells.add_rows(grad, side.operand_of.index_select(0, parents), p.gates, parents)
            p.operands_backward(number, side.cherry_operands, weights[number], gradients.hidden)
        p.inner_backward(slice(0, Q), gradients)
        for number, side in enumerate(p.sides):
            p.cells.add_rows(p.products[number], side.operand_of[:Q], p.gates[:Q], None)
            p.operands_backward(number, side.leaf_operands, weights[number], gradients.hidden)
        p.cells.lstm_backward(
            p.word_gates, p.squashed[:T], gradients.hidden[:T], gradients.memory[:T]
        )

        grad_pair = torch.empty_like(child_pair)
        for number, (side, columns) in enumerate(zip(p.sides, grad_pair.split(H, 1), strict=True)):
            hidden = p.hidden.index_select(0, side.operands)
            torch.mm(p.products[number].T, hidden, out=columns)
        # Every inner node has one left child, so these hold each node's gradient once.
        grad_bias = p.products[0].sum(0)
        return p.word_gates.clone(), grad_pair, grad_bias, None, None
