"""Trees in flat form: what makes one valid, and to and from bracketed text.

A constituency tree over n tokens is a ``ConstituencyParse``: k spans in preorder, unary chains
collapsed into one span whose labels are joined by ``+``. A token that no span of its own covers
hangs directly under the smallest span around it. Bracketed text is such as
``(S (NP (DT the) (NN dog)) (VP (VBZ barks)))``; nothing here recurses, so a tree may be as deep as
its sentence is long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pipeline.trees.parses import ConstituencyParse

CHAIN_MARK = "+"
"""Joins the labels of a collapsed unary chain, outermost first."""

TOP_LABEL = "TOP"
"""Label of a sentence's span where no phrase covers the whole sentence."""

ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
"""How the Penn Treebank writes a bracket inside a word."""
_PIECE = re.compile(r"[()]|[^\s()]+")
_ESCAPED = re.compile("|".join(map(re.escape, ESCAPES.values())))
_UNESCAPES = {escape: bracket for bracket, escape in ESCAPES.items()}


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
        tokens: length n; brackets in them, in tags and in labels are written ``-LRB-`` and so on.
        parse: a valid tree over them.
    """
    pieces: list[str] = []
    open_ends: list[tuple[int, int]] = []  # (end, brackets to close there)
    constituent = 0
    for position, (token, tag) in enumerate(zip(tokens, parse.tags, strict=True)):
        while constituent < len(parse.starts) and parse.starts[constituent] == position:
            chain = parse.labels[constituent].split(CHAIN_MARK)
            pieces.extend(f"({escape_word(label)}" for label in chain)
            open_ends.append((parse.ends[constituent], len(chain)))
            constituent += 1
        leaf = f"({escape_word(tag)} {escape_word(token)})"
        while open_ends and open_ends[-1][0] == position + 1:
            leaf += ")" * open_ends.pop()[1]
        pieces.append(leaf)
    return " ".join(pieces)


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


@dataclass(slots=True)
class BracketNode:
    """A node as written: a phrase has children, a preterminal has a word, never both."""

    label: str
    line: int
    """1-based line where the node opens."""
    children: list[BracketNode] = field(default_factory=list)
    word: str | None = None
    """The word as written, escapes included; None for a phrase."""

    def postorder(self) -> Iterator[BracketNode]:
        """Yields every node of the subtree, children before their parent, else in no set order."""
        nodes = [self]
        for node in nodes:  # grows while it is walked, so parents come before their children
            nodes.extend(node.children)
        return reversed(nodes)


def scan_brackets(lines: Iterable[str], *, source: str = "text") -> Iterator[BracketNode]:
    """Yields the trees of a text, which may take one line or many each.

    Args:
        lines: the text; line breaks mean no more than spaces.
        source: what messages name, such as the file's path.

    Raises:
        ValueError: brackets do not match, a node has no content, or a word stands outside a
            preterminal; the message names source and line.
    """
    open_nodes: list[BracketNode] = []
    line_number = 0
    for line_number, line in enumerate(lines, start=1):
        where = f"{source}, line {line_number}"
        for piece in _PIECE.findall(line):
            if piece == "(":
                open_nodes.append(BracketNode(label="", line=line_number))
            elif not open_nodes:
                raise ValueError(f"{where}: {piece!r} stands outside any tree")
            elif piece != ")":
                _add_text(open_nodes[-1], piece, where)
            else:
                node = _closed(open_nodes, where)
                if not open_nodes:
                    yield node
    if open_nodes:
        raise ValueError(
            f"{source}, line {line_number}: the text ends inside the tree that opens at line "
            f"{open_nodes[0].line}; close its brackets"
        )


def escape_word(word: str) -> str:
    """Returns a word as it may stand in a bracketed tree: ``(`` as ``-LRB-``, a space as ``␣``.

    White space inside a word, which no bracketed format can hold, is shown and not restored.
    """
    shown = "".join(ESCAPES.get(character, character) for character in word)
    return "".join("␣" if character.isspace() else character for character in shown)


def unescape_word(word: str) -> str:
    r"""Returns a Penn Treebank word as plain text: ``-LRB-`` as ``(``, ``\/`` as ``/``.

    Differs from benepar's ``ptb_unescape`` in that typographic quotes and dashes stay as they
    are: text to be parsed has them too. Only the ASCII double quote's two escapes are undone.
    """
    if word in ("``", "''"):
        return '"'
    word = word.replace("\\/", "/").replace("\\*", "*")
    return _ESCAPED.sub(lambda match: _UNESCAPES[match[0]], word)


def _closed(open_nodes: list[BracketNode], where: str) -> BracketNode:
    """Takes the innermost open node off the stack and hangs it under its parent."""
    node = open_nodes.pop()
    if node.word is None and not node.children:
        raise ValueError(f"{where}: node {node.label!r} holds neither a word nor a phrase")
    if open_nodes:
        parent = open_nodes[-1]
        if parent.word is not None:
            raise ValueError(f"{where}: {parent.label!r} holds both a word and a phrase")
        parent.children.append(node)
    return node


def _add_text(node: BracketNode, piece: str, where: str) -> None:
    """Takes a piece of text as the node's label or, after that, its word."""
    if not node.label and not node.children:
        node.label = piece
    elif node.word is None and not node.children:
        node.word = piece
    else:
        raise ValueError(f"{where}: word {piece!r} stands outside a node of its own")
