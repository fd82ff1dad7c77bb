"""What makes the rows of each stage right.

Rows are looked at twice: over flat arrays, with no Python a row, let alone a node, which finds the
few that may be wrong; and one by one, which says of those what is wrong, if anything. A row that is
not found is right.

Legend: R rows, N tokens, K constituents, M inner nodes of binary trees, each over all the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.inspect.drawing.rows import constituency_of
from pipeline.inspect.rows import Ints, ListColumn, Mask, list_lengths
from pipeline.shards.arrow import vectors_of
from pipeline.shards.schema import EMBEDDING, EMBEDDINGS
from pipeline.trees.binarize import GROUP_MARK, binarize
from pipeline.trees.flat import CHAIN_MARK, validate_constituents, validate_heads

RowFault = tuple[str, str]
"""Field and problem."""

ROWS_AT_ONCE = 10_000
"""Rows whose flat arrays are in memory together."""
_POSITION_BITS = 16


def faults_in_rows(
    stage: str, table: pa.Table, sentences: pa.Table | None
) -> Iterator[tuple[int, str, str]]:
    """Yields (row, field, problem).

    Args:
        table: all of the stage's columns.
        sentences: the rows of the sentences they are parses of, where these are at hand.
    """
    if stage == EMBEDDINGS:
        for start in range(0, table.num_rows, ROWS_AT_ONCE):
            vectors, _ = vectors_of(table[EMBEDDING].slice(start, ROWS_AT_ONCE))
            for row in np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist():
                yield start + row, EMBEDDING, "has a number that is not finite"
        return
    counts = None if sentences is None else token_counts(sentences)
    for start in range(0, table.num_rows, ROWS_AT_ONCE):
        rows = table.slice(start, ROWS_AT_ONCE)
        lengths = None if counts is None else counts[start : start + ROWS_AT_ONCE]
        suspects = suspect_rows(stage, rows, lengths)
        found = rows.take(pa.array(suspects)).to_pylist()
        for position, row in zip(suspects.tolist(), found, strict=True):
            num_tokens = None if lengths is None else int(lengths[position])
            for field, problem in row_faults(stage, row, num_tokens):
                yield start + position, field, problem


def row_faults(stage: str, row: dict[str, Any], num_tokens: int | None) -> Iterator[RowFault]:
    """Yields what is wrong with one row.

    Args:
        row: the stage's columns; of constituents those of the binary tree may be left out.
        num_tokens: how many words the sentence has, where its shard is at hand.
    """
    if stage == "sentences":
        tokens = row["tokens"]
        if not tokens:
            yield "tokens", "no token"
        elif not all(tokens):
            yield "tokens", f"token {tokens.index('') + 1} is empty"
        return
    missing = [name for name, value in row.items() if value is None]
    if missing:
        if len(missing) < len(row):
            yield missing[0], f"null, but {next(n for n in row if n not in missing)} is not"
    elif stage == "dependencies":
        yield from _dependency_faults(row["heads"], row["deprels"], num_tokens)
    else:
        yield from _constituent_faults(row, num_tokens)


def _dependency_faults(
    heads: Sequence[int], deprels: Sequence[str], num_tokens: int | None
) -> Iterator[RowFault]:
    if num_tokens is not None and len(heads) != num_tokens:
        yield "heads", f"{len(heads)} heads for {num_tokens} tokens"
        return
    problem = validate_heads(heads)
    if problem is not None:
        yield "heads", problem
    if len(deprels) != len(heads):
        yield "deprels", f"{len(deprels)} relations for {len(heads)} heads"


def _constituent_faults(row: dict[str, Any], num_tokens: int | None) -> Iterator[RowFault]:
    parse = constituency_of(row)
    problem = validate_constituents(parse, len(parse.tags) if num_tokens is None else num_tokens)
    if problem is not None:
        yield "span_starts", problem
        return
    if "binary_left" not in row:
        return
    try:
        tree = binarize(parse)
    except ValueError as error:
        yield "span_labels", str(error)
        return
    for field, expected in (("binary_left", tree.left), ("binary_right", tree.right)):
        if row[field] != expected:
            yield field, f"is {row[field]}, the binarization of the spans is {expected}"


class DocumentOrder:
    """Follows documents over the shards of a stage, which are given to it in order."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._document: str | None = None
        self._index = -1

    def faults(self, table: pa.Table) -> Iterator[tuple[int, str, str]]:
        """Yields (row, field, problem) where a document is torn or its indices do not rise."""
        if not table.num_rows:
            return
        names = table["document_id"].combine_chunks()
        indices = np.append(self._index, table["sentence_index"].to_numpy())
        codes = names.indices.to_numpy()
        begins = np.append(True, codes[1:] != codes[:-1])
        begins[0] = names[0].as_py() != self._document
        for row in np.flatnonzero(begins | (indices[1:] <= indices[:-1])).tolist():
            if begins[row]:
                document = names[row].as_py()
                if document in self._seen:
                    yield row, "document_id", f"{document!r} goes on after another document"
                self._seen.add(document)
            else:
                problem = f"{indices[row + 1]} follows {indices[row]} in one document"
                yield row, "sentence_index", problem
        self._document, self._index = names[-1].as_py(), int(indices[-1])


def suspect_rows(stage: str, rows: pa.Table, num_tokens: Ints | None) -> Ints:
    """Returns the positions of rows that may be wrong, in order.

    Args:
        rows: all of the stage's columns.
        num_tokens: of each row's sentence; [R]. None where the sentences are not at hand.
    """
    if stage == "sentences":
        tokens = ListColumn(rows, "tokens")
        empty = pc.equal(pc.binary_length(tokens.values), 0).to_numpy(zero_copy_only=False)
        return np.flatnonzero((tokens.lengths == 0) | tokens.rows_with(empty))
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
    return list_lengths(sentences, "tokens")


def _suspect_dependencies(trees: pa.Table, num_tokens: Ints | None) -> Mask:
    heads = ListColumn(trees, "heads")
    suspect: Mask = heads.lengths != list_lengths(trees, "deprels")
    if num_tokens is not None:
        suspect |= heads.lengths != num_tokens
    values, rows = heads.numbers, heads.rows
    outside = (values < 0) | (values > heads.lengths[rows])
    roots = np.bincount(rows[values == 0], minlength=len(suspect))
    # Each token points to its head, the root to a place behind all tokens, which is its own.
    top = len(values)
    head = np.append(np.where((values == 0) | outside, top, heads.starts[rows] + values - 1), top)
    in_cycle = _chain_ends(head, heads.lengths)[:-1] != top
    suspect |= (roots != 1) | heads.rows_with(outside | in_cycle)
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
    lengths = {name: list_lengths(trees, name) for name in trees.column_names}
    num_tokens = lengths["tags"] if num_tokens is None else num_tokens
    spans = lengths["span_starts"]
    fits: Mask = (lengths["tags"] == num_tokens) & (num_tokens > 0) & (spans > 0)
    fits &= (lengths["span_ends"] == spans) & (lengths["span_labels"] == spans)
    fits &= (lengths["binary_left"] == num_tokens - 1) & (lengths["binary_right"] == num_tokens - 1)
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
    spans, ends = ListColumn(trees, "span_starts"), ListColumn(trees, "span_ends").numbers
    starts, of_span = spans.numbers, spans.rows
    faulty = (starts < 0) | (ends <= starts) | (ends > num_tokens[of_span])
    span_keys = _keys(of_span, starts, ends, num_tokens)
    faulty[1:] |= span_keys[1:] <= span_keys[:-1]  # not in preorder, or twice
    faulty[spans.starts] |= (starts[spans.starts] != 0) | (ends[spans.starts] != num_tokens)
    suspect = spans.rows_with(faulty | ~_has_proper_label(trees))
    left = ListColumn(trees, "binary_left")
    nodes = _Nodes(left, ListColumn(trees, "binary_right").numbers, num_tokens)
    suspect |= left.rows_with(nodes.is_faulty)
    node_keys = _keys(left.rows, nodes.first, nodes.last + 1, num_tokens)
    is_wide = ends - starts > 1
    if not len(node_keys):
        return suspect | spans.rows_with(is_wide)
    # In preorder the keys rise. Of a faulty tree they may not: then more is suspect.
    places = np.minimum(np.searchsorted(node_keys, span_keys), len(node_keys) - 1)
    is_node = node_keys[places] == span_keys
    is_constituent = np.zeros(len(node_keys), dtype=np.bool_)
    is_constituent[places[is_node]] = True
    suspect |= spans.rows_with(is_wide & ~is_node)
    return suspect | left.rows_with(~is_constituent & ~nodes.is_left_child)


def _keys(rows: Ints, starts: Ints, ends: Ints, num_tokens: Ints) -> Ints:
    """Returns a number for each span, which rises in preorder; never that of another row's."""
    length = num_tokens[rows]
    start, end = np.clip(starts, 0, length), np.clip(ends, 0, length)
    return (((rows << _POSITION_BITS) + start) << _POSITION_BITS) + (length - end)


def _has_proper_label(trees: pa.Table) -> Mask:
    """Returns whose label neither misses a part nor has the mark of new nodes; [K]."""
    values = ListColumn(trees, "span_labels").values
    names: Sequence[str] = values.dictionary.to_pylist()
    proper = [all(name.split(CHAIN_MARK)) and not name.endswith(GROUP_MARK) for name in names]
    result: Mask = np.array([*proper, False])[values.indices.to_numpy()]
    return result


class _Nodes:
    """The inner nodes of binary trees and the tokens they span.

    Args:
        lists: the column of left children; those of a row are numbered from 0.
        right: right children; [M].
        num_tokens: of each row's sentence; [R].
    """

    def __init__(self, lists: ListColumn, right: Ints, num_tokens: Ints) -> None:
        left, base = lists.numbers, lists.starts[lists.rows]
        places = np.arange(len(right))
        number, size = places - base, lists.lengths[lists.rows]
        outside = np.zeros(len(right), dtype=np.bool_)
        for child in (left, right):
            outside |= (child >= size) | (child < -1 - size) | ((child >= 0) & (child <= number))
        # Each node's child among all nodes, or the node itself where that is a token.
        is_inner = (left >= 0) & ~outside
        left_node = np.where(is_inner, base + left, places)
        right_node = np.where((right >= 0) & ~outside, base + right, places)
        self.is_left_child: Mask = np.zeros(len(right), dtype=np.bool_)
        self.is_left_child[left_node[is_inner]] = True
        self.first: Ints = -1 - left[_chain_ends(left_node, lists.lengths)]
        """First token of each node; [M]."""
        self.last: Ints = -1 - right[_chain_ends(right_node, lists.lengths)]
        """Last token of each node; [M]."""
        left_last = np.where(left < 0, -1 - left, self.last[left_node])
        right_first = np.where(right < 0, -1 - right, self.first[right_node])
        is_whole = (self.first == 0) & (self.last == num_tokens[lists.rows] - 1)
        self.is_faulty: Mask = outside | (left_last + 1 != right_first)
        """Which are not where a tree over all tokens has them in preorder; [M]."""
        self.is_faulty |= (left >= 0) & (left != number + 1)
        self.is_faulty |= (right >= 0) & (right != number + left_last - self.first + 1)
        self.is_faulty |= (number == 0) & ~is_whole
