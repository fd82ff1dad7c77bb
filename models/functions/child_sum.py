"""The Child-Sum Tree-LSTM over a batch's schedule, forward and backward.

Equations: `models.encoders.child_sum`. Rows: `models.schedules.dependency`.

Legend: T word types, R state rows, K leaves, F fringe, C core, M = F + C inner rows, S sum rows,
H hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from models.functions.buffers import BufferPool, Lease
from models.kernels.cells import Cells, cells_for
from models.schedules import DependencySchedule


@dataclass(frozen=True, slots=True)
class _Level:
    """Rows of nodes that are computed together."""

    states: slice
    inner: slice
    core: slice
    sums: slice
    products: slice | None
    """Rows of ``product`` and, for the core, of ``core_keep``; None for roots, which push
    nowhere."""


@dataclass(frozen=True, slots=True)
class _Pass:
    """The buffers of one forward pass, which the backward pass overwrites with gradients."""

    schedule: DependencySchedule
    lease: Lease
    cells: Cells
    gates: Tensor
    """[R, 3H]."""
    hidden: Tensor
    """[R, H]; h, and likewise c and tanh(c)."""
    memory: Tensor
    squashed: Tensor
    sums: Tensor
    """[S, H]; h~."""
    leaf_keep: Tensor
    """[·, H]; f of each edge from a leaf, and likewise from the fringe and from the core."""
    fringe_keep: Tensor
    core_keep: Tensor

    @classmethod
    def begin(cls, schedule: DependencySchedule, lease: Lease, cells: Cells, width: int) -> _Pass:
        rows = schedule.num_leaves + schedule.num_inner
        return cls(
            schedule=schedule,
            lease=lease,
            cells=cells,
            gates=lease.empty("gates", rows, 3 * width),
            hidden=lease.empty("hidden", rows, width),
            memory=lease.empty("memory", rows, width),
            squashed=lease.empty("squashed", rows, width),
            sums=lease.zeros("sums", schedule.num_sums, width),
            leaf_keep=lease.empty("leaf_keep", len(schedule.leaf_to_inner[0]), width),
            fringe_keep=lease.empty("fringe_keep", len(schedule.fringe_to_core[0]), width),
            core_keep=lease.empty("core_keep", len(schedule.core_parents), width),
        )

    def core_levels(self) -> list[_Level]:
        """Returns the core's levels, deepest first."""
        s = self.schedule
        first_state, num_pushing = s.num_leaves + s.num_fringe, len(s.core_parents)
        return [
            _Level(
                states=slice(first_state + first, first_state + last),
                inner=slice(s.num_fringe + first, s.num_fringe + last),
                core=slice(first, last),
                sums=slice(s.num_fringe_sums + first, s.num_fringe_sums + last),
                products=slice(first, last) if last <= num_pushing else None,
            )
            for first, last in pairwise(s.level_starts)
        ]

    def compute_states(self, rows: slice, kept: Tensor | None) -> None:
        self.cells.lstm_forward(
            self.gates[rows], kept, self.hidden[rows], self.memory[rows], self.squashed[rows]
        )


class ChildSumFunction(torch.autograd.Function):
    """Root states from what the words give, with one weight-gradient product a matrix."""

    @staticmethod
    def forward(
        ctx: Any,
        word_gates: Tensor,
        word_forget: Tensor,
        child_sum: Tensor,
        child: Tensor,
        schedule: DependencySchedule,
        pool: BufferPool,
    ) -> Tensor:
        """Returns the roots' h, [B, H].

        Args:
            word_gates: [T, 3H]; W x + b of i, o, u for each word type.
            word_forget: [T, H]; W x + b of f.
            child_sum: [3H, H]; U of i, o, u.
            child: [H, H]; U of f.
            schedule: on the tensors' device.
            pool: where the buffers come from.
        """
        s, H = schedule, child.shape[0]
        K, F, M, S_F = s.num_leaves, s.num_fringe, s.num_inner, s.num_fringe_sums
        lease = pool.lease(word_gates)
        p = _Pass.begin(s, lease, cells_for(word_gates), H)
        torch.index_select(word_gates, 0, s.words, out=p.gates)
        forget = torch.index_select(word_forget, 0, s.words[K:], out=lease.empty("forget", M, H))
        kept = lease.zeros("kept", M, H)
        product = lease.empty("product", max(K, F, M - F), H)

        leaves, fringe = slice(0, K), slice(K, K + F)
        p.compute_states(leaves, None)
        if M:
            torch.mm(p.hidden[leaves], child.T, out=product[:K])
            p.cells.forget_forward(
                product[:K], forget, p.memory[leaves], *s.leaf_to_inner, p.leaf_keep, kept
            )
            p.cells.add_rows(p.sums, s.leaf_to_sum[1], p.hidden, s.leaf_to_sum[0])
            summed = lease.empty("summed", S_F, 3 * H)
            torch.mm(p.sums[:S_F], child_sum.T, out=summed)
            p.gates[fringe].add_(summed.index_select(0, s.fringe_sums))
            p.compute_states(fringe, kept[:F])
        if s.num_core:
            torch.mm(p.hidden[fringe], child.T, out=product[:F])
            p.cells.forget_forward(
                product[:F],
                forget[F:],
                p.memory[fringe],
                *s.fringe_to_core,
                p.fringe_keep,
                kept[F:],
            )
            rows, parents = s.fringe_to_core
            p.cells.add_rows(p.sums[S_F:], parents, p.hidden[fringe], rows)
        for level in p.core_levels():
            p.gates[level.states].addmm_(p.sums[level.sums], child_sum.T)
            p.compute_states(level.states, kept[level.inner])
            if level.products is not None:
                parents = s.core_parents[level.products]
                hidden = p.hidden[level.states]
                torch.mm(hidden, child.T, out=product[level.products])
                p.cells.forget_forward(
                    product[level.products],
                    forget[F:],
                    p.memory[level.states],
                    None,
                    parents,
                    p.core_keep[level.products],
                    kept[F:],
                )
                p.cells.add_rows(p.sums[S_F:], parents, hidden, None)
        ctx.save_for_backward(child_sum, child)
        ctx.p, ctx.num_words = p, len(word_gates)
        return p.hidden.index_select(0, s.roots)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_roots: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the four tensors of `forward`."""
        child_sum, child = ctx.saved_tensors
        p: _Pass = ctx.p
        ctx.p = None
        if p is None:
            raise RuntimeError("the buffers of this forward pass were used by a backward pass")
        s, lease, H = p.schedule, p.lease, child.shape[0]
        K, F, M, S_F = s.num_leaves, s.num_fringe, s.num_inner, s.num_fringe_sums
        leaves, fringe = slice(0, K), slice(K, K + F)
        num_pushing = K + F + len(s.core_parents)
        grad_hidden = lease.zeros("grad_hidden", K + M, H).index_add_(0, s.roots, grad_roots)
        grad_memory = lease.zeros("grad_memory", K + M, H)
        grad_sums = lease.empty("grad_sums", s.num_sums, H)
        grad_forget = lease.zeros("grad_forget", M, H)
        grad_product = lease.empty("grad_product", num_pushing, H)
        grad_product[: K + F].zero_()

        def states_backward(rows: slice) -> None:
            p.cells.lstm_backward(
                p.gates[rows], p.squashed[rows], grad_hidden[rows], grad_memory[rows]
            )

        for level in reversed(p.core_levels()):
            if level.products is not None:
                parents = s.core_parents[level.products]
                products = slice(level.states.start, level.states.stop)
                p.cells.forget_backward(
                    p.core_keep[level.products],
                    p.memory[level.states],
                    None,
                    parents,
                    grad_memory[K + F :],
                    grad_product[products],
                    grad_forget[F:],
                    grad_memory[level.states],
                )
                hidden = grad_hidden[level.states]
                torch.index_select(grad_sums[S_F:], 0, parents, out=hidden)
                hidden.addmm_(grad_product[products], child)
            states_backward(level.states)
            torch.mm(p.gates[level.states], child_sum, out=grad_sums[level.sums])
        if s.num_core:
            rows, parents = s.fringe_to_core
            p.cells.forget_backward(
                p.fringe_keep,
                p.memory[fringe],
                rows,
                parents,
                grad_memory[K + F :],
                grad_product[fringe],
                grad_forget[F:],
                grad_memory[fringe],
            )
            p.cells.add_rows(grad_hidden[fringe], rows, grad_sums[S_F:], parents)
            grad_hidden[fringe].addmm_(grad_product[fringe], child)
        grad_summed = lease.zeros("grad_summed", S_F, 3 * H)
        if M:
            states_backward(fringe)
            grad_summed.index_add_(0, s.fringe_sums, p.gates[fringe])
            torch.mm(grad_summed, child_sum, out=grad_sums[:S_F])
            p.cells.forget_backward(
                p.leaf_keep,
                p.memory[leaves],
                *s.leaf_to_inner,
                grad_memory[K:],
                grad_product[leaves],
                grad_forget,
                grad_memory[leaves],
            )
            p.cells.add_rows(grad_hidden, s.leaf_to_sum[0], grad_sums, s.leaf_to_sum[1])
            grad_hidden[leaves].addmm_(grad_product[leaves], child)
        states_backward(leaves)

        grad_child_sum = torch.mm(grad_summed.T, p.sums[:S_F])
        grad_child_sum.addmm_(p.gates[K + F :].T, p.sums[S_F:])
        word_gates = grad_roots.new_zeros(ctx.num_words, 3 * H).index_add_(0, s.words, p.gates)
        word_forget = grad_roots.new_zeros(ctx.num_words, H).index_add_(0, s.words[K:], grad_forget)
        grad_child = torch.mm(grad_product.T, p.hidden[:num_pushing])
        return word_gates, word_forget, grad_child_sum, grad_child, None, None
