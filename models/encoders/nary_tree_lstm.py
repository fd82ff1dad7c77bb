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

from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from treeviews.models.config.training_config import Init
from treeviews.models.encoders.binary_schedule import BinarySchedule
from treeviews.models.encoders.buffer_pool import BufferPool, Lease, single_use, write_product
from treeviews.models.encoders.cell_steps import cells_for
from treeviews.models.encoders.sentence_encoder import (
    SentenceBatch,
    SentenceEncoder,
    SentenceStates,
    initialise,
    open_gates,
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
        """Returns one vector per sentence, [B, H], from the word types' vectors [T, E]."""
        roots: Tensor = NaryFunction.apply(*self._inputs(batch, word_vectors))
        return roots

    @torch.no_grad()
    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns the state of each node of the trees, leaves included."""
        p = _Pass(*self._inputs(batch, word_vectors))
        rows = p.hidden.clone()
        offsets = batch.token_offsets
        return SentenceStates(
            rows=rows,
            row_of_node=p.schedule.node_rows,
            # n leaves and n - 1 inner nodes a sentence.
            node_offsets=2 * offsets - torch.arange(len(offsets), device=offsets.device),
            last=rows.index_select(0, p.schedule.roots),
        )

    def _inputs(
        self, batch: SentenceBatch, word_vectors: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, BinarySchedule, BufferPool]:
        """Returns the arguments of `NaryFunction`."""
        assert batch.constituents is not None, "the batch was made without binary trees"
        dtype, cell = word_vectors.dtype, self.cell
        gates = F.linear(word_vectors, cell.word.weight.to(dtype), cell.word.bias.to(dtype))
        child_pair, bias = cell.child_pair.weight.to(gates.dtype), cell.bias.to(gates.dtype)
        return gates, child_pair, bias, batch.constituents, self._pool


# The states of a batch, level by level, with their gradient.


_Level = tuple[slice, list[tuple[slice, slice]]]
"""Inner rows of a level of the core; state rows and operands of its left, then right children."""


class _Pass:
    """The states of one forward pass, in buffers that the backward pass overwrites with gradients.

    The leaves' gates are ``word_gates`` [T, 3H], the inner nodes' ``gates`` [M, 5H]; ``hidden``,
    ``memory`` and ``squashed`` [R, H] are h, c and tanh(c). ``products`` [P, 5H], one for each
    side, are U h of its operands, and on the way back their gradients.
    """

    def __init__(
        self,
        word_gates: Tensor,
        child_pair: Tensor,
        bias: Tensor,
        schedule: BinarySchedule,
        pool: BufferPool,
    ) -> None:
        """Computes all states.

        Args:
            word_gates: [T, 3H]; W x + b of i, o, u for each word type.
            child_pair: [5H, 2H]; U of i, o, u, f_1, f_2, for [left; right].
            bias: [5H].
            schedule: on the tensors' device.
            pool: where the buffers come from.
        """
        H, rows, T = child_pair.shape[1] // 2, schedule.num_rows, schedule.num_leaves
        self.schedule, self.sides = schedule, (schedule.left, schedule.right)
        self.lease = lease = Lease(pool, word_gates)
        self.cells = cells_for(word_gates)
        self.word_gates = lease.empty("word_gates", T, 3 * H)
        self.gates = lease.empty("gates", schedule.num_inner, 5 * H)
        self.hidden = lease.empty("hidden", rows, H)
        self.memory = lease.empty("memory", rows, H)
        self.squashed = lease.empty("squashed", rows, H)
        self.products = (
            lease.empty("left_product", len(schedule.left.operands), 5 * H),
            lease.empty("right_product", len(schedule.right.operands), 5 * H),
        )
        self.word_gates.copy_(word_gates)
        self.cells.lstm_forward(
            self.word_gates, None, self.hidden[:T], self.memory[:T], self.squashed[:T]
        )
        self._multiply_shared([side.leaf_operands for side in self.sides], child_pair, bias)
        self._compute(slice(0, schedule.num_cherries))
        self._multiply_shared([side.cherry_operands for side in self.sides], child_pair, bias)
        for inner, sides in self._core_levels():
            self._compute(inner)
            for number, (states, operands) in enumerate(sides):
                self._multiply(number, operands, self.hidden[states], child_pair, bias)

    def descend(self, child_pair: Tensor, grad_roots: Tensor) -> None:
        """Turns ``word_gates``, ``gates`` and ``products`` into their gradients."""
        grad_hidden = self.lease.total("grad_hidden", *self.hidden.shape)
        grad_memory = self.lease.total("grad_memory", *self.hidden.shape)
        self.cells.add_rows(grad_hidden, self.schedule.roots, grad_roots.contiguous(), None)
        weights = child_pair.split(self.hidden.shape[1], 1)
        for inner, sides in reversed(self._core_levels()):
            for number, (states, operands) in enumerate(sides):
                if states.stop > states.start:
                    first, parents = self.sides[number].num_shared, self.sides[number].core_parents
                    of_one = parents[operands.start - first : operands.stop - first]
                    out = self.products[number][operands]
                    grad = torch.index_select(self.gates, 0, of_one, out=out)
                    write_product(grad_hidden[states], grad, weights[number])
            self._compute_backward(inner, grad_hidden, grad_memory)
        self._descend_shared(weights, grad_hidden, grad_memory)

    def _descend_shared(
        self, weights: tuple[Tensor, ...], grad_hidden: Tensor, grad_memory: Tensor
    ) -> None:
        """Goes on down from the core to the cherries and from both to the leaves."""
        totals = [self._shared_total(number) for number in range(2)]
        T, cherries = self.schedule.num_leaves, slice(0, self.schedule.num_cherries)

        def to_operands(number: int, operands: slice) -> None:
            if totals[number].dtype != self.gates.dtype:
                self.products[number][operands] = totals[number][operands]
            grad = torch.mm(self.products[number][operands], weights[number])
            self.cells.add_rows(grad_hidden, self.sides[number].operands[operands], grad, None)

        for number, side in enumerate(self.sides):
            rows = side.operand_of.index_select(0, side.shared_parents)
            self.cells.add_rows(totals[number], rows, self.gates, side.shared_parents)
            to_operands(number, side.cherry_operands)
        self._compute_backward(cherries, grad_hidden, grad_memory)
        for number, side in enumerate(self.sides):
            rows = side.operand_of[cherries]
            self.cells.add_rows(totals[number], rows, self.gates[cherries], None)
            to_operands(number, side.leaf_operands)
        self.cells.lstm_backward(
            self.word_gates, self.squashed[:T], grad_hidden[:T], grad_memory[:T]
        )

    def _core_levels(self) -> list[_Level]:
        """Returns the core's levels, deepest first."""
        s = self.schedule
        reached = [side.num_shared for side in self.sides]
        levels = []
        for number, (first, last) in enumerate(pairwise(s.level_starts)):
            inner = slice(s.num_cherries + first, s.num_cherries + last)
            sides, row = [], s.num_leaves + inner.start
            for place, side in enumerate(self.sides):
                count = side.level_counts[number]
                start = reached[place]
                sides.append((slice(row, row + count), slice(start, start + count)))
                row += count
                reached[place] += count
            levels.append((inner, sides))
        return levels

    def _multiply(
        self, side: int, operands: slice, hidden: Tensor, child_pair: Tensor, bias: Tensor
    ) -> None:
        """Multiplies operands with these states, [·, H]; the left ones carry the bias."""
        H = hidden.shape[1]
        out = self.products[side][operands]
        if side == 0:
            torch.addmm(bias, hidden, child_pair[:, :H].T, out=out)
        else:
            torch.mm(hidden, child_pair[:, H:].T, out=out)

    def _multiply_shared(self, operands: list[slice], child_pair: Tensor, bias: Tensor) -> None:
        """Multiplies operands of both sides whose rows do not stand side by side."""
        for number, (side, some) in enumerate(zip(self.sides, operands, strict=True)):
            hidden = self.hidden.index_select(0, side.operands[some])
            self._multiply(number, some, hidden, child_pair, bias)

    def _shared_total(self, side: int) -> Tensor:
        """Returns zeros for the gradients of a side's shared operands, which have many parents.

        They are the operands' own rows of ``products``, unless those are too coarse to add up in.
        """
        own = self.products[side][: self.sides[side].num_shared]
        if own.dtype != torch.bfloat16:
            return own.zero_()
        return self.lease.total(f"shared_{side}", *own.shape)

    def _compute(self, inner: slice) -> None:
        """Computes inner nodes whose children's products are there."""
        if inner.start < inner.stop:
            left, right = self.sides
            nodes = self._state_rows(inner)
            self.cells.pair_forward(
                self.gates[inner],
                *self.products,
                left.operand_of[inner],
                right.operand_of[inner],
                left.children[inner],
                right.children[inner],
                self.memory,
                self.hidden[nodes],
                self.memory[nodes],
                self.squashed[nodes],
            )

    def _compute_backward(self, inner: slice, grad_hidden: Tensor, grad_memory: Tensor) -> None:
        """Turns inner nodes' gates into their gradients."""
        nodes = self._state_rows(inner)
        self.cells.pair_backward(
            self.gates[inner],
            self.sides[0].children[inner],
            self.sides[1].children[inner],
            self.memory,
            self.squashed[nodes],
            grad_hidden[nodes],
            grad_memory[nodes],
            grad_memory,
        )

    def _state_rows(self, inner: slice) -> slice:
        first = self.schedule.num_leaves
        return slice(first + inner.start, first + inner.stop)


class NaryFunction(torch.autograd.Function):
    """Root states from what the words give, with one weight-gradient product a matrix."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        """Returns the roots' h, [B, H]; arguments as `_Pass` takes them."""
        p = _Pass(*arguments)
        ctx.save_for_backward(arguments[1])
        ctx.buffers = p
        return p.hidden.index_select(0, p.schedule.roots)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_roots: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the three tensors of `forward`."""
        (child_pair,) = ctx.saved_tensors
        p: _Pass = single_use(ctx)
        p.descend(child_pair, grad_roots)
        grad_pair = torch.empty_like(child_pair)
        columns = grad_pair.split(child_pair.shape[1] // 2, 1)
        for side, products, out in zip(p.sides, p.products, columns, strict=True):
            torch.mm(products.T, p.hidden.index_select(0, side.operands), out=out)
        # Every inner node has one left child, so these hold each node's gradient once.
        grad_bias = p.products[0].sum(0)
        return p.word_gates.clone(), grad_pair, grad_bias, None, None
