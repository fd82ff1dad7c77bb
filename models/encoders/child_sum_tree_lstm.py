"""DEP: the Child-Sum Tree-LSTM of Tai, Socher & Manning 2015 (section 3.1) over dependency trees.

For node j with word vector x_j and children C(j), in the paper's numbering:

    h~_j = Σ_{k ∈ C(j)} h_k                                  (2)
    i_j  = σ(W^i x_j + U^i h~_j + b^i)                       (3)
    f_jk = σ(W^f x_j + U^f h_k + b^f)   for each k ∈ C(j)    (4)
    o_j  = σ(W^o x_j + U^o h~_j + b^o)                       (5)
    u_j  = tanh(W^u x_j + U^u h~_j + b^u)                    (6)
    c_j  = i_j * u_j + Σ_{k ∈ C(j)} f_jk * c_k               (7)
    h_j  = o_j * tanh(c_j)                                   (8)

With attention over the children h~ is a weighted mean instead of equation 2:

    h~_j = Σ_{k ∈ C(j)} α_jk h_k,    α_jk = softmax_k cos(W^q x_j, h_k)

A later version of Simoulin & Crabbé's chapter has such a cell, a softmax over the children by
cosine. What it compares them with is not known to us; here it is the parent's word, by a matrix of
its own.

Legend: B sentences, T word types, E word dimension, R state rows, K leaves, M = R - K inner rows,
H hidden. Rows and groups: `models.encoders.dependency_schedule`.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from treeviews.models.config.training_config import DepCell, Init
from treeviews.models.encoders.buffer_pool import BufferPool, Lease, add_product, single_use
from treeviews.models.encoders.cell_steps import cells_for
from treeviews.models.encoders.child_aggregation import AddedSums, AttendedSums, ChildSums
from treeviews.models.encoders.dependency_schedule import DependencySchedule
from treeviews.models.encoders.sentence_encoder import (
    SentenceBatch,
    SentenceEncoder,
    SentenceStates,
    initialise,
    open_gates,
)


class ChildSumCell(nn.Module):
    """The parameters of equations 2 to 8, and W^q if children are summed by attention."""

    def __init__(
        self, *, word_size: int, hidden_size: int, init: Init, attentive: bool = False
    ) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.word = nn.Linear(word_size, 4 * hidden_size)
        """W and b of i, o, u, f."""
        self.child_sum = nn.Linear(hidden_size, 3 * hidden_size, bias=False)
        """U of i, o, u."""
        self.child = nn.Linear(hidden_size, hidden_size, bias=False)
        """U of f."""
        self.query: nn.Linear | None = None
        if attentive:
            self.query = nn.Linear(word_size, hidden_size, bias=False)
        initialise(self, init, block_rows=hidden_size)
        open_gates(self.word.bias[3 * hidden_size :], init)

    def read_words(self, word_vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the words' part of i, o, u, [T, 3H], and of f, [T, H]."""
        sizes = [3 * self.hidden_size, self.hidden_size]
        weights = self.word.weight.to(word_vectors.dtype).split(sizes)
        biases = self.word.bias.to(word_vectors.dtype).split(sizes)
        gates, forget = (
            F.linear(word_vectors, weight, bias)
            for weight, bias in zip(weights, biases, strict=True)
        )
        return gates, forget


class ChildSumTreeLSTM(SentenceEncoder):
    """A sentence is the state h of its dependency tree's root.

    Leaves are computed once per word type, inner nodes whose children are leaves once per distinct
    word and children, the others level by level (`models.encoders.dependency_schedule`).
    """

    def __init__(
        self,
        *,
        word_size: int,
        hidden_size: int,
        init: Init = "xavier",
        dep_cell: DepCell = "child_sum",
    ) -> None:
        super().__init__()
        self.output_size = hidden_size
        self.cell = ChildSumCell(
            word_size=word_size,
            hidden_size=hidden_size,
            init=init,
            attentive=dep_cell == "attentive",
        )
        self._pool = BufferPool()

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, H], from the word types' vectors [T, E]."""
        roots: Tensor = ChildSumFunction.apply(*self._inputs(batch, word_vectors))
        return roots

    @torch.no_grad()
    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns the state of each node of the trees, a token each."""
        p = _Pass(*self._inputs(batch, word_vectors))
        rows = p.hidden.clone()
        return SentenceStates(
            rows=rows,
            row_of_node=p.schedule.node_rows,
            node_offsets=batch.token_offsets,
            last=rows.index_select(0, p.schedule.roots),
        )

    def _inputs(
        self, batch: SentenceBatch, word_vectors: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, DependencySchedule, BufferPool, Tensor | None]:
        """Returns the arguments of `ChildSumFunction`."""
        assert batch.dependencies is not None, "the batch was made without heads"
        gates, forget = self.cell.read_words(word_vectors)
        query = self.cell.query
        return (
            gates,
            forget,
            self.cell.child_sum.weight.to(gates.dtype),
            self.cell.child.weight.to(gates.dtype),
            batch.dependencies,
            self._pool,
            None if query is None else F.linear(word_vectors, query.weight.to(word_vectors.dtype)),
        )


# The states of a batch, group by group, with their gradient.


class _Pass:
    """The states of one forward pass, in buffers that the backward pass overwrites with gradients.

    ``gates`` [R, 3H]; ``hidden``, ``memory`` and ``squashed`` [R, H] are h, c and tanh(c); ``keep``
    [edges, H] is f.
    """

    def __init__(
        self,
        word_gates: Tensor,
        word_forget: Tensor,
        child_sum: Tensor,
        child: Tensor,
        schedule: DependencySchedule,
        pool: BufferPool,
        word_query: Tensor | None = None,
    ) -> None:
        """Computes all states.

        Args:
            word_gates: [T, 3H]; W x + b of i, o, u for each word type.
            word_forget: [T, H]; W x + b of f.
            child_sum: [3H, H]; U of i, o, u.
            child: [H, H]; U of f.
            schedule: on the tensors' device.
            pool: where the buffers come from.
            word_query: [T, H]; q for each word type, if children are summed by attention.
        """
        self.schedule = schedule
        self.lease, self.cells = Lease(pool, word_gates), cells_for(word_gates)
        self.sums: ChildSums
        if word_query is None:
            self.sums = AddedSums(schedule, child_sum, self.lease, self.cells)
        else:
            inner_words = schedule.words[schedule.num_leaves :]
            self.sums = AttendedSums(child_sum, word_query.index_select(0, inner_words))
        rows, width = len(schedule.words), child.shape[0]
        self.gates = self.lease.empty("gates", rows, 3 * width)
        self.hidden = self.lease.empty("hidden", rows, width)
        self.memory = self.lease.empty("memory", rows, width)
        self.squashed = self.lease.empty("squashed", rows, width)
        self.keep = self.lease.empty("keep", schedule.num_edges, width)
        torch.index_select(word_gates, 0, schedule.words, out=self.gates)
        self._climb(word_forget, child)

    def _climb(self, word_forget: Tensor, child: Tensor) -> None:
        s, (R, H) = self.schedule, self.hidden.shape
        forget = self.lease.empty("forget", s.num_inner, H)
        torch.index_select(word_forget, 0, s.words[s.num_leaves :], out=forget)
        kept = self.lease.total("kept", s.num_inner, H)
        product = self.lease.empty("product", R, H)
        for group in s.groups:
            states = group.states
            if group.inner is not None:
                self.sums.multiply(self.gates[states], group)
            self.cells.lstm_forward(
                self.gates[states],
                None if group.inner is None else kept[group.inner],
                self.hidden[states],
                self.memory[states],
                self.squashed[states],
            )
            if (edges := group.edges) is not None:
                torch.mm(self.hidden[states], child.T, out=product[states])
                self.cells.forget_forward(
                    product[states],
                    forget[edges.first_parent :],
                    self.memory[states],
                    edges.children,
                    edges.parents,
                    self.keep[edges.numbers],
                    kept[edges.first_parent :],
                )
                self.sums.add(self.hidden[states], edges)

    def descend(self, grad_roots: Tensor, child: Tensor) -> tuple[Tensor, Tensor]:
        """Turns ``gates`` into their gradients; returns those of product [·, H], forget [M, H]."""
        s, lease, (R, H) = self.schedule, self.lease, self.hidden.shape
        grad_hidden = lease.total("grad_hidden", R, H)
        self.cells.add_rows(grad_hidden, s.roots, grad_roots.contiguous(), None)
        grad_memory = lease.total("grad_memory", R, H)
        grad_kept = grad_memory[s.num_leaves :]
        grad_forget = lease.total("grad_forget", s.num_inner, H)
        num_pushing = max((g.states.stop for g in s.groups if g.edges is not None), default=0)
        grad_product = lease.total("grad_product", num_pushing, H)
        for group in reversed(s.groups):
            states = group.states
            if (edges := group.edges) is not None:
                self.cells.forget_backward(
                    self.keep[edges.numbers],
                    self.memory[states],
                    edges.children,
                    edges.parents,
                    grad_kept[edges.first_parent :],
                    grad_product[states],
                    grad_forget[edges.first_parent :],
                    grad_memory[states],
                )
                self.sums.add_backward(self.hidden[states], edges, grad_hidden[states])
                add_product(grad_hidden[states], grad_product[states], child)
            self.cells.lstm_backward(
                self.gates[states], self.squashed[states], grad_hidden[states], grad_memory[states]
            )
            if group.inner is not None:
                self.sums.multiply_backward(self.gates[states], group)
        return grad_product, grad_forget


class ChildSumFunction(torch.autograd.Function):
    """Root states from what the words give, with one weight-gradient product a matrix."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        """Returns the roots' h, [B, H]; arguments as `_Pass` takes them."""
        p = _Pass(*arguments)
        ctx.save_for_backward(*arguments[2:4])  # the weights, to have them checked for changes
        ctx.buffers, ctx.num_words = p, len(arguments[0])
        return p.hidden.index_select(0, p.schedule.roots)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_roots: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the tensors of `forward`."""
        _, child = ctx.saved_tensors
        p: _Pass = single_use(ctx)
        grad_product, grad_forget = p.descend(grad_roots, child)
        K, words = p.schedule.num_leaves, p.schedule.words
        dtype = p.gates.dtype

        def by_word(name: str, grad: Tensor, words: Tensor) -> Tensor:
            total = p.lease.total(name, ctx.num_words, grad.shape[1])
            p.cells.add_rows(total, words, grad, None)
            return total.to(dtype, copy=True)

        grad_query = p.sums.grad_of_query()
        return (
            by_word("gates_by_word", p.gates, words),
            by_word("forget_by_word", grad_forget, words[K:]),
            p.sums.grad_of_weight(p.gates[K:]),
            torch.mm(grad_product.to(dtype).T, p.hidden[: len(grad_product)]),
            None,
            None,
            None if grad_query is None else by_word("query_by_word", grad_query, words[K:]),
        )
