"""Dependency trees in the order a bottom-up encoder computes them, each distinct part once.

A Child-Sum state is a function of the subtree's words alone, so what stands in a batch several
times is computed once. Three kinds of nodes:

- leaves: three nodes of five, and few distinct words ("the", "of");
- fringe nodes, whose children are all leaves: one state for each distinct pair of word and multiset
  of children, and one product U h~ for each distinct multiset;
- core nodes, all others: by depth, deepest first, so a node's parent is always in the very next
  level, and the last level is roots.

A state row is a distinct leaf, then a distinct fringe node, then a core node: [leaves; fringe;
core]. An inner row counts from the first fringe node, a sum row from the first distinct multiset,
the core nodes following in both.

Legend: B sentences, N tokens (= nodes), T word types, R state rows, K leaf rows, F fringe rows,
S sum rows, S_F of them of the fringe, C core nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.schedules.arrays import (
    BoolArray,
    IndexArray,
    distinct,
    hashes,
    mark,
    on_device,
    refuse_by_node,
    to_tensor,
)


@dataclass(frozen=True, slots=True)
class DependencySchedule:
    """Which rows there are, and which push into which."""

    words: Tensor
    """[R] int64; word type of each state row."""
    num_leaves: int
    """K."""
    num_fringe: int
    """F."""
    num_fringe_sums: int
    """S_F."""
    fringe_sums: Tensor
    """[F] int64; sum row of each fringe row."""
    leaf_to_sum: tuple[Tensor, Tensor]
    """[·] int64 twice; leaf row and sum row of each leaf under a distinct sum."""
    leaf_to_inner: tuple[Tensor, Tensor]
    """[·] int64 twice; leaf row and inner row of each leaf under a distinct inner node."""
    fringe_to_core: tuple[Tensor, Tensor]
    """[·] int64 twice; row among the fringe and parent among the core of each fringe node."""
    core_parents: Tensor
    """[C - last level] int64; parent among the core of each core node that has one."""
    level_starts: tuple[int, ...]
    """Bounds of the core's levels, from 0 to C; (0,) if there is no core."""
    roots: Tensor
    """[B] int64; state row of each sentence's root."""

    @property
    def num_core(self) -> int:
        """C."""
        return self.level_starts[-1]

    @property
    def num_inner(self) -> int:
        """Inner rows, F + C."""
        return self.num_fringe + self.num_core

    @property
    def num_sums(self) -> int:
        """S."""
        return self.num_fringe_sums + self.num_core

    @classmethod
    def build(
        cls,
        heads: IndexArray,
        words: IndexArray,
        num_words: int,
        token_offsets: IndexArray,
        lengths: IndexArray,
    ) -> DependencySchedule:
        """Returns the schedule of the trees given by 1-based heads.

        Args:
            heads: [N]; position of each token's head in its sentence, 0 for the root.
            words: [N]; word type of each token.
            num_words: T.
            token_offsets: [B+1].
            lengths: [B], each >= 1.

        Raises:
            ValueError: heads out of range, not exactly one root, or a cycle; names the sentence.
        """
        parent, roots = _parents(heads, token_offsets, lengths)
        has_parent = heads != 0
        is_inner = mark(parent[has_parent], len(heads))
        is_core = mark(parent[is_inner & has_parent], len(heads))
        depth = _depths(parent, has_parent, token_offsets, lengths)
        children = np.flatnonzero(has_parent & ~is_inner)  # the leaves that have a parent

        leaves = mark(words[~is_inner], num_words)
        leaf_row = np.cumsum(leaves) - 1
        fringe = _Fringe.find(is_inner & ~is_core, children, parent, words)
        core, level_sizes = _by_depth(np.flatnonzero(is_core), depth)

        num_leaves, num_fringe = int(leaf_row[-1]) + 1, len(fringe.examples)
        row = np.empty(len(heads), dtype=np.int64)  # inner row of inner nodes
        row[fringe.tokens] = fringe.row_of_token
        row[core] = np.arange(num_fringe, num_fringe + len(core))
        sum_row = row + (fringe.num_sums - num_fringe)  # right for the core
        sum_row[fringe.tokens] = fringe.sum_of_token
        state_row = np.where(is_inner, row + num_leaves, leaf_row[words])

        pushes = is_core.copy()
        pushes[fringe.examples] = True
        into_inner = children[pushes[parent[children]]]
        pushes[fringe.examples] = False
        pushes[fringe.sum_examples] = True
        into_sum = children[pushes[parent[children]]]
        fringe_children = fringe.tokens[has_parent[fringe.tokens]]
        below_last = core[: len(core) - (level_sizes[-1] if level_sizes else 0)]
        return cls(
            words=to_tensor(
                np.concatenate([np.flatnonzero(leaves), words[fringe.examples], words[core]])
            ),
            num_leaves=num_leaves,
            num_fringe=num_fringe,
            num_fringe_sums=fringe.num_sums,
            fringe_sums=to_tensor(sum_row[fringe.examples]),
            leaf_to_sum=(
                to_tensor(leaf_row[words[into_sum]]),
                to_tensor(sum_row[parent[into_sum]]),
            ),
            leaf_to_inner=(
                to_tensor(leaf_row[words[into_inner]]),
                to_tensor(row[parent[into_inner]]),
            ),
            fringe_to_core=(
                to_tensor(row[fringe_children]),
                to_tensor(row[parent[fringe_children]] - num_fringe),
            ),
            core_parents=to_tensor(row[parent[below_last]] - num_fringe),
            level_starts=tuple(accumulate(level_sizes, initial=0)),
            roots=to_tensor(state_row[roots]),
        )

    def to(self, device: torch.device | str) -> DependencySchedule:
        """Returns the schedule with its indices on ``device``."""
        return on_device(self, device)


@dataclass(frozen=True, slots=True)
class _Fringe:
    """The inner nodes whose children are all leaves; distinct ones are told by hashes."""

    tokens: IndexArray
    """All fringe nodes, in the order of the text."""
    row_of_token: IndexArray
    """For each of ``tokens``, its row among the distinct ones."""
    sum_of_token: IndexArray
    """For each of ``tokens``, its multiset's row among the distinct ones."""
    examples: IndexArray
    """One token of each distinct fringe node."""
    sum_examples: IndexArray
    """One token of each distinct multiset of children."""

    @property
    def num_sums(self) -> int:
        return len(self.sum_examples)

    @classmethod
    def find(
        cls, is_fringe: BoolArray, children: IndexArray, parent: IndexArray, words: IndexArray
    ) -> _Fringe:
        tokens = np.flatnonzero(is_fringe)
        # The sum of its words' hashes tells a multiset: an order of the children has no meaning.
        sums = np.zeros(len(words), dtype=np.int64)
        np.add.at(sums, parent[children], hashes(words[children]))
        sum_examples, sum_of_token = distinct(sums[tokens])
        pairs = sum_of_token * (int(words.max()) + 1) + words[tokens]
        examples, row_of_token = distinct(pairs)
        return cls(tokens, row_of_token, sum_of_token, tokens[examples], tokens[sum_examples])


def _parents(
    heads: IndexArray, token_offsets: IndexArray, lengths: IndexArray
) -> tuple[IndexArray, IndexArray]:
    """Returns each token's parent, roots being their own, and each sentence's root."""
    starts = token_offsets[:-1]
    if (heads < 0).any() or (heads > np.repeat(lengths, lengths)).any():
        wrong = (heads < 0) | (heads > np.repeat(lengths, lengths))
        refuse_by_node(wrong, token_offsets, "has a dependency head outside 0..number of tokens")
    roots = np.flatnonzero(heads == 0)
    if len(roots) != len(lengths) or (roots < starts).any() or (roots >= token_offsets[1:]).any():
        counts = np.add.reduceat((heads == 0).astype(np.int64), starts)
        refuse_by_node(
            np.repeat(counts != 1, lengths),
            token_offsets,
            "does not have exactly one dependency root (head 0)",
        )
    parent = heads + np.repeat(starts - 1, lengths)
    parent[roots] = roots
    return parent, roots


def _depths(
    parent: IndexArray, has_parent: BoolArray, token_offsets: IndexArray, lengths: IndexArray
) -> NDArray[np.int16]:
    """Returns each node's distance to its root by pointer doubling."""
    depth = has_parent.astype(np.int16)
    ancestor = parent
    for _ in range(int(lengths.max()).bit_length()):
        further = depth[ancestor]
        if not further.any():
            return depth
        depth = depth + further
        ancestor = ancestor[ancestor]
    # After k doublings the ancestor is 2^k >= n steps up, so whoever is not at a root circles.
    refuse_by_node(has_parent[ancestor], token_offsets, "has a cycle among its dependency heads")
    return depth


def _by_depth(nodes: IndexArray, depth: NDArray[np.int16]) -> tuple[IndexArray, list[int]]:
    """Returns nodes sorted by depth, deepest first, and how many there are of each depth."""
    if not len(nodes):
        return nodes, []
    height = depth[nodes].max() - depth[nodes]
    # On 16 bits numpy's stable sort is a radix sort.
    order = np.argsort(height.astype(np.uint16), kind="stable")
    return nodes[order], np.bincount(height).tolist()
