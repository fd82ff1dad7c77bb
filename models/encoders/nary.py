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

Legend: B sentences, N leaves, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.encoders.base import TreeState, require
from models.encoders.initialisation import initialise, open_forget_gates
from models.sentence_batch import SentenceBatch
from models.variants import Init


class BinaryCell(nn.Module):
    """Equations 9 to 14 for any number of leaves or of inner nodes at once."""

    def __init__(self, *, word_size: int, hidden_size: int, init: Init) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.word = nn.Linear(word_size, 3 * hidden_size)
        """W and b of i, o, u; inner nodes share the b."""
        self.child_pair = nn.Linear(2 * hidden_size, 5 * hidden_size, bias=False)
        """U of i, o, u, f_1, f_2; columns [left; right]."""
        self.forget_bias = nn.Parameter(torch.empty(hidden_size))
        """b^f, the same for both children."""
        initialise(self, init, block_rows=hidden_size)
        open_forget_gates(self.forget_bias, init)

    def leaves(self, word_vectors: Tensor) -> TreeState:
        """Returns the states of leaves with these words [n, E]."""
        input_gate, output_gate, update = self.word(word_vectors).split(self.hidden_size, 1)
        memory = input_gate.sigmoid() * update.tanh()
        return TreeState(output_gate.sigmoid() * memory.tanh(), memory)

    def inner(self, children: TreeState) -> TreeState:
        """Returns the states of n inner nodes from their children's, [2n, H], siblings adjacent."""
        H = self.hidden_size
        bias = torch.cat([self.word.bias, self.forget_bias, self.forget_bias])
        gates = F.linear(children.hidden.view(-1, 2 * H), self.child_pair.weight, bias)
        input_gate, output_gate, update, forget = gates.split([H, H, H, 2 * H], 1)
        kept = (forget.sigmoid() * children.memory.view(-1, 2 * H)).view(-1, 2, H).sum(1)
        memory = input_gate.sigmoid() * update.tanh() + kept
        return TreeState(output_gate.sigmoid() * memory.tanh(), memory)


class NaryTreeLSTM(nn.Module):
    """A sentence is the state h of its binarized constituency tree's root.

    Leaves are computed once per word type, as their state depends on the word alone.
    """

    def __init__(self, *, word_size: int, hidden_size: int, init: Init = "xavier") -> None:
        super().__init__()
        self.output_size = hidden_size
        self.cell = BinaryCell(word_size=word_size, hidden_size=hidden_size, init=init)

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, H], from the word types' vectors [T, E].

        Raises:
            ValueError: the batch was made without binary trees.
        """
        schedule = require(batch.constituents, "NaryTreeLSTM", "binary_left and binary_right")
        leaf_types = self.cell.leaves(word_vectors)
        words = batch.word_of_token.index_select(0, schedule.leaf_tokens)
        # Split once: a slice per level would cost a gradient of N rows per level.
        sizes = list(schedule.leaf_counts)
        leaf_hidden = leaf_types.hidden.index_select(0, words).split(sizes)
        leaf_memory = leaf_types.memory.index_select(0, words).split(sizes)

        state = TreeState(leaf_hidden[0], leaf_memory[0])
        for level, placement in enumerate(schedule.placements[1:], start=1):
            state = self.cell.inner(state)
            if placement is not None:
                state = TreeState(
                    torch.cat([state.hidden, leaf_hidden[level]]).index_select(0, placement),
                    torch.cat([state.memory, leaf_memory[level]]).index_select(0, placement),
                )
        return state.hidden
