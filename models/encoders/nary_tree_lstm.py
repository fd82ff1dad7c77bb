"""CONST: the binary N-ary Tree-LSTM of Tai, Socher & Manning 2015 (section 3.2).

For node j with input x_j and children 1, 2 (left, right), in the paper's numbering with N = 2:

    i_j  = σ(W^i x_j + Σ_l U^i_l h_jl + b^i)                 (9)
    f_jk = σ(W^f x_j + Σ_l U^f_kl h_jl + b^f)                (10)
    o_j  = σ(W^o x_j + Σ_l U^o_l h_jl + b^o)                 (11)
    u_j  = tanh(W^u x_j + Σ_l U^u_l h_jl + b^u)              (12)
    c_j  = i_j * u_j + Σ_l f_jl * c_jl                       (13)
    h_j  = o_j * tanh(c_j)                                   (14)

Words stand at the leaves alone: an inner node's x_j is zero, so it has no input product, and
W^f, which would only ever multiply zero, is absent.

Legend: B sentences, T word types (= leaf rows), E word dimension, Q cherries, M inner rows,
R = T + M state rows, P operands of a side, P_S of them shared, H hidden. Rows and operands:
`models.encoders.binary_schedule`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from treeviews.models.config.training_config import Init
from treeviews.models.encoders.binary_schedule import BinarySchedule, Side
from treeviews.models.encoders.buffer_pool import BufferPool, Lease, single_use, write_product
from treeviews.models.encoders.cell_steps import Cells, PairGradients, Pairs, PairStates, cells_for
from treeviews.models.encoders.sentence_batch import SentenceBatch
from treeviews.models.encoders.sentence_encoder import (
    SentenceEncoder,
    SentenceStates,
    initialise,
    open_gates,
    require,
)


class BinaryCell(nn.Module):
    """The parameters of equations 9 to 14."""

    def __init__(self, *, word_size: int, hidden_size: int, init: Init) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.word = nn.Linear(word_size, 3 * hidden_size)
        """W and b of i, o, u; inner nodes share the b."""
        self.child_pair = nn.Linear(2 * hidden_size, 5 * hidden_size, bias=False)
        """U of i, o, u, f_1, f_2; columns [left; right]."""
        self.forget_bias = nn.Parameter(torch.empty(hidden_size))
        """b^f, the same for both children."""
        nn.init.zeros_(self.forget_bias)
        initialise(self.word, init, block_rows=hidden_size)
        initialise(self.child_pair, init, block_rows=hidden_size, block_columns=hidden_size)
        open_gates(self.forget_bias, init)

    @property
    def bias(self) -> Tensor:
        """b of i, o, u, f_1, f_2, [5H]."""
        return torch.cat([self.word.bias, self.forget_bias, self.forget_bias])


class NaryTreeLSTM(SentenceEncoder):
    """A sentence is the state h of its binarized constituency tree's root.

    Leaves are computed once per word type, pairs of words once per distinct pair, the other nodes
    level by level (`models.encoders.binary_schedule`).
    """

    def __init__(self, *, word_size: int, hidden_size: int, init: Init = "xavier") -> None:
        super().__init__()
        self.output_size = hidden_size
        self.cell = BinaryCell(word_size=word_size, hidden_size=hidden_size, init=init)
        self._pool = BufferPool()

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, H], from the word types' vectors [T, E].

        Raises:
            ValueError: the batch was made without binary trees.
        """
        schedule = require(batch.constituents, "NaryTreeLSTM", "binary_left and binary_right")
        roots: Tensor = NaryFunction.apply(*self._inputs(schedule, word_vectors))
        return roots

    @torch.no_grad()
    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns the state of each node of the trees, leaves included.

        Arguments as in `forward`.

        Raises:
            ValueError: the batch was made without binary trees or without nodes.
        """
        schedule = require(batch.constituents, "NaryTreeLSTM", "binary_left and binary_right")
        rows = nary_states(*self._inputs(schedule, word_vectors))
        offsets = batch.token_offsets
        return SentenceStates(
            rows=rows,
            row_of_node=require(schedule.node_rows, "pooling", "with_nodes=True"),
            # n leaves and n - 1 inner nodes a sentence.
            node_offsets=2 * offsets - torch.arange(len(offsets), device=offsets.device),
            last=rows.index_select(0, schedule.roots),
        )

    def _inputs(
        self, schedule: BinarySchedule, word_vectors: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, BinarySchedule, BufferPool]:
        """Returns the arguments of `NaryFunction`."""
        dtype, cell = word_vectors.dtype, self.cell
        gates = F.linear(word_vectors, cell.word.weight.to(dtype), cell.word.bias.to(dtype))
        child_pair, bias = cell.child_pair.weight.to(gates.dtype), cell.bias.to(gates.dtype)
        return gates, child_pair, bias, schedule, self._pool


# The states of a batch, level by level, with their gradient.


@dataclass(frozen=True, slots=True)
class _Level:
    """A level of the core; for each side, which state rows and which operands its nodes are."""

    inner: slice
    states: tuple[slice, slice]
    operands: tuple[slice, slice]

    def by_side(self) -> Iterator[tuple[slice, slice]]:
        """Yields the state rows and the operands of the left ones, then of the right ones."""
        return zip(self.states, self.operands, strict=True)


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

    @property
    def sides(self) -> tuple[Side, Side]:
        """Left and right."""
        return self.schedule.left, self.schedule.right

    def core_levels(self) -> list[_Level]:
        """Returns the core's levels, deepest first."""
        s = self.schedule
        reached = [s.left.num_shared, s.right.num_shared]
        levels = []
        for number, (first, last) in enumerate(pairwise(s.level_starts)):
            inner = slice(s.num_cherries + first, s.num_cherries + last)
            states, operands, row = [], [], s.num_leaves + inner.start
            for side, counts in enumerate((s.left.level_counts, s.right.level_counts)):
                count = counts[number]
                states.append(slice(row, row + count))
                operands.append(slice(reached[side], reached[side] + count))
                row += count
                reached[side] += count
            levels.append(_Level(inner, (states[0], states[1]), (operands[0], operands[1])))
        return levels

    def pairs(self, inner: slice) -> Pairs:
        """Returns the children of some inner nodes."""
        left, right = self.sides
        return Pairs(
            left.operand_of[inner],
            right.operand_of[inner],
            left.children[inner],
            right.children[inner],
        )

    def states(self, inner: slice) -> PairStates:
        """Returns the states, those of some inner nodes singled out."""
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

    def shared_total(self, side: int) -> Tensor:
        """Returns zeros for the gradients of a side's shared operands, which have many parents.

        They are the operands' own rows of ``products``, unless those are too coarse to add up in.
        """
        own = self.products[side][: self.sides[side].num_shared]
        if own.dtype != torch.bfloat16:
            return own.zero_()
        return self.lease.total(f"shared_{side}", *own.shape)

    def inner_backward(self, inner: slice, gradients: PairGradients) -> None:
        """Turns inner nodes' gates into their gradients."""
        self.cells.pair_backward(
            self.gates[inner], self.pairs(inner), self.states(inner), gradients
        )

    def core_backward(self, child_pair: Tensor, gradients: PairGradients) -> None:
        """Goes down the core, from the roots."""
        weights = child_pair.split(self.hidden.shape[1], 1)
        for level in reversed(self.core_levels()):
            for number, (states, operands) in enumerate(level.by_side()):
                if states.stop > states.start:
                    first, parents = self.sides[number].num_shared, self.sides[number].core_parents
                    of_one = parents[operands.start - first : operands.stop - first]
                    out = self.products[number][operands]
                    grad = torch.index_select(self.gates, 0, of_one, out=out)
                    write_product(gradients.hidden[states], grad, weights[number])
            self.inner_backward(level.inner, gradients)

    def shared_backward(self, child_pair: Tensor, gradients: PairGradients) -> None:
        """Goes on down from the core to the cherries and from both to the leaves."""
        weights = child_pair.split(self.hidden.shape[1], 1)
        totals = [self.shared_total(number) for number in range(2)]
        T, cherries = self.schedule.num_leaves, slice(0, self.schedule.num_cherries)

        def to_operands(number: int, operands: slice) -> None:
            if totals[number].dtype != self.gates.dtype:
                self.products[number][operands] = totals[number][operands]
            grad = torch.mm(self.products[number][operands], weights[number])
            rows = self.sides[number].operands[operands]
            self.cells.add_rows(gradients.hidden, rows, grad, None)

        for number, side in enumerate(self.sides):
            rows = side.operand_of.index_select(0, side.shared_parents)
            self.cells.add_rows(totals[number], rows, self.gates, side.shared_parents)
            to_operands(number, side.cherry_operands)
        self.inner_backward(cherries, gradients)
        for number, side in enumerate(self.sides):
            self.cells.add_rows(
                totals[number], side.operand_of[cherries], self.gates[cherries], None
            )
            to_operands(number, side.leaf_operands)
        self.cells.lstm_backward(
            self.word_gates, self.squashed[:T], gradients.hidden[:T], gradients.memory[:T]
        )

    def compute_inner(self, inner: slice) -> None:
        """Computes inner nodes whose children's products are there."""
        if inner.start < inner.stop:
            self.cells.pair_forward(
                self.gates[inner], *self.products, self.pairs(inner), self.states(inner)
            )


def _climbed(
    word_gates: Tensor, child_pair: Tensor, bias: Tensor, schedule: BinarySchedule, pool: BufferPool
) -> _Pass:
    """Returns the pass with all states.

    Args:
        word_gates: [T, 3H]; W x + b of i, o, u for each word type.
        child_pair: [5H, 2H]; U of i, o, u, f_1, f_2, for [left; right].
        bias: [5H].
        schedule: on the tensors' device.
        pool: where the buffers come from.
    """
    H, rows, lease = child_pair.shape[1] // 2, schedule.num_rows, pool.lease(word_gates)
    p = _Pass(
        schedule=schedule,
        lease=lease,
        cells=cells_for(word_gates),
        word_gates=lease.empty("word_gates", schedule.num_leaves, 3 * H),
        gates=lease.empty("gates", schedule.num_inner, 5 * H),
        hidden=lease.empty("hidden", rows, H),
        memory=lease.empty("memory", rows, H),
        squashed=lease.empty("squashed", rows, H),
        products=(
            lease.empty("left_product", len(schedule.left.operands), 5 * H),
            lease.empty("right_product", len(schedule.right.operands), 5 * H),
        ),
    )
    T, Q = schedule.num_leaves, schedule.num_cherries
    p.word_gates.copy_(word_gates)
    p.cells.lstm_forward(p.word_gates, None, p.hidden[:T], p.memory[:T], p.squashed[:T])

    p.multiply_shared([side.leaf_operands for side in p.sides], child_pair, bias)
    p.compute_inner(slice(0, Q))
    p.multiply_shared([side.cherry_operands for side in p.sides], child_pair, bias)
    for level in p.core_levels():
        p.compute_inner(level.inner)
        for number, (states, operands) in enumerate(level.by_side()):
            p.multiply(number, operands, p.hidden[states], child_pair, bias)
    return p


@torch.no_grad()
def nary_states(*arguments: Any) -> Tensor:
    """Returns the distinct nodes' h, [R, H], without a gradient; arguments as in `_climbed`."""
    return _climbed(*arguments).hidden.clone()


class NaryFunction(torch.autograd.Function):
    """Root states from what the words give, with one weight-gradient product a matrix."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        """Returns the roots' h, [B, H]; arguments as in `_climbed`."""
        _, child_pair, _, schedule, _ = arguments
        p = _climbed(*arguments)
        ctx.save_for_backward(child_pair)
        ctx.buffers = p
        return p.hidden.index_select(0, schedule.roots)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_roots: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the three tensors of `forward`."""
        (child_pair,) = ctx.saved_tensors
        p: _Pass = single_use(ctx)
        H, R = child_pair.shape[1] // 2, p.schedule.num_rows
        gradients = PairGradients(
            p.lease.total("grad_hidden", R, H), p.lease.total("grad_memory", R, H)
        )
        p.cells.add_rows(gradients.hidden, p.schedule.roots, grad_roots.contiguous(), None)
        p.core_backward(child_pair, gradients)
        p.shared_backward(child_pair, gradients)

        grad_pair = torch.empty_like(child_pair)
        for number, (side, columns) in enumerate(zip(p.sides, grad_pair.split(H, 1), strict=True)):
            hidden = p.hidden.index_select(0, side.operands)
            torch.mm(p.products[number].T, hidden, out=columns)
        # Every inner node has one left child, so these hold each node's gradient once.
        grad_bias = p.products[0].sum(0)
        return p.word_gates.clone(), grad_pair, grad_bias, None, None
