"""Finds the rows that need a closer look, over flat arrays: no Python a row, let alone a node.

A row that is not found is right. What is wrong with those found, if anything, `row_checks` says.
Legend: R rows, N tokens, K constituents, M inner nodes of binary trees, each over all the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.trees.binarize import GROUP_MARK
from pipeline.trees.flat import CHAIN_MARK

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_POSITION_BITS = 16


@dataclass(frozen=True, slots=True)
class _Lists:
    """A list column, flat."""

    values: pa.Array
    lengths: Ints
    """[R]"""

    @property
    def starts(self) -> Ints:
        """Where each row's values begin; [R]."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def rows(self) -> Ints:
        """The row of each value."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @property
    def numbers(self) -> Ints:
        """The values of a column of integers."""
        numbers: Ints = self.values.to_numpy().astype(np.int64)
        return numbers


def suspect_rows(stage: str, rows: pa.Table, num_tokens: Ints | None) -> Ints:
    """Returns the positions of rows that may be wrong, in order.

    Args:
        rows: all of the stage's columns.
        num_tokens: of each row's sentence; [R]. None where the sentences are not at hand.
    """
    if stage == "sentences":
        return np.flatnonzero(_suspect_sentences(rows))
    nulls = np.stack([column.is_null().to_numpy() for column in rows.columns])
    suspect: Mask = np.asarray(nulls.any(axis=0) & ~nulls.all(axis=0))
    parsed = np.flatnonzero(~nulls.any(axis=0))
    trees = rows.take(pa.array(parsed)).combine_chunks()
    lengths = None if num_tokens is None else num_tokens[parsed]
    of_stage = _suspect_dependencies if stage == "dependencies" else _suspect_constituents
    suspect[parsed[of_stage(trees, lengths)]] = True
    return np.flatnonzero(suspect)


def token_counts(sentences: pa.Table) -> Ints:
    """Returns the number of tokens of each sentence; [R]."""
    counts: Ints = pc.list_value_length(sentences["tokens"]).to_numpy().astype(np.int64)
    return counts


def _lists(table: pa.Table, name: str) -> _Lists:
    column = table[name].combine_chunks()
    lengths = pc.list_value_length(column).to_numpy().astype(np.int64)
    return _Lists(column.flatten(), lengths)


def _rows_with(faulty: Mask, lists: _Lists) -> Mask:
    """Returns which rows hold a faulty value; [R]."""
    found: Mask = np.bincount(lists.rows[faulty], minlength=len(lists.lengths)) > 0
    return found


def _suspect_sentences(rows: pa.Table) -> Mask:
    tokens = _lists(rows, "tokens")
    empty = pc.equal(pc.binary_length(tokens.values), 0).to_numpy(zero_copy_only=False)
    suspect: Mask = (tokens.lengths == 0) | _rows_with(empty, tokens)
    return suspect


def _suspect_dependencies(trees: pa.Table, num_tokens: Ints | None) -> Mask:
    heads, deprels = _lists(trees, "heads"), _lists(trees, "deprels")
    suspect: Mask = heads.lengths != deprels.lengths
    if num_tokens is not None:
        suspect |= heads.lengths != num_tokens
    values, rows = heads.numbers, heads.rows
    outside = (values < 0) | (values > heads.lengths[rows])
    roots = np.bincount(rows[values == 0], minlength=len(suspect))
    # Each token points to its head, the root to a place behind all tokens, which is its own.
    top = len(values)
    head = np.append(np.where((values == 0) | outside, top, heads.starts[rows] + values - 1), top)
    in_cycle = _chain_ends(head, heads.lengths)[:-1] != top
    suspect |= (roots != 1) | _rows_with(outside | in_cycle, heads)
    return suspect


def _chain_ends(successor: Ints, lengths: Ints) -> Ints:
    """Returns where each chain of successors ends; an end is its own successor.

    The steps double each time, so that chains as long as the longest row end or are cycles.
    """
    for _ in range(int(lengths.max(initial=1)).bit_length() + 1):
        further = successor[successor]
        if np.array_equal(further, successor):
            break
        successor = further
    return successor


def _suspect_constituents(trees: pa.Table, num_tokens: Ints | None) -> Mask:
    columns = {name: _lists(trees, name) for name in trees.column_names}
    tags = columns["tags"].lengths
    num_tokens = tags if num_tokens is None else num_tokens
    spans = columns["span_starts"]
    of_spans = (columns[name].lengths for name in ("span_ends", "span_labels"))
    of_nodes = (columns[name].lengths for name in ("binary_left", "binary_right"))
    fits = (tags == num_tokens) & (num_tokens > 0) & (spans.lengths > 0)
    fits &= np.all([lengths == spans.lengths for lengths in of_spans], axis=0)
    fits &= np.all([lengths == num_tokens - 1 for lengths in of_nodes], axis=0)
    suspect: Mask = ~fits
    # Lengths agree in what is looked at further, so that flat arrays stand side by side.
    fitting = trees.filter(pa.array(fits)).combine_chunks()
    suspect[fits] = _suspect_trees(fitting, num_tokens[fits])
    return suspect


def _suspect_trees(trees: pa.Table, num_tokens: Ints) -> Mask:
    """Checks spans against binary trees; with these right, every other thing follows.

    The binarization of spans is the binary tree that has a node for each span of more than one
    token and whose other nodes are left children. Spans that are nodes of one tree do not cross.
    """
    spans, ends = _lists(trees, "span_starts"), _lists(trees, "span_ends").numbers
    starts, of_span = spans.numbers, spans.rows
    faulty = (starts < 0) | (ends <= starts) | (ends > num_tokens[of_span])
    span_keys = _keys(of_span, starts, ends, num_tokens)
    faulty[1:] |= span_keys[1:] <= span_keys[:-1]  # not in preorder, or twice
    faulty[spans.starts] |= (starts[spans.starts] != 0) | (ends[spans.starts] != num_tokens)
    suspect = _rows_with(faulty | ~_has_proper_labels(trees), spans)
    nodes = _Nodes(_lists(trees, "binary_left"), _lists(trees, "binary_right").numbers)
    suspect |= _rows_with(nodes.faulty(num_tokens), nodes.lists)
    node_keys = _keys(nodes.lists.rows, nodes.first, nodes.last + 1, num_tokens)
    is_wide = ends - starts > 1
    if not len(node_keys):
        return suspect | _rows_with(is_wide, spans)
    # In preorder the keys rise. Of a faulty tree they may not: then more is suspect.
    places = np.minimum(np.searchsorted(node_keys, span_keys), len(node_keys) - 1)
    is_node = node_keys[places] == span_keys
    is_constituent = np.zeros(len(node_keys), dtype=np.bool_)
    is_constituent[places[is_node]] = True
    suspect |= _rows_with(is_wide & ~is_node, spans)
    return suspect | _rows_with(~is_constituent & ~nodes.is_left_child, nodes.lists)


def _keys(rows: Ints, starts: Ints, ends: Ints, num_tokens: Ints) -> Ints:
    """Returns a number for each span, which rises in preorder; never that of another row's."""
    length = num_tokens[rows]
    start, end = np.clip(starts, 0, length), np.clip(ends, 0, length)
    return (((rows << _POSITION_BITS) + start) << _POSITION_BITS) + (length - end)


def _has_proper_labels(trees: pa.Table) -> Mask:
    """Returns whose label neither misses a part nor has the mark of new nodes; [K]."""
    values = _lists(trees, "span_labels").values
    names: Sequence[str] = values.dictionary.to_pylist()
    proper = [all(name.split(CHAIN_MARK)) and not name.endswith(GROUP_MARK) for name in names]
    result: Mask = np.array([*proper, False])[values.indices.to_numpy()]
    return result


class _Nodes:
    """The inner nodes of binary trees and the tokens they span.

    Args:
        left: the column of left children; those of a row are numbered from 0.
        right: right children; [M].
    """

    def __init__(self, left: _Lists, right: Ints) -> None:
        self.lists = left
        base = left.starts[left.rows]
        self._number = np.arange(len(right)) - base
        self._left, self._right = left.numbers, right
        self._is_outside = np.zeros(len(right), dtype=np.bool_)
        size = left.lengths[left.rows]
        for child in (self._left, self._right):
            self._is_outside |= (child >= size) | (child < -1 - size)
            self._is_outside |= (child >= 0) & (child <= self._number)
        self._left_node = self._node_of(self._left, base)
        self._right_node = self._node_of(self._right, base)
        leftmost = _chain_ends(self._left_node, left.lengths)
        rightmost = _chain_ends(self._right_node, left.lengths)
        self.first: Ints = -1 - self._left[leftmost]
        """First token of each node; [M]."""
        self.last: Ints = -1 - self._right[rightmost]
        """Last token of each node; [M]."""
        self.is_left_child = np.zeros(len(right), dtype=np.bool_)
        is_node = (self._left >= 0) & ~self._is_outside
        self.is_left_child[self._left_node[is_node]] = True

    def _node_of(self, child: Ints, base: Ints) -> Ints:
        """Returns each node's child among all nodes, or the node itself where that is a token."""
        is_node = (child >= 0) & ~self._is_outside
        return np.where(is_node, base + child, np.arange(len(child)))

    def faulty(self, num_tokens: Ints) -> Mask:
        """Returns which nodes are not where a tree over all tokens has them in preorder; [M]."""
        left_last = np.where(self._left < 0, -1 - self._left, self.last[self._left_node])
        right_first = np.where(self._right < 0, -1 - self._right, self.first[self._right_node])
        left_width = left_last - self.first + 1
        faulty: Mask = self._is_outside | (left_last + 1 != right_first)
        faulty |= (self._left >= 0) & (self._left != self._number + 1)
        faulty |= (self._right >= 0) & (self._right != self._number + left_width)
        is_root = self._number == 0
        tokens = num_tokens[self.lists.rows]
        faulty |= is_root & ((self.first != 0) | (self.last != tokens - 1))
        return faulty
