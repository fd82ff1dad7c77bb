"""The Child-Sum Tree-LSTM over a batch's schedule, forward and backward.

Equations: `models.encoders.child_sum`. Rows: `models.schedules.dependency`.

Legend: T word types, R state rows, K leaves, F fringe, C core, M = F + C inner rows, H hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from models.functions.buffers import BufferPool, Lease
from models.functions.child_sums import AddedSums, AttendedSums, ChildSums
from models.kernels.cells import Cells, cells_for
from models.schedules import DependencySchedule


@dataclass(frozen=True, slots=True)
class _Level:
    """Rows of nodes that are computed together."""

    states: slice
    inner: slice
    core: slice
    edges: slice | None
    """The level's own core rows again, as edges to its parents; None for roots."""


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
    sums: ChildSums
    leaf_keep: Tensor
    """[·, H]; f of each edge from a leaf, and likewise from the fringe and from the core."""
    fringe_keep: Tensor
    core_keep: Tensor

    @classmethod
    def begin(
        cls, schedule: DependencySchedule, lease: Lease, cells: Cells, sums: ChildSums, width: int
    ) -> _Pass:
        rows = schedule.num_leaves + schedule.num_inner
        return cls(
            schedule=schedule,
            lease=lease,
            cells=cells,
            gates=lease.empty("gates", rows, 3 * width),
            hidden=lease.empty("hidden", rows, width),
            memory=lease.empty("memory", rows, width),
            squashed=lease.empty("squashed", rows, width),
            sums=sums,
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
                edges=slice(first, last) if last <= num_pushing else None,
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
        word_query: Tensor | None = None,
    ) -> Tensor:
        """Returns the roots' h, [B, H].

        Args:
            word_gates: [T, 3H]; W x + b of i, o, u for each word type.
            word_forget: [T, H]; W x + b of f.
            child_sum: [3H, H]; U of i, o, u.
            child: [H, H]; U of f.
            schedule: on the tensors' device.
            pool: where the buffers come from.
            word_query: [T, H]; q for each word type, if children are summed by attention.
        """
        s, H = schedule, child.shape[0]
        K, F, M = s.num_leaves, s.num_fringe, s.num_inner
        lease, cells = pool.lease(word_gates), cells_for(word_gates)
        sums: ChildSums
        if word_query is None:
            sums = AddedSums(s, child_sum, lease, cells)
        else:
            sums = AttendedSums(s, child_sum, word_query.index_select(0, s.words[K:]))
        p = _Pass.begin(s, lease, cells, sums, H)
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
            sums.add_leaves(p.hidden[leaves])
            sums.multiply_fringe(p.gates[fringe])
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
            sums.add_fringe(p.hidden[fringe])
        for level in p.core_levels():
            sums.multiply_level(p.gates[level.states], level.core)
            p.compute_states(level.states, kept[level.inner])
            if level.edges is not None:
                parents = s.core_parents[level.edges]
                hidden = p.hidden[level.states]
                torch.mm(hidden, child.T, out=product[level.edges])
                p.cells.forget_forward(
                    product[level.edges],
                    forget[F:],
                    p.memory[level.states],
                    None,
                    parents,
                    p.core_keep[level.edges],
                    kept[F:],
                )
                sums.add_level(hidden, level.edges)
        ctx.save_for_backward(child)
        ctx.p, ctx.num_words = p, len(word_gates)
        return p.hidden.index_select(0, s.roots)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_roots: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the tensors of `forward`."""
        (child,) = ctx.saved_tensors
        p: _Pass = ctx.p
        ctx.p = None
        if p is None:
            raise RuntimeError("the buffers of this forward pass were used by a backward pass")
        s, lease, H = p.schedule, p.lease, child.shape[0]
        K, F, M = s.num_leaves, s.num_fringe, s.num_inner
        leaves, fringe = slice(0, K), slice(K, K + F)
        num_pushing = K + F + len(s.core_parents)
        grad_hidden = lease.zeros("grad_hidden", K + M, H).index_add_(0, s.roots, grad_roots)
        grad_memory = lease.zeros("grad_memory", K + M, H)
        grad_forget = lease.zeros("grad_forget", M, H)
        grad_product = lease.empty("grad_product", num_pushing, H)
        grad_product[: K + F].zero_()

        def states_backward(rows: slice) -> None:
            p.cells.lstm_backward(
                p.gates[rows], p.squashed[rows], grad_hidden[rows], grad_memory[rows]
            )

        for level in reversed(p.core_levels()):
            if level.edges is not None:
                parents = s.core_parents[level.edges]
                products = slice(level.states.start, level.states.stop)
                p.cells.forget_backward(
                    p.core_keep[level.edges],
                    p.memory[level.states],
                    None,
                    parents,
                    grad_memory[K + F :],
                    grad_product[products],
                    grad_forget[F:],
                    grad_memory[level.states],
                )
                hidden = grad_hidden[level.states]
                p.sums.grad_of_level(p.hidden[level.states], level.edges, hidden)
                hidden.addmm_(grad_product[products], child)
            states_backward(level.states)
            p.sums.level_backward(p.gates[level.states], level.core)
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
            p.sums.grad_of_fringe(p.hidden[fringe], grad_hidden[fringe])
            grad_hidden[fringe].addmm_(grad_product[fringe], child)
        if M:
            states_backward(fringe)
            p.sums.fringe_backward(p.gates[fringe])
            p.cells.forget_backward(
                p.leaf_keep,
                p.memory[leaves],
                *s.leaf_to_inner,
                grad_memory[K:],
                grad_product[leaves],
                grad_forget,
                grad_memory[leaves],
            )
            p.sums.grad_of_leaves(p.hidden[leaves], grad_hidden[leaves])
            grad_hidden[leaves].addmm_(grad_product[leaves], child)
        states_backward(leaves)

        def by_word(grad: Tensor, words: Tensor) -> Tensor:
            total = grad.new_zeros(ctx.num_words, grad.shape[1])
            return total.index_add_(0, words, grad)

        grad_query = p.sums.grad_of_query()
        return (
            by_word(p.gates, s.words),
            by_word(grad_forget, s.words[K:]),
            p.sums.grad_of_weight(p.gates[K:]),
            torch.mm(grad_product.T, p.hidden[:num_pushing]),
            None,
            None,
            None if grad_query is None else by_word(grad_query, s.words[K:]),
        )
