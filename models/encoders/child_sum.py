"""DEP: the Child-Sum Tree-LSTM of Tai, Socher & Manning 2015 (section 3.1) over dependency trees.

For node j with word vector x_j and children C(j), in the paper's numbering:

    h~_j = Σ_{k ∈ C(j)} h_k                                  (2)
    i_j  = σ(W^i x_j + U^i h~_j + b^i)                       (3)
    f_jk = σ(W^f x_j + U^f h_k + b^f)   for each k ∈ C(j)    (4)
    o_j  = σ(W^o x_j + U^o h~_j + b^o)                       (5)
    u_j  = tanh(W^u x_j + U^u h~_j + b^u)                    (6)
    c_j  = i_j * u_j + Σ_{k ∈ C(j)} f_jk * c_k               (7)
    h_j  = o_j * tanh(c_j)                                   (8)

Legend: B sentences, T word types, K leaves, M inner nodes, E word dimension, H hidden.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.encoders.base import TreeState, require
from models.encoders.initialisation import initialise, open_forget_gates
from models.schedules import DependencySchedule
from models.sentence_batch import SentenceBatch
from models.variants import Init


class ChildSumCell(nn.Module):
    """Equations 2 to 8 for any number of nodes at once; knows nothing of trees."""

    def __init__(self, *, word_size: int, hidden_size: int, init: Init) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.word = nn.Linear(word_size, 4 * hidden_size)
        """W and b of i, o, u, f."""
        self.child_sum = nn.Linear(hidden_size, 3 * hidden_size, bias=False)
        """U of i, o, u."""
        self.child = nn.Linear(hidden_size, hidden_size, bias=False)
        """U of f."""
        initialise(self, init, block_rows=hidden_size)
        open_forget_gates(self.word.bias[3 * hidden_size :], init)

    def read_words(self, word_vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the words' part of i, o, u, [n, 3H], and of f, [n, H]."""
        gates, forget = self.word(word_vectors).split([3 * self.hidden_size, self.hidden_size], 1)
        return gates, forget

    def state(self, gates: Tensor, kept: Tensor | None = None) -> TreeState:
        """Returns the state of nodes by equations 3 and 5 to 8.

        Args:
            gates: [n, 3H]; i, o, u before their nonlinearities.
            kept: [n, H]; Σ f_jk * c_k, or None for leaves.
        """
        input_gate, output_gate, update = gates.split(self.hidden_size, 1)
        memory = input_gate.sigmoid() * update.tanh()
        if kept is not None:
            memory = memory + kept
        return TreeState(output_gate.sigmoid() * memory.tanh(), memory)


class ChildSumTreeLSTM(nn.Module):
    """A sentence is the state h of its dependency tree's root.

    Leaves (three nodes of five) are computed once per word type, as their state depends on the
    word alone; inner nodes level by level, each level's children pushing into the next.
    """

    def __init__(self, *, word_size: int, hidden_size: int, init: Init = "xavier") -> None:
        super().__init__()
        self.output_size = hidden_size
        self.cell = ChildSumCell(word_size=word_size, hidden_size=hidden_size, init=init)

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, H], from the word types' vectors [T, E].

        Raises:
            ValueError: the batch was made without heads.
        """
        schedule = require(batch.dependencies, "ChildSumTreeLSTM", "heads")
        gates, forget = self.cell.read_words(word_vectors)
        leaf_words = batch.word_of_token.index_select(0, schedule.leaf_tokens)
        inner_words = batch.word_of_token.index_select(0, schedule.inner_tokens)
        leaf_types = self.cell.state(gates)

        num_with_parent = len(schedule.leaf_parents)
        states = leaf_types.hidden.index_select(0, leaf_words[num_with_parent:])
        if schedule.level_sizes:
            inner_forget = forget.index_select(0, inner_words)
            children = self._push_leaves(
                schedule, leaf_types, leaf_words[:num_with_parent], inner_forget
            )
            top = self._climb(schedule, gates.index_select(0, inner_words), inner_forget, children)
            states = torch.cat([top, states])
        return states if schedule.roots is None else states.index_select(0, schedule.roots)

    def _push_leaves(
        self,
        schedule: DependencySchedule,
        leaf_types: TreeState,
        leaf_words: Tensor,
        inner_forget: Tensor,
    ) -> TreeState:
        """Returns the leaves' part of Σ h_k and Σ f_jk * c_k for every inner node, [M, H] each."""
        products = self.cell.child(leaf_types.hidden)
        parents = schedule.leaf_parents
        keep = (
            products.index_select(0, leaf_words) + inner_forget.index_select(0, parents)
        ).sigmoid()
        hidden = leaf_types.hidden.index_select(0, leaf_words)
        kept = keep * leaf_types.memory.index_select(0, leaf_words)
        zeros = torch.zeros_like(inner_forget)
        return TreeState(zeros.index_add(0, parents, hidden), zeros.index_add(0, parents, kept))

    def _climb(
        self, schedule: DependencySchedule, gates: Tensor, forget: Tensor, from_leaves: TreeState
    ) -> Tensor:
        """Returns the hidden states of the last level, [roots that are no leaves, H].

        Args:
            schedule: the levels.
            gates: [M, 3H]; the words' part of i, o, u.
            forget: [M, H]; the words' part of f.
            from_leaves: [M, H] each; what the leaves push into every inner node.
        """
        sizes = list(schedule.level_sizes)
        # Split once: a slice per level would cost a gradient of M rows per level.
        gates_by_level = gates.split(sizes)
        forget_by_level = forget.split(sizes)
        hidden_by_level = from_leaves.hidden.split(sizes)
        kept_by_level = from_leaves.memory.split(sizes)
        hidden_sum, kept = hidden_by_level[0], kept_by_level[0]
        for level, parents in enumerate(schedule.inner_parents, start=1):
            state = self.cell.state(
                gates_by_level[level - 1] + self.cell.child_sum(hidden_sum), kept
            )
            keep = (
                self.cell.child(state.hidden) + forget_by_level[level].index_select(0, parents)
            ).sigmoid()
            hidden_sum = hidden_by_level[level].index_add(0, parents, state.hidden)
            kept = kept_by_level[level].index_add(0, parents, keep * state.memory)
        return self.cell.state(gates_by_level[-1] + self.cell.child_sum(hidden_sum), kept).hidden
