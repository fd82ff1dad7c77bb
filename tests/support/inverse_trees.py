"""The way back from bracketed text and from binary trees, by which tests go there and back."""

from __future__ import annotations

from treeviews.pipeline.trees.flat_trees import ConstituencyParse
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
