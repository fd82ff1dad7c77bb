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

Legend: B sentences, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.models.config.training_config import Init
from treeviews.models.encoders.base import SentenceStates, initialise, open_forget_gates, require
from treeviews.models.encoders.level_loops.buffers import BufferPool
from treeviews.models.encoders.level_loops.nary import NaryFunction, nary_states
from treeviews.models.encoders.order import BinarySchedule
from treeviews.models.encoders.sentence_batch import SentenceBatch


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
        open_forget_gates(self.forget_bias, init)

    @property
    def bias(self) -> Tensor:
        """b of i, o, u, f_1, f_2, [5H]."""
        return torch.cat([self.word.bias, self.forget_bias, self.forget_bias])


class NaryTreeLSTM(nn.Module):
    """A sentence is the state h of its binarized constituency tree's root.

    Leaves are computed once per word type, pairs of words once per distinct pair, the other nodes
    level by level (`models.encoders.order.binary`).
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
