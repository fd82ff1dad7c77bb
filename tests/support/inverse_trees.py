"""The way back from bracketed text and from binary trees, by which tests go there and back."""

from __future__ import annotations

from treeviews.pipeline.trees.flat_trees import GROUP_MARK, BinaryTree, ConstituencyParse
from treeviews.pipeline.trees.treebanks import flatten, scan_brackets


def from_brackets(text: str) -> tuple[list[str], ConstituencyParse]:
    """Returns tokens and tree of one bracketed tree, kept as written but for escaped brackets.

    Raises:
        ValueError: the text is not exactly one well-formed tree.
    """
    nodes = list(scan_brackets(text.splitlines()))
    if len(nodes) != 1:
        raise ValueError(f"{len(nodes)} trees where exactly one is needed")
    return flatten(nodes[0])


def unbinarize(tree: BinaryTree) -> ConstituencyParse:
    """Returns the constituency tree whose binarization, of whatever order, ``tree`` is."""
    widths = [0] * len(tree.left)
    for node in reversed(range(len(widths))):  # children have higher numbers than their parent
        widths[node] = sum(
            widths[child] if child >= 0 else 1 for child in (tree.left[node], tree.right[node])
        )
    parse = ConstituencyParse(starts=[], ends=[], labels=[], tags=list(tree.tags))
    stack = [(0 if widths else -1, 0)]  # (child, its first token)
    while stack:
        child, start = stack.pop()
        label = tree.labels[child] if child >= 0 else tree.leaf_labels[start]
        if label and not label.endswith(GROUP_MARK):
            parse.starts.append(start)
            parse.ends.append(start + (widths[child] if child >= 0 else 1))
            parse.labels.append(label)
        if child >= 0:
            left = tree.left[child]
            stack.append((tree.right[child], start + (widths[left] if left >= 0 else 1)))
            stack.append((left, start))
    return parse
