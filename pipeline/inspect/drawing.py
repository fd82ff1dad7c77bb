"""Trees drawn as text, one node a line, children under their parent in the sentence's order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pipeline.trees.binarize import children_of
from pipeline.trees.parses import ConstituencyParse


def draw(root: int, label: Callable[[int], str], children: Callable[[int], Sequence[int]]) -> str:
    """Returns a tree as lines joined by line ends.

    Args:
        root: the root's number.
        label: what to write for a node.
        children: a node's children, in order.
    """
    lines = [label(root)]
    stack = _with_prefixes(children(root), "")
    while stack:
        node, own, below = stack.pop()
        lines.append(own + label(node))
        stack.extend(_with_prefixes(children(node), below))
    return "\n".join(lines)


def _with_prefixes(nodes: Sequence[int], prefix: str) -> list[tuple[int, str, str]]:
    """Returns (node, its line's prefix, the prefix below it), the first node last."""
    rows = [(node, f"{prefix}├── ", f"{prefix}│   ") for node in nodes[:-1]]
    rows += [(node, f"{prefix}└── ", f"{prefix}    ") for node in nodes[-1:]]
    return rows[::-1]


def draw_dependencies(tokens: Sequence[str], heads: Sequence[int], deprels: Sequence[str]) -> str:
    """Returns a dependency tree: each word with its position and its relation to its head."""
    dependents: list[list[int]] = [[] for _ in range(len(tokens) + 1)]
    for token, head in enumerate(heads, start=1):
        dependents[head].append(token)

    def label(token: int) -> str:
        return f"{tokens[token - 1]}  {token} {deprels[token - 1]}"

    return "\n".join(draw(root, label, dependents.__getitem__) for root in dependents[0])


def draw_constituents(tokens: Sequence[str], parse: ConstituencyParse) -> str:
    """Returns a constituency tree: labels of phrases, and tags with their words as leaves."""
    leaves = [f"{tag} {word}" for tag, word in zip(parse.tags, tokens, strict=True)]
    children = children_of(parse)
    return draw(
        0,
        lambda node: parse.labels[node] if node >= 0 else leaves[-1 - node],
        lambda node: children[node] if node >= 0 else [],
    )


def draw_binary(tokens: Sequence[str], left: Sequence[int], right: Sequence[int]) -> str:
    """Returns a binarized tree: inner nodes by their number, words as leaves."""
    if not left:
        return str(tokens[0])

    return draw(
        0,
        lambda node: f"({node})" if node >= 0 else tokens[-1 - node],
        lambda node: [left[node], right[node]] if node >= 0 else [],
    )
