"""Binary trees in the order a bottom-up encoder computes them, each distinct part once.

Words stand at the leaves, so a state is a function of the subtree's words. Three kinds of nodes:

- leaves: one state for each word type;
- cherries, both of whose children are leaves: one state for each distinct pair of words;
- core nodes, all others: by depth, deepest first; the last level is roots.

A state row is a word type, then a distinct cherry, then a core node: [leaves; cherries; core]; an
inner row counts from the first cherry. The children's part of a node's gates is U_left h_left +
U_right h_right, so each row is multiplied once for each side on which it stands as a child. Those
rows, in the order of the state rows, are the side's operands: shared ones (leaves and cherries,
children of many) and then those of the core (children of one). Within a level left children stand
before right ones, so a level's operands are two contiguous ranges of it.

Legend: B sentences, N tokens, T word types (= leaf rows), Q cherries, C core nodes, P operands of a
side, P_S of them shared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from treeviews.models.encoders.index_arrays import (
    BoolArray,
    IndexArray,
    distinct_pairs,
    mark,
    refuse_by_node,
    to_tensor,
)


@dataclass(frozen=True, slots=True)
class Side:
    """Who stands on one side, left or right, as a child of whom."""

    operands: Tensor
    """[P] int64; state row of each operand."""
    num_leaves: int
    """How many operands are leaves; these come first."""
    num_shared: int
    """P_S, operands that are leaves or cherries."""
    children: Tensor
    """[Q + C] int64; state row of each inner row's child on this side."""
    operand_of: Tensor
    """[Q + C] int64; operand of each inner row's child on this side."""
    core_parents: Tensor
    """[P - P_S] int64; inner row of the one parent of each operand of the core."""
    shared_parents: Tensor
    """[·] int64; inner rows of the core whose child on this side is shared."""
    level_counts: tuple[int, ...]
    """For each level of the core, how many of its nodes stand on this side."""

    @property
    def leaf_operands(self) -> slice:
        """Operands that are leaves."""
        return slice(0, self.num_leaves)

    @property
    def cherry_operands(self) -> slice:
        """Operands that are cherries."""
        return slice(self.num_leaves, self.num_shared)


@dataclass(frozen=True, slots=True)
class BinarySchedule:
    """Which rows there are, and which are whose children."""

    num_leaves: int
    """T."""
    num_cherries: int
    """Q."""
    level_starts: tuple[int, ...]
    """Bounds of the core's levels, from 0 to C; (0,) if there is no core."""
    left: Side
    right: Side
    roots: Tensor
    """[B] int64; state row of each sentence's root."""
    node_rows: Tensor
    """[2N - B] int64; state row of each node, sentence by sentence: its inner nodes, then its
    tokens."""

    @property
    def num_inner(self) -> int:
        """Inner rows, Q + C."""
        return self.num_cherries + self.level_starts[-1]

    @property
    def num_rows(self) -> int:
        """State rows."""
        return self.num_leaves + self.num_inner

    @classmethod
    def build(
        cls,
        children: IndexArray,
        words: IndexArray,
        num_words: int,
        token_offsets: IndexArray,
        lengths: IndexArray,
    ) -> BinarySchedule:
        """Returns the schedule of the trees given by their inner nodes' children.

        Args:
            children: [2, N-B]; left and right child of each inner node, n-1 of them for a sentence
                of n tokens, node 0 the root. A value >= 0 is an inner node, a value < 0 the token
                -1 - value.
            words: [N]; word type of each token.
            num_words: T.
            token_offsets: [B+1].
            lengths: [B], each >= 1.

        Raises:
            ValueError: a child out of range, a node with no or several parents, or a cycle;
                names the sentence.
        """
        num_inner = children.shape[1]
        inner_offsets = token_offsets - np.arange(len(token_offsets))
        children = _numbered_nodes(children, token_offsets, inner_offsets, lengths)
        roots = np.where(lengths > 1, inner_offsets[:-1], num_inner + token_offsets[:-1])
        _check_parents(children, roots, token_offsets, inner_offsets)
        is_cherry = (children >= num_inner).all(axis=0)
        levels, counts = _core_levels(children, roots, is_cherry, num_inner + len(words))
        core = np.concatenate([*levels, roots[:0]])
        if len(core) < num_inner - np.count_nonzero(is_cherry):
            reached = mark(core, num_inner) | is_cherry
            refuse_by_node(~reached, inner_offsets, "has a cycle in its binary tree")

        cherries = np.flatnonzero(is_cherry)
        examples, cherry_of = distinct_pairs(*words[children[:, cherries] - num_inner])
        first_core = num_words + len(examples)
        row = np.empty(num_inner + len(words), dtype=np.int64)  # state row of each node
        row[num_inner:] = words
        row[cherries] = num_words + cherry_of
        row[core] = np.arange(first_core, first_core + len(core))

        left, right = row[children[:, np.concatenate([cherries[examples], core])]]
        sizes = (num_words, first_core, first_core + len(core))
        sentences = np.arange(len(lengths))
        owners = np.concatenate([np.repeat(sentences, lengths - 1), np.repeat(sentences, lengths)])
        return cls(
            num_leaves=num_words,
            num_cherries=len(examples),
            level_starts=tuple(np.cumsum([0, *map(len, levels)]).tolist()),
            left=_side(left, sizes, [count for count, _ in counts]),
            right=_side(right, sizes, [count for _, count in counts]),
            roots=to_tensor(row[roots]),
            node_rows=to_tensor(row[np.argsort(owners, kind="stable")]),
        )


def _numbered_nodes(
    children: IndexArray,
    token_offsets: IndexArray,
    inner_offsets: IndexArray,
    lengths: IndexArray,
) -> IndexArray:
    """Returns the children that `BinarySchedule.build` is given by number in the batch, [2, N-B].

    Inner nodes are numbered first, then tokens.

    Raises:
        ValueError: one is out of range; names the sentence.
    """
    counts, limits = lengths - 1, np.repeat(lengths, lengths - 1)
    outside = (children < -limits) | (children > limits - 2)
    what = "has a child in its binary tree that is no token and no inner node of it"
    refuse_by_node(outside[0] | outside[1], inner_offsets, what)
    first_inner = np.repeat(inner_offsets[:-1], counts)
    last_token = np.repeat(children.shape[1] - 1 + token_offsets[:-1], counts)
    return np.where(children < 0, last_token - children, first_inner + children)


def _check_parents(
    children: IndexArray, roots: IndexArray, token_offsets: IndexArray, inner_offsets: IndexArray
) -> None:
    """Raises: ValueError: a node without exactly one parent; names the sentence."""
    num_inner = children.shape[1]
    parents = np.bincount(children.ravel(), minlength=num_inner + int(token_offsets[-1]))
    parents[roots] += 1
    what = "has a binary tree in which a node other than the root lacks exactly one parent"
    refuse_by_node(parents[:num_inner] != 1, inner_offsets, what)
    refuse_by_node(parents[num_inner:] != 1, token_offsets, what)


def _core_levels(
    children: IndexArray, roots: IndexArray, is_cherry: BoolArray, num_nodes: int
) -> tuple[list[IndexArray], list[tuple[int, int]]]:
    """Returns the core's nodes by depth, deepest first, in a level left children first.

    And how many of each level are left children, and how many right ones; roots are neither.
    """
    is_core = np.zeros(num_nodes, dtype=np.bool_)
    is_core[: len(is_cherry)] = ~is_cherry
    levels, counts = [roots[is_core[roots]]], [(0, 0)]
    while len(levels[-1]):
        left, right = (side[is_core[side]] for side in children[:, levels[-1]])
        levels.append(np.concatenate([left, right]))
        counts.append((len(left), len(right)))
    return levels[-2::-1], counts[-2::-1]


def _side(children: IndexArray, sizes: tuple[int, int, int], level_counts: list[int]) -> Side:
    """Returns one side of the inner rows.

    Args:
        children: [Q + C]; state row of each inner row's child.
        sizes: state rows that are leaves, that are shared, and all of them.
        level_counts: see `Side`.
    """
    num_leaves, first_core, num_rows = sizes
    num_cherries = first_core - num_leaves
    is_operand = mark(children, num_rows)
    operands = np.flatnonzero(is_operand)
    operand_of_row = np.cumsum(is_operand) - 1
    operand_of = operand_of_row[children]
    num_shared = int(operand_of_row[first_core - 1]) + 1
    is_shared = children < first_core
    core_parents = np.empty(len(operands) - num_shared, dtype=np.int64)
    of_core = np.flatnonzero(~is_shared)
    core_parents[operand_of[of_core] - num_shared] = of_core
    return Side(
        operands=to_tensor(operands),
        num_leaves=int(operand_of_row[num_leaves - 1]) + 1,
        num_shared=num_shared,
        children=to_tensor(children),
        operand_of=to_tensor(operand_of),
        core_parents=to_tensor(core_parents),
        shared_parents=to_tensor(num_cherries + np.flatnonzero(is_shared[num_cherries:])),
        level_counts=tuple(level_counts),
    )
