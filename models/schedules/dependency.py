"""Dependency trees in the order a bottom-up encoder computes them: leaves, then level by level.

Legend: B sentences, N tokens (= nodes), K leaves, M = N - K inner nodes, L levels of inner nodes.

A level holds the inner nodes of one depth, deepest first, so a node's parent always stands in the
very next level, and the last level is the roots in sentence order. Leaves need no recurrence and
stand apart: on English text they are about three nodes of five.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from models.schedules.arrays import (
    BoolArray,
    IndexArray,
    any_by_sentence,
    refuse,
    to_tensor,
)


@dataclass(frozen=True, slots=True)
class DependencySchedule:
    """Level order of a batch of dependency trees."""

    leaf_tokens: Tensor
    """[K] int64; flat token of each leaf. One-word sentences, leaves without a parent, are last."""
    leaf_parents: Tensor
    """[K - one-word sentences] int64; row of each leaf's parent among the M inner nodes."""
    inner_tokens: Tensor
    """[M] int64; flat token of each inner node, in level order."""
    inner_parents: tuple[Tensor, ...]
    """L - 1 tensors; for each level but the last, its nodes' parents as rows of the next level."""
    level_sizes: tuple[int, ...]
    """L counts of inner nodes, deepest level first; they sum to M. Empty if all have one word."""
    roots: Tensor | None
    """[B] int64; each sentence's row in [last level; one-word leaves]. None: the last level is
    the sentences in order, as there are no one-word sentences."""

    @classmethod
    def build(
        cls, heads: IndexArray, token_offsets: IndexArray, lengths: IndexArray
    ) -> DependencySchedule:
        """Returns the schedule of the trees given by 1-based heads.

        Args:
            heads: [N]; position of each token's head in its sentence, 0 for the root.
            token_offsets: [B+1].
            lengths: [B], each >= 1.

        Raises:
            ValueError: heads out of range, not exactly one root, or a cycle; names the sentence.
        """
        sentence_of = np.repeat(np.arange(len(lengths)), lengths)
        is_root = heads == 0
        _check_heads(heads, lengths, sentence_of, is_root)
        parent = np.where(
            is_root, np.arange(len(heads)), token_offsets[:-1][sentence_of] + heads - 1
        )
        depth = _depths(parent, is_root, lengths, sentence_of)
        is_inner = np.zeros(len(heads), dtype=np.bool_)
        is_inner[parent[~is_root]] = True

        inner = np.flatnonzero(is_inner)
        height = depth[inner].max(initial=-1) - depth[inner]  # of a level, counted from the deepest
        # On 16 bits numpy's stable sort is a radix sort; arrays of heads hold 16 bits as well.
        inner = inner[np.argsort(height.astype(np.uint16), kind="stable")]
        level_sizes = np.bincount(height)
        level_starts = np.cumsum(level_sizes) - level_sizes
        row_of = np.empty(len(heads), dtype=np.int64)
        row_of[inner] = np.arange(len(inner))

        with_parent = np.flatnonzero(~is_inner & ~is_root)
        one_word = np.flatnonzero(~is_inner & is_root)
        below_roots = inner[: level_starts[-1]] if len(inner) else inner
        local_parents = row_of[parent[below_roots]] - np.repeat(level_starts[1:], level_sizes[:-1])
        return cls(
            leaf_tokens=to_tensor(np.concatenate([with_parent, one_word])),
            leaf_parents=to_tensor(row_of[parent[with_parent]]),
            inner_tokens=to_tensor(inner),
            inner_parents=torch.split(to_tensor(local_parents), level_sizes[:-1].tolist()),
            level_sizes=tuple(level_sizes.tolist()),
            roots=to_tensor(_root_rows(lengths)) if len(one_word) else None,
        )

    def to(self, device: torch.device | str) -> DependencySchedule:
        """Returns the schedule with its indices on ``device``."""
        return DependencySchedule(
            leaf_tokens=self.leaf_tokens.to(device),
            leaf_parents=self.leaf_parents.to(device),
            inner_tokens=self.inner_tokens.to(device),
            inner_parents=tuple(parents.to(device) for parents in self.inner_parents),
            level_sizes=self.level_sizes,
            roots=None if self.roots is None else self.roots.to(device),
        )


def _check_heads(
    heads: IndexArray, lengths: IndexArray, sentence_of: IndexArray, is_root: BoolArray
) -> None:
    num_sentences = len(lengths)
    out_of_range = (heads < 0) | (heads > lengths[sentence_of])
    refuse(
        any_by_sentence(out_of_range, sentence_of, num_sentences),
        "has a dependency head outside 0..number of tokens",
    )
    roots = np.bincount(sentence_of[is_root], minlength=num_sentences)
    refuse(roots != 1, "does not have exactly one dependency root (head 0)")


def _depths(
    parent: IndexArray, is_root: BoolArray, lengths: IndexArray, sentence_of: IndexArray
) -> IndexArray:
    """Returns each node's distance to its root by pointer doubling; roots are their own parent."""
    depth = (~is_root).astype(np.int64)
    ancestor = parent
    for _ in range(int(lengths.max()).bit_length()):
        depth = depth + depth[ancestor]
        ancestor = ancestor[ancestor]
        if is_root[ancestor].all():
            break
    # After k doublings the ancestor is 2^k >= n steps up, so whoever is not at a root circles.
    refuse(
        any_by_sentence(~is_root[ancestor], sentence_of, len(lengths)),
        "has a cycle among its dependency heads",
    )
    return depth


def _root_rows(lengths: IndexArray) -> IndexArray:
    """Returns each sentence's row when longer sentences come first and one-word ones last."""
    is_longer = lengths > 1
    return np.where(
        is_longer, np.cumsum(is_longer) - 1, is_longer.sum() + np.cumsum(~is_longer) - 1
    )
