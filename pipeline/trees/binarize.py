"""Left markovization: constituency trees as binary trees whose leaves are the words.

Unary chains are one node already, and preterminals are dropped, so a sentence of n words has
exactly n leaves and n - 1 inner nodes with two children each. A node with more children becomes a
left-branching chain: all children but the last are grouped under a new node, again and again, so
``(NP a b c)`` becomes ``(NP (NP| a b) c)``. The new node keeps its parent's label with a mark and,
if asked for, the labels of its last children (horizontal markovization; Collins 1999, Klein &
Manning 2003, section 2).

Differs from Klein & Manning in that the context is written for reading alone: which nodes are new
is told by the mark, so the inverse is exact whatever the order.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.trees.parses import ConstituencyParse

BINARIZATION_VERSION = 1
"""Raised whenever the same constituency tree is given another binary one; part of digests."""

GROUP_MARK = "|"
"""Ends the label of a new node: ``NP|``, or ``NP<DT,JJ>|`` with the labels of two children."""


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
    labels: list[str]
    """Length n - 1; a constituent's label, or its parent's with a mark for a new node."""
    leaf_labels: list[str]
    """Length n; label of the constituent that is this token alone, or empty."""
    tags: list[str]
    """Length n; part-of-speech tag of each token."""


def binarize(parse: ConstituencyParse, *, order: int = 0) -> BinaryTree:
    """Returns the left-branching binary tree of a valid constituency tree.

    Args:
        parse: a tree that ``validate_constituents`` accepts.
        order: horizontal markovization order: how many of the last sibling labels grouped under a
            new node its label names (0 names none).

    Raises:
        ValueError: ``order`` is negative, or a label ends with the mark of new nodes.
    """
    if order < 0:
        raise ValueError(f"the markovization order must be >= 0, got {order}")
    num_tokens = len(parse.tags)
    tree = BinaryTree(
        left=[0] * (num_tokens - 1),
        right=[0] * (num_tokens - 1),
        labels=[""] * (num_tokens - 1),
        leaf_labels=[""] * num_tokens,
        tags=list(parse.tags),
    )
    numbers = [0] * len(parse.starts)
    for constituent, children in enumerate(children_of(parse)):
        label, start = parse.labels[constituent], parse.starts[constituent]
        if label.endswith(GROUP_MARK):
            raise ValueError(f"label {label!r} ends with {GROUP_MARK!r}, the mark of new nodes")
        if len(children) == 1:
            tree.leaf_labels[start] = label
        else:
            _fill_chain(tree, parse, constituent, children, numbers, order=order)
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
    constituent: int,
    children: list[int],
    numbers: list[int],
    *,
    order: int,
) -> None:
    """Writes a constituent's inner nodes and tells its children constituents their numbers.

    In preorder the chain's nodes come first, downwards, and then the subtrees of the children
    from left to right; a subtree over m tokens holds m - 1 inner nodes.
    """
    label, top = parse.labels[constituent], numbers[constituent]
    next_number = top + len(children) - 1
    references, names = [], []
    for child in children:
        if child < 0:
            references.append(child)
            names.append(parse.tags[-1 - child])
            continue
        names.append(parse.labels[child])
        width = parse.ends[child] - parse.starts[child]
        references.append(next_number if width > 1 else -1 - parse.starts[child])
        numbers[child] = next_number
        next_number += width - 1
    for depth in range(len(children) - 1):
        node, last = top + depth, len(children) - 1 - depth
        tree.left[node] = node + 1 if last > 1 else references[0]
        tree.right[node] = references[last]
        context = f"<{','.join(names[max(0, last + 1 - order) : last + 1])}>" if order else ""
        tree.labels[node] = label if depth == 0 else f"{label}{context}{GROUP_MARK}"
