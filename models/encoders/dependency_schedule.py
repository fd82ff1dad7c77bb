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

from dataclasses import dataclass, replace
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
    node_rows: Tensor | None = None
    """[N] int64; state row of each token; None unless asked for."""

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
        *,
        with_nodes: bool = False,
    ) -> DependencySchedule:
        """Returns the schedule of the trees given by 1-based heads.

        Args:
            heads: [N]; position of each token's head in its sentence, 0 for the root.
            words: [N]; word type of each token.
            num_words: T.
            token_offsets: [B+1].
            lengths: [B], each >= 1.
            with_nodes: whether ``node_rows`` is asked for.

        Raises:
            ValueError: heads out of range, not exactly one root, or a cycle; names the sentence.
        """
        parent, roots = parents_of(heads, token_offsets, lengths)
        inner = _Inner.find(parent, heads != 0, token_offsets, lengths)
        is_leaf = inner.number < 0
        children = np.flatnonzero(is_leaf & (heads != 0))
        parents = parent[children]
        fringe = _Fringe.find(inner.fringe, words, num_words, children, parents)
        rows = _Rows.number(mark(words[is_leaf], num_words), fringe, inner.core, len(heads))

        child_rows, child_sums = rows.leaf[words[children]], rows.sums[parents]
        into_inner, into_sum = rows.is_example[parents], child_sums >= 0
        pushing = fringe.tokens[heads[fringe.tokens] != 0]
        below_last = inner.core[: inner.level_starts[-2]] if len(inner.core) else inner.core
        num_leaves, num_fringe = len(rows.leaf_words), len(fringe.examples)

        def state_rows(tokens: IndexArray) -> IndexArray:
            inner_rows = rows.inner[tokens] + num_leaves
            return np.where(is_leaf[tokens], rows.leaf[words[tokens]], inner_rows)

        inner_words = words[np.concatenate([fringe.examples, inner.core])]
        return cls(
            words=to_tensor(np.concatenate([rows.leaf_words, inner_words])),
            num_leaves=num_leaves,
            num_fringe=num_fringe,
            num_fringe_sums=fringe.num_sums,
            fringe_sums=to_tensor(fringe.sum_of_row),
            leaf_to_sum=_edges(child_rows[into_sum], child_sums[into_sum]),
            leaf_to_inner=_edges(child_rows[into_inner], rows.inner[parents[into_inner]]),
            fringe_to_core=_edges(rows.inner[pushing], rows.inner[parent[pushing]] - num_fringe),
            core_parents=to_tensor(rows.inner[parent[below_last]] - num_fringe),
            level_starts=inner.level_starts,
            roots=to_tensor(state_rows(roots)),
            node_rows=to_tensor(state_rows(np.arange(len(heads)))) if with_nodes else None,
        )

    @property
    def num_edges(self) -> int:
        """Edges of all nodes to their parents, those from equal leaves to equal parents once."""
        to_parents = (self.leaf_to_inner[0], self.fringe_to_core[0], self.core_parents)
        return sum(len(edges) for edges in to_parents)


@dataclass(frozen=True, slots=True)
class _Inner:
    """The nodes that have children."""

    number: IndexArray
    """[N]; each token's number among the inner nodes, -1 for leaves."""
    fringe: IndexArray
    """Tokens whose children are all leaves, in the order of the text."""
    core: IndexArray
    """The other inner tokens, deepest first."""
    level_starts: tuple[int, ...]
    """Bounds of the core's levels."""

    @classmethod
    def find(
        cls,
        parent: IndexArray,
        has_parent: BoolArray,
        token_offsets: IndexArray,
        lengths: IndexArray,
    ) -> _Inner:
        """Raises: ValueError: a cycle; names the sentence."""
        tokens = np.flatnonzero(mark(parent[has_parent], len(parent)))
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
        return cls(number, tokens[~is_core], tokens[core], level_starts)


@dataclass(frozen=True, slots=True)
class _Fringe:
    """The distinct ones of the nodes whose children are all leaves.

    Two multisets of words are told apart by the sums of their words' 64-bit hashes: that two of a
    batch's few thousand should agree by chance has probability 1e-12.
    """

    tokens: IndexArray
    """All fringe nodes, in the order of the text."""
    row_of_token: IndexArray
    """For each of ``tokens``, its row among the distinct ones."""
    examples: IndexArray
    """[F]; one token of each distinct fringe node."""
    sum_of_row: IndexArray
    """[F]; number of each one's multiset of children."""
    sum_examples: IndexArray
    """[S_F]; one token of each distinct multiset."""

    @property
    def num_sums(self) -> int:
        return len(self.sum_examples)

    @classmethod
    def find(
        cls,
        tokens: IndexArray,
        words: IndexArray,
        num_words: int,
        children: IndexArray,
        parents: IndexArray,
    ) -> _Fringe:
        """Args: children: leaves with a parent; parents: theirs."""
        sums = np.zeros(len(words), dtype=np.int64)
        np.add.at(sums, parents, hashes(np.arange(num_words))[words[children]])
        sum_places, sum_of_token = distinct(sums[tokens])
        places, row_of_token = distinct_pairs(sum_of_token, words[tokens])
        return cls(tokens, row_of_token, tokens[places], sum_of_token[places], tokens[sum_places])


@dataclass(frozen=True, slots=True)
class _Rows:
    """Which row each word or token has."""

    leaf_words: IndexArray
    """[K]; the word types that stand at leaves."""
    leaf: IndexArray
    """[T]; leaf row of those."""
    inner: IndexArray
    """[N]; inner row of inner nodes."""
    sums: IndexArray
    """[N]; sum row of one node for each sum, -1 for others."""
    is_example: BoolArray
    """[N]; one node for each inner row."""

    @classmethod
    def number(
        cls, at_leaves: BoolArray, fringe: _Fringe, core: IndexArray, num_tokens: int
    ) -> _Rows:
        """Args: at_leaves: [T], whether a word type stands at a leaf."""
        num_fringe, num_core = len(fringe.examples), len(core)
        inner = np.empty(num_tokens, dtype=np.int64)
        inner[fringe.tokens] = fringe.row_of_token
        inner[core] = np.arange(num_fringe, num_fringe + num_core)
        sums = np.full(num_tokens, -1)
        sums[fringe.sum_examples] = np.arange(fringe.num_sums)
        sums[core] = np.arange(fringe.num_sums, fringe.num_sums + num_core)
        is_example = mark(fringe.examples, num_tokens)
        is_example[core] = True
        return cls(np.flatnonzero(at_leaves), np.cumsum(at_leaves) - 1, inner, sums, is_example)


def _edges(rows: IndexArray, parents: IndexArray) -> tuple[Tensor, Tensor]:
    return to_tensor(rows), to_tensor(parents)


def parents_of(
    heads: IndexArray, token_offsets: IndexArray, lengths: IndexArray
) -> tuple[IndexArray, IndexArray]:
    """Returns each token's parent, roots being their own, and each sentence's root.

    Raises:
        ValueError: heads out of range, or not exactly one root; names the sentence.
    """
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


# The schedule as a list of groups, each computed at once, for a loop to walk over.


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

    def without_empty_edges(self) -> NodeGroup:
        """Returns the group with ``edges`` None if there are none."""
        if self.edges is None or len(self.edges.parents):
            return self
        return replace(self, edges=None)


def node_groups(schedule: DependencySchedule) -> list[NodeGroup]:
    """Returns the groups in the order of computation; every edge leads to a later group."""
    s = schedule
    K, F, S_F = s.num_leaves, s.num_fringe, s.num_fringe_sums
    num_leaf_edges, num_fringe_edges = len(s.leaf_to_inner[0]), len(s.fringe_to_core[0])
    first_core_edge = num_leaf_edges + num_fringe_edges
    leaves = NodeGroup(
        states=slice(0, K),
        inner=None,
        sums=slice(0, 0),
        sum_of_node=None,
        edges=Edges(slice(0, num_leaf_edges), *s.leaf_to_inner, 0, *s.leaf_to_sum, 0),
    )
    fringe = NodeGroup(
        states=slice(K, K + F),
        inner=slice(0, F),
        sums=slice(0, S_F),
        sum_of_node=s.fringe_sums,
        edges=Edges(
            slice(num_leaf_edges, first_core_edge), *s.fringe_to_core, F, *s.fringe_to_core, S_F
        ),
    )
    groups = [leaves, fringe]
    for first, last in pairwise(s.level_starts):
        parents = s.core_parents[first:last]
        numbers = slice(first_core_edge + first, first_core_edge + last)
        groups.append(
            NodeGroup(
                states=slice(K + F + first, K + F + last),
                inner=slice(F + first, F + last),
                sums=slice(S_F + first, S_F + last),
                sum_of_node=None,
                edges=Edges(numbers, None, parents, F, None, parents, S_F),
            )
        )
    return [group.without_empty_edges() for group in groups if group.states != slice(K, K)]
