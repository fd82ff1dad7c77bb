"""Binary trees in the order a bottom-up encoder computes them: level by level, siblings adjacent.

Legend: B sentences, N tokens (= leaves), M = N - B inner nodes, L levels.

A level holds the nodes of one depth, deepest first; the last level is the roots in sentence
order. Within a level siblings stand side by side in the order of their parents, so the states of
level k seen as ``view(-1, 2H)`` are the concatenated children of level k+1's inner nodes, in
order: no gather.
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
class BinarySchedule:
    """Level order of a batch of binary trees whose leaves are the words."""

    leaf_tokens: Tensor
    """[N] int64; flat token of each leaf, in level order."""
    leaf_counts: tuple[int, ...]
    """L counts of leaves, deepest level first; they sum to N."""
    inner_counts: tuple[int, ...]
    """L counts of inner nodes: twice this is the size of the level before. The first is 0."""
    placements: tuple[Tensor | None, ...]
    """L tensors [leaves + inner nodes of the level] int64; row of each node of the level in
    [its inner nodes; its leaves]. None where a level holds only one of the two kinds."""

    @classmethod
    def build(
        cls,
        left: IndexArray,
        right: IndexArray,
        token_offsets: IndexArray,
        lengths: IndexArray,
    ) -> BinarySchedule:
        """Returns the schedule of the trees given by their inner nodes' children.

        Args:
            left: [N-B]; left child of each inner node, n-1 of them for a sentence of n tokens,
                node 0 the root. A value >= 0 is an inner node, a value < 0 the token -1 - value.
            right: [N-B]; right children likewise.
            token_offsets: [B+1].
            lengths: [B], each >= 1.

        Raises:
            ValueError: a child out of range, a node with no or several parents, or a cycle;
                names the sentence.
        """
        children, roots = _global_children(left, right, token_offsets, lengths)
        num_inner = len(left)
        levels = [roots]
        while len(inner := levels[-1][levels[-1] < num_inner]):
            levels.append(children[inner].ravel())
        levels.reverse()
        _check_reached(levels, token_offsets, lengths)

        leaf_masks = [level >= num_inner for level in levels]
        leaves = np.concatenate(
            [level[mask] for level, mask in zip(levels, leaf_masks, strict=True)]
        )
        leaf_counts = [int(np.count_nonzero(mask)) for mask in leaf_masks]
        return cls(
            leaf_tokens=to_tensor(leaves - num_inner),
            leaf_counts=tuple(leaf_counts),
            inner_counts=tuple(
                len(level) - count for level, count in zip(levels, leaf_counts, strict=True)
            ),
            placements=tuple(
                None if mask.all() or not mask.any() else to_tensor(_placement(mask))
                for mask in leaf_masks
            ),
        )

    def to(self, device: torch.device | str) -> BinarySchedule:
        """Returns the schedule with its indices on ``device``."""
        return BinarySchedule(
            leaf_tokens=self.leaf_tokens.to(device),
            leaf_counts=self.leaf_counts,
            inner_counts=self.inner_counts,
            placements=tuple(None if p is None else p.to(device) for p in self.placements),
        )


def _global_children(
    left: IndexArray, right: IndexArray, token_offsets: IndexArray, lengths: IndexArray
) -> tuple[IndexArray, IndexArray]:
    """Returns children [M, 2] and roots [B] as node numbers: inner nodes 0..M-1, then tokens."""
    num_sentences, num_tokens, num_inner = len(lengths), int(token_offsets[-1]), len(left)
    sentence_of = np.repeat(np.arange(num_sentences), lengths - 1)
    length_of = lengths[sentence_of][:, None]
    inner_offsets = token_offsets - np.arange(num_sentences + 1)
    children = np.stack([left, right], axis=1)
    out_of_range = (children < -length_of) | (children > length_of - 2)
    refuse(
        any_by_sentence(out_of_range[:, 0] | out_of_range[:, 1], sentence_of, num_sentences),
        "has a child in its binary tree that is no token and no inner node of it",
    )
    as_token = num_inner + token_offsets[sentence_of][:, None] - 1 - children
    as_inner = inner_offsets[sentence_of][:, None] + children
    children = np.where(children < 0, as_token, as_inner)

    roots = np.where(lengths > 1, inner_offsets[:-1], num_inner + token_offsets[:-1])
    parents = np.bincount(children.ravel(), minlength=num_inner + num_tokens)
    parents[roots] += 1
    sentence_of_node = np.concatenate([sentence_of, np.repeat(np.arange(num_sentences), lengths)])
    refuse(
        any_by_sentence(parents != 1, sentence_of_node, num_sentences),
        "has a binary tree in which a node other than the root lacks exactly one parent",
    )
    return children, roots


def _check_reached(
    levels: list[IndexArray], token_offsets: IndexArray, lengths: IndexArray
) -> None:
    """Refuses trees with nodes that no path from the root reaches: they circle among themselves."""
    num_inner = int(token_offsets[-1]) - len(lengths)
    tokens = np.concatenate(levels)
    tokens = tokens[tokens >= num_inner] - num_inner
    reached = np.zeros(int(token_offsets[-1]), dtype=np.int64)
    reached[tokens] = 1
    # A circle holds inner nodes off the root's tree; a binary tree with fewer inner nodes has
    # fewer leaves, so some token is off it, too.
    refuse(
        np.add.reduceat(reached, token_offsets[:-1]) != lengths,
        "has a cycle in its binary tree",
    )


def _placement(is_leaf: BoolArray) -> IndexArray:
    """Returns for each node of a level its row in [inner nodes; leaves]."""
    inner_before = np.cumsum(~is_leaf)
    leaves_before = np.cumsum(is_leaf)
    return np.where(is_leaf, inner_before[-1] + leaves_before - 1, inner_before - 1)
