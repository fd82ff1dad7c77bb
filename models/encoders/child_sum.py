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

Legend: B sentences, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

from typing import get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.models.config.training_config import DepCell, Init
from treeviews.models.encoders.base import SentenceStates, initialise, open_forget_gates, require
from treeviews.models.encoders.level_loops.buffers import BufferPool
from treeviews.models.encoders.level_loops.child_sum import ChildSumFunction, child_sum_states
from treeviews.models.encoders.order import DependencySchedule
from treeviews.models.encoders.sentence_batch import SentenceBatch


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
        open_forget_gates(self.word.bias[3 * hidden_size :], init)

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


class ChildSumTreeLSTM(nn.Module):
    """A sentence is the state h of its dependency tree's root.

    Leaves are computed once per word type, inner nodes whose children are leaves once per distinct
    word and children, the others level by level (`models.encoders.order.dependency`).
    """

    def __init__(
        self,
        *,
        word_size: int,
        hidden_size: int,
        init: Init = "xavier",
        dep_cell: DepCell = "child_sum",
    ) -> None:
        """Makes the encoder.

        Raises:
            ValueError: no such cell.
        """
        super().__init__()
        if dep_cell not in get_args(DepCell):
            raise ValueError(
                f"unknown dep_cell {dep_cell!r}; known: {', '.join(get_args(DepCell))}"
            )
        self.output_size = hidden_size
        self.cell = ChildSumCell(
            word_size=word_size,
            hidden_size=hidden_size,
            init=init,
            attentive=dep_cell == "attentive",
        )
        self._pool = BufferPool()

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, H], from the word types' vectors [T, E].

        Raises:
            ValueError: the batch was made without heads.
        """
        schedule = require(batch.dependencies, "ChildSumTreeLSTM", "heads")
        roots: Tensor = ChildSumFunction.apply(*self._inputs(schedule, word_vectors))
        return roots

    @torch.no_grad()
    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        """Returns the state of each node of the trees, a token each.

        Arguments as in `forward`.

        Raises:
            ValueError: the batch was made without heads or without nodes.
        """
        schedule = require(batch.dependencies, "ChildSumTreeLSTM", "heads")
        rows = child_sum_states(*self._inputs(schedule, word_vectors))
        return SentenceStates(
            rows=rows,
            row_of_node=require(schedule.node_rows, "pooling", "with_nodes=True"),
            node_offsets=batch.token_offsets,
            last=rows.index_select(0, schedule.roots),
        )

    def _inputs(
        self, schedule: DependencySchedule, word_vectors: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, DependencySchedule, BufferPool, Tensor | None]:
        """Returns the arguments of `ChildSumFunction`."""
        gates, forget = self.cell.read_words(word_vectors)
        query = self.cell.query
        return (
            gates,
            forget,
            self.cell.child_sum.weight.to(gates.dtype),
            self.cell.child.weight.to(gates.dtype),
            schedule,
            self._pool,
            None if query is None else F.linear(word_vectors, query.weight.to(word_vectors.dtype)),
        )
