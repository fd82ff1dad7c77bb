"""CONST in plain autograd: the level loop of the encoder's first version, with its own schedule.

Legend: B sentences, N leaves, M inner nodes, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.references.base import Reference
from treeviews.models.corpus.sentence_block import SentenceBlock


@dataclass(frozen=True, slots=True)
class _Levels:
    """Nodes by depth, deepest first, siblings adjacent in the order of their parents."""

    leaf_tokens: Tensor
    """[N] int64; flat token of each leaf, in level order."""
    leaf_counts: list[int]
    placements: list[Tensor | None]
    """For each level, each node's row in [its inner nodes; its leaves]; None where it holds only
    one of the two."""


class PlainNary(Reference):
    """Equations 9 to 14 of Tai et al. 2015 level by level; leaves once per word type."""

    label = "plain autograd"

    def __init__(self, block: SentenceBlock, *, word_size: int, hidden_size: int) -> None:
        super().__init__(block)
        self.hidden_size = hidden_size
        self.word = nn.Linear(word_size, 3 * hidden_size)
        self.child_pair = nn.Linear(2 * hidden_size, 5 * hidden_size, bias=False)
        self.forget_bias = nn.Parameter(torch.empty(hidden_size))
        self._levels = _levels(block)

    def forward(self, word_vectors: Tensor) -> Tensor:
        """Returns the roots' states, [B, H]."""
        levels = self._levels
        hidden_types, memory_types = self._leaves(word_vectors)
        words = self.word_of_token.index_select(0, levels.leaf_tokens)
        leaf_hidden = hidden_types.index_select(0, words).split(levels.leaf_counts)
        leaf_memory = memory_types.index_select(0, words).split(levels.leaf_counts)
        hidden: Tensor = leaf_hidden[0]
        memory: Tensor = leaf_memory[0]
        for level, placement in enumerate(levels.placements[1:], start=1):
            hidden, memory = self._inner(hidden, memory)
            if placement is not None:
                hidden = torch.cat([hidden, leaf_hidden[level]]).index_select(0, placement)
                memory = torch.cat([memory, leaf_memory[level]]).index_select(0, placement)
        return hidden

    def _leaves(self, word_vectors: Tensor) -> tuple[Tensor, Tensor]:
        input_gate, output_gate, update = self.word(word_vectors).split(self.hidden_size, 1)
        memory = input_gate.sigmoid() * update.tanh()
        return output_gate.sigmoid() * memory.tanh(), memory

    def _inner(self, hidden: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        H = self.hidden_size
        bias = torch.cat([self.word.bias, self.forget_bias, self.forget_bias])
        gates = F.linear(hidden.view(-1, 2 * H), self.child_pair.weight, bias)
        input_gate, output_gate, update, forget = gates.split([H, H, H, 2 * H], 1)
        kept = (forget.sigmoid() * memory.view(-1, 2 * H)).view(-1, 2, H).sum(1)
        memory = input_gate.sigmoid() * update.tanh() + kept
        return output_gate.sigmoid() * memory.tanh(), memory

    def named_as_here(self, encoder: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns our weights without the name of our cell."""
        return {name.removeprefix("cell."): tensor for name, tensor in encoder.items()}


def _levels(block: SentenceBlock) -> _Levels:
    children, roots = _global_children(block)
    num_inner = len(children)
    levels = [roots]
    while len(inner := levels[-1][levels[-1] < num_inner]):
        levels.append(children[inner].ravel())
    levels.reverse()
    masks = [level >= num_inner for level in levels]
    leaves = np.concatenate([level[mask] for level, mask in zip(levels, masks, strict=True)])
    return _Levels(
        torch.from_numpy(leaves - num_inner),
        [int(mask.sum()) for mask in masks],
        [None if mask.all() or not mask.any() else _placement(mask) for mask in masks],
    )


def _global_children(block: SentenceBlock) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns children [M, 2] and roots [B] as node numbers: inner nodes 0..M-1, then tokens."""
    assert block.binary_left is not None and block.binary_right is not None
    lengths, num_inner = block.lengths, len(block.binary_left)
    children = np.stack([block.binary_left, block.binary_right], axis=1).astype(np.int64)
    first_tokens = np.repeat(block.offsets[:-1], lengths - 1)[:, None]
    first_inner = np.repeat(block.inner_offsets[:-1], lengths - 1)[:, None]
    children = np.where(
        children < 0, num_inner + first_tokens - 1 - children, first_inner + children
    )
    roots = np.where(lengths > 1, block.inner_offsets[:-1], num_inner + block.offsets[:-1])
    return children, roots


def _placement(is_leaf: NDArray[np.bool_]) -> Tensor:
    inner_before, leaves_before = np.cumsum(~is_leaf), np.cumsum(is_leaf)
    rows = np.where(is_leaf, inner_before[-1] + leaves_before - 1, inner_before - 1)
    return torch.from_numpy(rows)
