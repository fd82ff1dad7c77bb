"""A constituency tree over the words of a sentence, drawn as SVG, as parsed and binarized.

All words stand on one line, in the width that they need; a node stands above the middle of its
children, one level above the highest of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from pipeline.inspect.drawing.svg import FONT_SIZE, drawing, text_at, text_width
from pipeline.trees.binarize import GROUP_MARK, binarize, children_of
from pipeline.trees.flat import CHAIN_MARK
from pipeline.trees.parses import ConstituencyParse

GAP = 12.0
LEVEL = 38.0
BRANCH = 7.0
"""From a node down to the bar over its children."""
MARGIN = 12.0
LEAST_COLUMN = 30.0


@dataclass(slots=True)
class Node:
    """A node to be drawn; children stand behind it in the list of all nodes."""

    label: str
    kind: str = "label"
    children: list[int] = field(default_factory=list)
    """Numbers of nodes, or -1 - t for token t."""


def constituents_svg(
    tokens: Sequence[str],
    parse: ConstituencyParse,
    *,
    marked: Collection[tuple[int, int]] = (),
) -> str:
    """Returns the drawing of a valid tree, tags above words, unary chains as several nodes.

    Args:
        tokens: length n.
        parse: of these tokens.
        marked: token ranges whose labels are drawn as those to be looked at.
    """
    nodes: list[Node] = []
    numbers: list[int] = []
    """Of each constituent, its outermost node."""
    inner: list[int] = []
    """Of each constituent, the node that has its children."""
    for start, end, chain in zip(parse.starts, parse.ends, parse.labels, strict=True):
        kind = "label marked" if (start, end) in marked else "label"
        numbers.append(len(nodes))
        for label in chain.split(CHAIN_MARK):
            if len(nodes) > numbers[-1]:
                nodes[-1].children.append(len(nodes))
            nodes.append(Node(label, kind))
        inner.append(len(nodes) - 1)
    for constituent, children in enumerate(children_of(parse)):
        nodes[inner[constituent]].children += [numbers[c] if c >= 0 else c for c in children]
    return tree_svg(nodes, tokens, parse.tags, "constituency tree")


def binary_svg(
    tokens: Sequence[str],
    left: Sequence[int],
    right: Sequence[int],
    parse: ConstituencyParse | None = None,
) -> str:
    """Returns the drawing of a binary tree as the shards have it.

    Args:
        tokens: length n.
        left: length n - 1; children as `pipeline.trees.binarize.BinaryTree` has them.
        right: length n - 1.
        parse: the tree that was binarized; gives the nodes their labels if it does give this
            binary tree. Else they bear their numbers.
    """
    labels = [f"({number})" for number in range(len(left))]
    if parse is not None:
        tree = binarize(parse)
        if (tree.left, tree.right) == (list(left), list(right)):
            labels = tree.labels
    nodes = [
        Node(label, "label made" if label.endswith(GROUP_MARK) else "label", [one, other])
        for label, one, other in zip(labels, left, right, strict=True)
    ]
    return tree_svg(nodes, tokens, None, "binarized constituency tree")


def tree_svg(
    nodes: Sequence[Node], tokens: Sequence[str], tags: Sequence[str] | None, description: str
) -> str:
    """Returns the drawing of a tree.

    Args:
        nodes: parents before their children, the root first.
        tokens: length n; the leaves.
        tags: length n; stand above the words. None for none.
        description: for whoever has it read aloud.
    """
    middles, width = _columns(nodes, tokens, tags)
    places: list[tuple[float, float]] = [(0.0, 0.0)] * len(nodes)
    heights = [0] * len(nodes)
    for number in range(len(nodes) - 1, -1, -1):
        children = nodes[number].children
        heights[number] = 1 + max(heights[child] if child >= 0 else 0 for child in children)
        ends = [places[c][0] if c >= 0 else middles[-1 - c] for c in (children[0], children[-1])]
        places[number] = (sum(ends) / 2, 0.0)
    bottom = MARGIN + FONT_SIZE + LEVEL * (heights[0] if nodes else 0)
    places = [(x, bottom - LEVEL * h) for (x, _), h in zip(places, heights, strict=True)]
    lines, texts = [], []
    for node, (x, y) in zip(nodes, places, strict=True):
        texts.append(text_at(x, y, node.label, node.kind))
        below = [places[c] if c >= 0 else (middles[-1 - c], bottom) for c in node.children]
        lines.append(_branches(x, y, below))
    parts = [f'<path class="edge" d="{"".join(lines)}"/>'] if lines else []
    word_line = bottom
    if tags is not None:
        parts += [text_at(x, bottom, tag, "tag") for x, tag in zip(middles, tags, strict=True)]
        word_line += FONT_SIZE + 5
    parts += texts
    parts += [text_at(x, word_line, t, "word") for x, t in zip(middles, tokens, strict=True)]
    return drawing(width, word_line + MARGIN, parts, description)


def _branches(x: float, y: float, below: Sequence[tuple[float, float]]) -> str:
    """Returns the lines from a node to those below it: a bar, and a line down to each.

    A bar lies above all that stands under it, so no two lines of a tree cross.
    """
    bar = y + 5 + BRANCH
    drops = "".join(f"M{cx:.1f} {bar:.1f}V{cy - FONT_SIZE:.1f}" for cx, cy in below)
    return f"M{x:.1f} {y + 5:.1f}V{bar:.1f}M{below[0][0]:.1f} {bar:.1f}H{below[-1][0]:.1f}{drops}"


def _columns(
    nodes: Sequence[Node], tokens: Sequence[str], tags: Sequence[str] | None
) -> tuple[list[float], float]:
    """Returns the middle of each word, and the width of all.

    A word's column is as wide as the word, its tag, and the labels that stand above it alone.
    """
    widths = [max(text_width(token), LEAST_COLUMN) for token in tokens]
    for place, tag in enumerate(tags or ()):
        widths[place] = max(widths[place], text_width(tag))
    alone: dict[int, int] = {}
    for number in range(len(nodes) - 1, -1, -1):
        children = nodes[number].children
        if len(children) == 1:
            below = children[0]
            token = -1 - below if below < 0 else alone.get(below)
            if token is not None:
                alone[number] = token
                widths[token] = max(widths[token], text_width(nodes[number].label))
    middles, at = [], MARGIN
    for width in widths:
        middles.append(at + width / 2)
        at += width + GAP
    return middles, at - GAP + MARGIN
