"""DEP and CONST node by node, as most published code computes them (Tai et al. 2015, eqs. 2-14).

A node makes one product with each stack of matrices; the children of a node share theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.references.base import Reference
from models.corpus.sentence_block import SentenceBlock


class _State(NamedTuple):
    hidden: Tensor
    memory: Tensor


def _state(gates: Tensor, kept: Tensor | None) -> _State:
    input_gate, output_gate, update = gates.chunk(3)
    memory = input_gate.sigmoid() * update.tanh()
    if kept is not None:
        memory = memory + kept
    return _State(output_gate.sigmoid() * memory.tanh(), memory)


class RecursiveChildSum(Reference):
    """The Child-Sum Tree-LSTM from each root down, equations 2 to 8."""

    label = "recursion"

    def __init__(self, block: SentenceBlock, *, word_size: int, hidden_size: int) -> None:
        super().__init__(block)
        self.word = nn.Linear(word_size, 4 * hidden_size)
        self.child_sum = nn.Linear(hidden_size, 3 * hidden_size, bias=False)
        self.child = nn.Linear(hidden_size, hidden_size, bias=False)
        assert block.heads is not None
        self._children: list[list[int]] = [[] for _ in block.heads]
        self._roots = []
        starts = self.offsets[:-1].repeat_interleave(self.offsets.diff()).tolist()
        for token, head in enumerate(block.heads.tolist()):
            if head:
                self._children[starts[token] + head - 1].append(token)
            else:
                self._roots.append(token)

    def forward(self, word_vectors: Tensor) -> Tensor:
        """Returns the roots' states, [B, H]."""
        words = word_vectors.index_select(0, self.word_of_token)
        return torch.stack([self._node(root, words).hidden for root in self._roots])

    def _node(self, node: int, words: Tensor) -> _State:
        hidden_size = self.child.out_features
        gates, forget = self.word(words[node]).split([3 * hidden_size, hidden_size])
        if not self._children[node]:
            return _state(gates, None)
        children = [self._node(child, words) for child in self._children[node]]
        hidden = torch.stack([child.hidden for child in children])
        memory = torch.stack([child.memory for child in children])
        kept = ((self.child(hidden) + forget).sigmoid() * memory).sum(0)
        return _state(gates + self.child_sum(hidden.sum(0)), kept)

    def named_as_here(self, encoder: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns our weights without the name of our cell."""
        return {name.removeprefix("cell."): tensor for name, tensor in encoder.items()}


class RecursiveNary(Reference):
    """The binary N-ary Tree-LSTM from each root down, equations 9 to 14."""

    label = "recursion"

    def __init__(self, block: SentenceBlock, *, word_size: int, hidden_size: int) -> None:
        super().__init__(block)
        self.word = nn.Linear(word_size, 3 * hidden_size)
        self.child_pair = nn.Linear(2 * hidden_size, 5 * hidden_size, bias=False)
        self.forget_bias = nn.Parameter(torch.empty(hidden_size))
        assert block.binary_left is not None and block.binary_right is not None
        cuts = block.inner_offsets[1:-1]
        left, right = (np.split(side, cuts) for side in (block.binary_left, block.binary_right))
        self._trees = [(a.tolist(), b.tolist()) for a, b in zip(left, right, strict=True)]

    def forward(self, word_vectors: Tensor) -> Tensor:
        """Returns the roots' states, [B, H]."""
        words = word_vectors.index_select(0, self.word_of_token)
        sentences = words.split(self.offsets.diff().tolist())
        # Shared by all nodes of a step, as a stack of gates has but one bias.
        bias = torch.cat([self.word.bias, self.forget_bias, self.forget_bias])
        return torch.stack(
            [
                self._node(0 if tree[0] else -1, tree, sentence, bias).hidden
                for tree, sentence in zip(self._trees, sentences, strict=True)
            ]
        )

    def _node(
        self, node: int, tree: tuple[list[int], list[int]], words: Tensor, bias: Tensor
    ) -> _State:
        if node < 0:
            return _state(self.word(words[-1 - node]), None)
        children = [self._node(side[node], tree, words, bias) for side in tree]
        hidden_size = len(self.forget_bias)
        pair = torch.cat([child.hidden for child in children])
        gates, forget = (self.child_pair(pair) + bias).split([3 * hidden_size, 2 * hidden_size])
        memory = torch.cat([child.memory for child in children])
        kept = (forget.sigmoid() * memory).view(2, hidden_size).sum(0)
        return _state(gates, kept)

    def named_as_here(self, encoder: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns our weights without the name of our cell."""
        return {name.removeprefix("cell."): tensor for name, tensor in encoder.items()}
