"""Trees in flat form: what makes one valid, and to and from bracketed text.

A constituency tree over n tokens is a ``ConstituencyParse``: k spans in preorder, unary chains
collapsed into one span whose labels are joined by ``+``. A token that no span of its own covers
hangs directly under the smallest span around it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.trees.brackets import BracketNode, escape_word, scan_brackets, unescape_word
from pipeline.trees.parses import ConstituencyParse

CHAIN_MARK = "+"
"""Joins the labels of a collapsed unary chain, outermost first."""

TOP_LABEL = "TOP"
"""Label of a sentence's span where no phrase covers the whole sentence."""


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


def to_brackets(tokens: Sequence[str], parse: ConstituencyParse) -> str:
    """Returns the tree as one bracketed line, unary chains expanded.

    Args:
        tokens: length n; brackets in them are written ``-LRB-`` and so on.
        parse: a valid tree over them.
    """
    pieces: list[str] = []
    open_ends: list[tuple[int, int]] = []  # (end, brackets to close there)
    constituent = 0
    for position, (token, tag) in enumerate(zip(tokens, parse.tags, strict=True)):
        while constituent < len(parse.starts) and parse.starts[constituent] == position:
            chain = parse.labels[constituent].split(CHAIN_MARK)
            pieces.extend(f"({label}" for label in chain)
            open_ends.append((parse.ends[constituent], len(chain)))
            constituent += 1
        leaf = f"({escape_word(tag)} {escape_word(token)})"
        while open_ends and open_ends[-1][0] == position + 1:
            leaf += ")" * open_ends.pop()[1]
        pieces.append(leaf)
    return " ".join(pieces)


def from_brackets(text: str) -> tuple[list[str], ConstituencyParse]:
    """Returns tokens and tree of one bracketed tree, kept as written but for escaped brackets.

    Raises:
        ValueError: the text is not exactly one well-formed tree.
    """
    nodes = list(scan_brackets(text.splitlines()))
    if len(nodes) != 1:
        raise ValueError(f"{len(nodes)} trees where exactly one is needed")
    return flatten(nodes[0])


def flatten(root: BracketNode) -> tuple[list[str], ConstituencyParse]:
    """Returns a node's words and its tree in flat form; a lone word gets ``TOP`` above it."""
    tokens: list[str] = []
    parse = ConstituencyParse(starts=[], ends=[], labels=[], tags=[])
    if root.word is not None:
        root = BracketNode(label=TOP_LABEL, line=root.line, children=[root])
    # Holds nodes to open and, as plain numbers, constituents to close.
    stack: list[BracketNode | int] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, int):
            parse.ends[item] = len(tokens)
        elif item.word is not None:
            tokens.append(unescape_word(item.word))
            parse.tags.append(item.label)
        else:
            chain = [item.label or TOP_LABEL]
            while len(item.children) == 1 and item.children[0].word is None:
                item = item.children[0]
                chain.append(item.label or TOP_LABEL)
            stack.append(len(parse.starts))
            stack.extend(reversed(item.children))
            parse.starts.append(len(tokens))
            parse.ends.append(-1)
            parse.labels.append(CHAIN_MARK.join(chain))
    return tokens, parse
