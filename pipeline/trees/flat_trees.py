"""Trees in flat form: what makes one valid, and the binary tree over it.

A constituency tree over n tokens is a ``ConstituencyParse``: k spans in preorder, unary chains
collapsed into one span whose labels are joined by ``+``. A token that no span of its own covers
hangs directly under the smallest span around it. Nothing here recurses, so a tree may be as deep as
its sentence is long.

**Left markovization** makes binary trees whose leaves are the words. Unary chains are one node
already, and preterminals are dropped, so a sentence of n words has exactly n leaves and n - 1 inner
nodes with two children each. A node with more children becomes a left-branching chain: all children
but the last are grouped under a new node, again and again, so ``(NP a b c)`` becomes ``(NP (NP| a
b) c)`` (Klein & Manning 2003, section 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CHAIN_MARK = "+"
"""Joins the labels of a collapsed unary chain, outermost first."""

TOP_LABEL = "TOP"
"""Label of a sentence's span where no phrase covers the whole sentence."""

BINARIZATION_VERSION = 1
"""Raised whenever the same constituency tree is given another binary one; part of digests."""

GROUP_MARK = "|"
"""Ends the label of a new node, so no constituent's."""


@dataclass(frozen=True, slots=True)
class DependencyParse:
    """A dependency tree over n tokens."""

    heads: list[int]
    """Length n; 1-based head of each token, 0 for the single root."""
    deprels: list[str]
    """Length n; relation of each token to its head."""


@dataclass(frozen=True, slots=True)
class ConstituencyParse:
    """A constituency tree over n tokens: k constituents in preorder, unary chains collapsed."""

    starts: list[int]
    """Length k; first token of each constituent."""
    ends: list[int]
    """Length k; one past the last token (half-open)."""
    labels: list[str]
    """Length k; a collapsed unary chain's labels joined by ``+``, outermost first."""
    tags: list[str]
    """Length n; part-of-speech tag of each token."""


Parse = DependencyParse | ConstituencyParse


def validate_constituents(parse: ConstituencyParse, num_tokens: int) -> str | None:
    """Returns why the parse is no tree over ``num_tokens`` tokens, or None if it is one."""
    starts, ends, labels = parse.starts, parse.ends, parse.labels
    if not len(starts) == len(ends) == len(labels):
        return f"{len(starts)} starts, {len(ends)} ends and {len(labels)} labels differ in number"
    if len(parse.tags) != num_tokens:
        return f"{len(parse.tags)} tags for {num_tokens} tokens"
    if not starts or (starts[0], ends[0]) != (0, num_tokens):
        return f"the first constituent is not the whole sentence [0, {num_tokens})"
    for index, label in enumerate(labels):
        if not all(label.split(CHAIN_MARK)):
            return f"constituent {index} has an empty label in {label!r}"
    return _nesting_fault(starts, ends)


def _nesting_fault(starts: Sequence[int], ends: Sequence[int]) -> str | None:
    """Returns why spans, of which the first is the whole sentence, are no tree in preorder."""
    open_ends: list[int] = []
    previous = (0, -1)
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        where = f"constituent {index} [{start}, {end})"
        if not 0 <= start < end <= ends[0]:
            return f"{where} is empty or outside the sentence"
        if (start, end) == previous:
            return f"{where} occurs twice; collapse the unary chain"
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        if start < previous[0] or (open_ends and end > open_ends[-1]):
            return f"{where} crosses another one or is out of preorder"
        open_ends.append(end)
        previous = (start, end)
    return None


def validate_heads(heads: Sequence[int]) -> str | None:
    """Returns why ``heads`` is no dependency tree, or None if it is one.

    Args:
        heads: 1-based head of each token, 0 for the root.
    """
    num_tokens = len(heads)
    for token, head in enumerate(heads, start=1):
        if not 0 <= head <= num_tokens:
            return f"token {token} has head {head}, outside 0 to {num_tokens}"
    num_roots = sum(head == 0 for head in heads)
    if num_roots != 1:
        return f"{num_roots} roots where exactly one is needed"
    # A token is settled once its path is known to reach the root; each is walked over once.
    settled_in = [0] * (num_tokens + 1)
    for token in range(1, num_tokens + 1):
        node = token
        while node and not settled_in[node]:
            settled_in[node] = token
            node = heads[node - 1]
        if node and settled_in[node] == token:
            return f"token {node} is in a cycle"
    return None


@dataclass(frozen=True, slots=True)
class BinaryTree:
    """A binary tree over n tokens with n - 1 inner nodes in preorder; node 0 is the root.

    ``left`` and ``right`` are the columns ``binary_left`` and ``binary_right`` of the schema. A
    child >= 0 is an inner node, a child < 0 is the token -1 - child.
    """

    left: list[int]
    """Length n - 1."""
    right: list[int]
    """Length n - 1."""


def binarize(parse: ConstituencyParse) -> BinaryTree:
    """Returns the left-branching binary tree of a valid constituency tree.

    Args:
        parse: a tree that ``validate_constituents`` accepts.

    Raises:
        ValueError: a label ends with the mark of new nodes.
    """
    num_nodes = len(parse.tags) - 1
    tree = BinaryTree(left=[0] * num_nodes, right=[0] * num_nodes)
    numbers = [0] * len(parse.starts)
    for constituent, children in enumerate(children_of(parse)):
        label = parse.labels[constituent]
        if label.endswith(GROUP_MARK):
            raise ValueError(f"label {label!r} ends with {GROUP_MARK!r}, the mark of new nodes")
        if len(children) > 1:
            _fill_chain(tree, parse, numbers[constituent], children, numbers)
    return tree


def children_of(parse: ConstituencyParse) -> list[list[int]]:
    """Returns each constituent's children: a constituent, or a bare token t as -1 - t."""
    children: list[list[int]] = [[] for _ in parse.starts]
    open_constituents: list[int] = []
    position = 0  # tokens before it hang under a constituent already

    def hang_bare_tokens(constituent: int, until: int) -> None:
        nonlocal position
        children[constituent] += [-1 - token for token in range(position, until)]
        position = until

    for index, start in enumerate(parse.starts):
        while open_constituents and parse.ends[open_constituents[-1]] <= start:
            closed = open_constituents.pop()
            hang_bare_tokens(closed, parse.ends[closed])
        if open_constituents:
            hang_bare_tokens(open_constituents[-1], start)
            children[open_constituents[-1]].append(index)
        open_constituents.append(index)
    for constituent in reversed(open_constituents):
        hang_bare_tokens(constituent, parse.ends[constituent])
    return children


def _fill_chain(
    tree: BinaryTree,
    parse: ConstituencyParse,
    top: int,
    children: list[int],
    numbers: list[int],
) -> None:
    """Writes a constituent's inner nodes and tells its children constituents their numbers.

    In preorder the chain's nodes come first, downwards, and then the subtrees of the children
    from left to right; a subtree over m tokens holds m - 1 inner nodes.
    """
    next_number, references = top + len(children) - 1, []
    for child in children:
        if child < 0:
            references.append(child)
            continue
        width = parse.ends[child] - parse.starts[child]
        references.append(next_number if width > 1 else -1 - parse.starts[child])
        numbers[child] = next_number
        next_number += width - 1
    for depth, last in enumerate(range(len(children) - 1, 0, -1)):
        tree.left[top + depth] = top + depth + 1 if last > 1 else references[0]
        tree.right[top + depth] = references[last]
