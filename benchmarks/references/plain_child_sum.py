"""DEP in plain autograd: the level loop of the encoder's first version, with its own schedule.

Legend: B sentences, T word types, K leaves, M inner nodes, E word dimension, H hidden.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.references.base import Reference
from treeviews.models.corpus.sentence_block import SentenceBlock


@dataclass(frozen=True, slots=True)
class _Levels:
    """Leaves apart, inner nodes by depth, deepest first; one-word sentences are leaves."""

    leaf_tokens: Tensor
    """[K] int64; those without a parent last."""
    leaf_parents: Tensor
    """Row of each leaf's parent among the M inner nodes."""
    inner_tokens: Tensor
    """[M] int64, in level order."""
    inner_parents: list[Tensor]
    """For each level but the last, its nodes' parents as rows of the next level."""
    sizes: list[int]
    roots: Tensor
    """[B] int64; each sentence's row in [last level; one-word sentences]."""


class PlainChildSum(Reference):
    """Equations 2 to 8 of Tai et al. 2015 level by level; leaves once per word type."""

    label = "plain autograd"

    def __init__(self, block: SentenceBlock, *, word_size: int, hidden_size: int) -> None:
        super().__init__(block)
        self.hidden_size = hidden_size
        self.word = nn.Linear(word_size, 4 * hidden_size)
        self.child_sum = nn.Linear(hidden_size, 3 * hidden_size, bias=False)
        self.child = nn.Linear(hidden_size, hidden_size, bias=False)
        self._levels = _levels(block)

    def forward(self, word_vectors: Tensor) -> Tensor:
        """Returns the roots' states, [B, H]."""
        levels, H = self._levels, self.hidden_size
        gates, forget = self.word(word_vectors).split([3 * H, H], 1)
        leaf_words = self.word_of_token.index_select(0, levels.leaf_tokens)
        inner_words = self.word_of_token.index_select(0, levels.inner_tokens)
        hidden_types, memory_types = self._state(gates, None)
        num_with_parent = len(levels.leaf_parents)
        one_word = hidden_types.index_select(0, leaf_words[num_with_parent:])
        if not levels.sizes:
            return one_word.index_select(0, levels.roots)
        inner_forget = forget.index_select(0, inner_words)
        words, parents = leaf_words[:num_with_parent], levels.leaf_parents
        keep = self.child(hidden_types).index_select(0, words)
        keep = (keep + inner_forget.index_select(0, parents)).sigmoid()
        zeros = torch.zeros_like(inner_forget)
        top = self._climb(
            gates.index_select(0, inner_words),
            inner_forget,
            zeros.index_add(0, parents, hidden_types.index_select(0, words)),
            zeros.index_add(0, parents, keep * memory_types.index_select(0, words)),
        )
        return torch.cat([top, one_word]).index_select(0, levels.roots)

    def _climb(self, gates: Tensor, forget: Tensor, hidden: Tensor, kept: Tensor) -> Tensor:
        """Returns the last level's states; ``hidden`` and ``kept`` [M, H] come from the leaves."""
        sizes = self._levels.sizes
        gates_of, forget_of = gates.split(sizes), forget.split(sizes)
        hidden_of, kept_of = hidden.split(sizes), kept.split(sizes)
        hidden, kept = hidden_of[0], kept_of[0]
        for level, parents in enumerate(self._levels.inner_parents, start=1):
            state, memory = self._state(gates_of[level - 1] + self.child_sum(hidden), kept)
            keep = self.child(state) + forget_of[level].index_select(0, parents)
            hidden = hidden_of[level].index_add(0, parents, state)
            kept = kept_of[level].index_add(0, parents, keep.sigmoid() * memory)
        return self._state(gates_of[-1] + self.child_sum(hidden), kept)[0]

    def _state(self, gates: Tensor, kept: Tensor | None) -> tuple[Tensor, Tensor]:
        input_gate, output_gate, update = gates.split(self.hidden_size, 1)
        memory = input_gate.sigmoid() * update.tanh()
        if kept is not None:
            memory = memory + kept
        return output_gate.sigmoid() * memory.tanh(), memory

    def named_as_here(self, encoder: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns our weights without the name of our cell."""
        return {name.removeprefix("cell."): tensor for name, tensor in encoder.items()}


def _levels(block: SentenceBlock) -> _Levels:
    assert block.heads is not None
    heads, lengths = block.heads.astype(np.int64), block.lengths
    is_root = heads == 0
    first_tokens = np.repeat(block.offsets[:-1], lengths)
    parent = np.where(is_root, np.arange(len(heads)), first_tokens + heads - 1)
    is_inner = np.zeros(len(heads), dtype=np.bool_)
    is_inner[parent[~is_root]] = True
    depth = _depths(parent, is_root)

    inner = np.flatnonzero(is_inner)
    height = depth[inner].max(initial=-1) - depth[inner]
    inner = inner[np.argsort(height, kind="stable")]
    sizes = np.bincount(height)
    starts = np.cumsum(sizes) - sizes
    row_of = np.empty(len(heads), dtype=np.int64)
    row_of[inner] = np.arange(len(inner))
    below = inner[: starts[-1]] if len(inner) else inner
    next_level = np.repeat(starts[1:], sizes[:-1])
    with_parent = np.flatnonzero(~is_inner & ~is_root)
    one_word = np.flatnonzero(~is_inner & is_root)
    is_longer = lengths > 1
    roots = np.where(is_longer, np.cumsum(is_longer), is_longer.sum() + np.cumsum(~is_longer)) - 1
    return _Levels(
        leaf_tokens=torch.from_numpy(np.concatenate([with_parent, one_word])),
        leaf_parents=torch.from_numpy(row_of[parent[with_parent]]),
        inner_tokens=torch.from_numpy(inner),
        inner_parents=list(
            torch.from_numpy(row_of[parent[below]] - next_level).split(sizes[:-1].tolist())
        ),
        sizes=sizes.tolist(),
        roots=torch.from_numpy(roots),
    )


def _depths(parent: NDArray[np.int64], is_root: NDArray[np.bool_]) -> NDArray[np.int64]:
    depth = np.zeros(len(parent), dtype=np.int64)
    ancestor = parent
    below = ~is_root
    while below.any():
        depth += below
        below = ~is_root[ancestor]
        ancestor = parent[ancestor]
    return depth
