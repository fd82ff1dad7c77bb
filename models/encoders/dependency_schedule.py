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
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from treeviews.models.corpus.sentence_block import hashes
from treeviews.models.encoders.index_arrays import (
    BoolArray,
    IndexArray,
    distinct,
    distinct_pairs,
    mark,
    refuse_by_node,
    to_tensor,
)


@dataclass(frozen=True, slots=True)
class Edges:
    """From the nodes of a group to their parents; e of them."""

    numbers: slice
    """Which they are among all edges of the batch."""
    children: Tensor | None
    """[e] int64; the child's place in its group. None: every node in turn."""
    parents: Tensor
    """[e] int64; the parent's inner row, from ``first_parent`` on."""
    first_parent: int
    sum_children: Tensor | None
    """[·] int64; the same for h~, where parents with equal children are one row."""
    sum_parents: Tensor
    """[·] int64; sum row, from ``first_sum`` on."""
    first_sum: int


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes that are computed together: the leaves, the fringe or a level of the core."""

    states: slice
    """State rows."""
    inner: slice | None
    """Inner rows; None for leaves."""
    sums: slice
    """Sum rows; none for leaves."""
    sum_of_node: Tensor | None
    """[·] int64; each node's place in ``sums``. None: one each."""
    edges: Edges | None
    """None if nobody has a parent."""


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
    num_core: int
    """C."""
    num_edges: int
    """Edges of all nodes to their parents, those from equal leaves to equal parents once."""
    groups: tuple[NodeGroup, ...]
    """In the order of computation; every edge leads to a later group."""
    roots: Tensor
    """[B] int64; state row of each sentence's root."""
    node_rows: Tensor
    """[N] int64; state row of each token."""

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
        parent, roots = parents_of(heads, token_offsets, lengths)
        has_parent = heads != 0
        is_leaf = ~mark(parent[has_parent], len(heads))
        fringe, core, starts = _inner_nodes(parent, has_parent, is_leaf, token_offsets, lengths)
        leaves = np.flatnonzero(is_leaf & has_parent)
        above = parent[leaves]
        rows = _Rows.number(words, num_words, is_leaf, (fringe, core), (leaves, above))
        K, F, S_F = rows.num_leaves, len(rows.sum_of_fringe), rows.num_fringe_sums

        into_inner, into_sum = rows.is_example[above], rows.sums[above] >= 0
        leaf_edges = _edges(
            0,
            (rows.state[leaves[into_inner]], rows.inner[above[into_inner]], 0),
            (rows.state[leaves[into_sum]], rows.sums[above[into_sum]], 0),
        )
        pushing = fringe[has_parent[fringe]]
        children, parents = rows.inner[pushing], rows.inner[parent[pushing]] - F
        first = int(np.count_nonzero(into_inner))
        num_edges = first + len(pushing)
        fringe_edges = _edges(first, (children, parents, F), (children, parents, S_F))
        fringe_sums = to_tensor(rows.sum_of_fringe)
        groups = [
            NodeGroup(slice(0, K), None, slice(0, 0), None, leaf_edges),
            NodeGroup(slice(K, K + F), slice(0, F), slice(0, S_F), fringe_sums, fringe_edges),
        ]
        for start, stop in pairwise(starts):
            level = core[start:stop]
            parents = rows.inner[parent[level[has_parent[level]]]] - F
            edges = _edges(num_edges, (None, parents, F), (None, parents, S_F))
            num_edges += len(parents)
            states, inner, sums = (slice(n + start, n + stop) for n in (K + F, F, S_F))
            groups.append(NodeGroup(states, inner, sums, None, edges))
        return cls(
            words=to_tensor(rows.words),
            num_leaves=K,
            num_fringe=F,
            num_fringe_sums=S_F,
            num_core=len(core),
            num_edges=num_edges,
            groups=tuple(group for group in groups if group.states != slice(K, K)),
            roots=to_tensor(rows.state[roots]),
            node_rows=to_tensor(rows.state),
        )


_Pushes = tuple[IndexArray | None, IndexArray, int]
"""Places of children in their group, or None; rows of parents, counted from a first one."""


def _edges(start: int, to_inner: _Pushes, to_sums: _Pushes) -> Edges | None:
    """Returns the edges of a group, counted from ``start``; None without any."""
    (children, parents, first_parent), (sum_children, sum_parents, first_sum) = to_inner, to_sums
    if not len(parents):
        return None
    return Edges(
        numbers=slice(start, start + len(parents)),
        children=None if children is None else to_tensor(children),
        parents=to_tensor(parents),
        first_parent=first_parent,
        sum_children=None if sum_children is None else to_tensor(sum_children),
        sum_parents=to_tensor(sum_parents),
        first_sum=first_sum,
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """Which row each token has.

    Two multisets of words are told apart by the sums of their words' 64-bit hashes: that two of a
    batch's few thousand should agree by chance has probability 1e-12.
    """

    words: IndexArray
    """[R]; word type of each state row."""
    num_leaves: int
    state: IndexArray
    """[N]; state row."""
    inner: IndexArray
    """[N]; inner row of inner nodes."""
    sums: IndexArray
    """[N]; sum row of one node for each sum, -1 for others."""
    is_example: BoolArray
    """[N]; one node for each inner row."""
    sum_of_fringe: IndexArray
    """[F]; sum row of each fringe row."""
    num_fringe_sums: int

    @classmethod
    def number(
        cls,
        words: IndexArray,
        num_words: int,
        is_leaf: BoolArray,
        inner_nodes: tuple[IndexArray, IndexArray],
        leaf_edges: tuple[IndexArray, IndexArray],
    ) -> _Rows:
        """Args: inner_nodes: of the fringe, of the core; leaf_edges: leaves and their parents."""
        (fringe, core), (leaves, above) = inner_nodes, leaf_edges
        hashed = np.zeros(len(words), dtype=np.int64)
        np.add.at(hashed, above, hashes(np.arange(num_words))[words[leaves]])
        sum_places, sum_of_token = distinct(hashed[fringe])
        places, row_of_token = distinct_pairs(sum_of_token, words[fringe])

        numbers = np.arange(len(core))
        inner = np.zeros(len(words), dtype=np.int64)
        inner[fringe], inner[core] = row_of_token, len(places) + numbers
        sums = np.full(len(words), -1)
        sums[fringe[sum_places]] = np.arange(len(sum_places))
        sums[core] = len(sum_places) + numbers
        examples = np.concatenate([fringe[places], core])
        at_leaves = mark(words[is_leaf], num_words)
        leaf_words = np.flatnonzero(at_leaves)
        leaf_row = np.cumsum(at_leaves) - 1
        return cls(
            words=np.concatenate([leaf_words, words[examples]]),
            num_leaves=len(leaf_words),
            state=np.where(is_leaf, leaf_row[words], inner + len(leaf_words)),
            inner=inner,
            sums=sums,
            is_example=mark(examples, len(words)),
            sum_of_fringe=sum_of_token[places],
            num_fringe_sums=len(sum_places),
        )


def _inner_nodes(
    parent: IndexArray,
    has_parent: BoolArray,
    is_leaf: BoolArray,
    token_offsets: IndexArray,
    lengths: IndexArray,
) -> tuple[IndexArray, IndexArray, tuple[int, ...]]:
    """Returns the fringe in the order of the text, the core deepest first, its levels' bounds.

    Raises:
        ValueError: a cycle; names the sentence.
    """
    tokens = np.flatnonzero(~is_leaf)
    number = np.full(len(parent), -1)
    number[tokens] = np.arange(len(tokens))
    # A cycle has no leaves, and depths are asked of the core alone: the inner nodes suffice.
    up, is_below = number[parent[tokens]], has_parent[tokens]
    depth, circles = _depths(up, is_below, int(lengths.max()))
    if circles.any():
        what = "has a cycle among its dependency heads"
        refuse_by_node(mark(tokens[circles], len(parent)), token_offsets, what)
    is_core = mark(up[is_below], len(tokens))
    core, level_starts = _by_depth(np.flatnonzero(is_core), depth)
    return tokens[~is_core], tokens[core], level_starts


def parents_of(
    heads: IndexArray, token_offsets: IndexArray, lengths: IndexArray
) -> tuple[IndexArray, IndexArray]:
    """Returns each token's parent, roots being their own, and each sentence's root.

    Raises:
        ValueError: heads out of range, or not exactly one root; names the sentence.
    """
    starts = token_offsets[:-1]
    is_outside = (heads < 0) | (heads > np.repeat(lengths, lengths))
    refuse_by_node(is_outside, token_offsets, "has a dependency head outside 0..number of tokens")
    counts = np.add.reduceat((heads == 0).astype(np.int64), starts)
    is_odd = np.repeat(counts != 1, lengths)
    refuse_by_node(is_odd, token_offsets, "does not have exactly one dependency root (head 0)")
    roots = np.flatnonzero(heads == 0)
    parent = heads + np.repeat(starts - 1, lengths)
    parent[roots] = roots
    return parent, roots


def _depths(
    parent: IndexArray, has_parent: BoolArray, longest: int
) -> tuple[NDArray[np.int16], BoolArray]:
    """Returns each node's distance to its root by pointer doubling, and which nodes reach none.

    Args:
        parent: of each node; roots are their own.
        has_parent: which nodes are no roots.
        longest: no path has so many steps.
    """
    depth = has_parent.astype(np.int16)
    ancestor = parent
    for _ in range(longest.bit_length()):
        further = depth[ancestor]
        if not further.any():
            break
        depth += further
        ancestor = ancestor[ancestor]
    # After k doublings the ancestor is 2^k steps up, so whoever is not at a root circles.
    return depth, has_parent[ancestor]


def _by_depth(nodes: IndexArray, depth: NDArray[np.int16]) -> tuple[IndexArray, tuple[int, ...]]:
    """Returns nodes sorted by depth, deepest first, and the bounds of each depth among them."""
    if not len(nodes):
        return nodes, (0,)
    height = depth[nodes].max() - depth[nodes]
    # On 16 bits numpy's stable sort is a radix sort.
    order = np.argsort(height.astype(np.uint16), kind="stable")
    return nodes[order], tuple(accumulate(np.bincount(height).tolist(), initial=0))
