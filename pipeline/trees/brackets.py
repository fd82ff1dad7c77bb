"""Reads bracketed trees such as ``(S (NP (DT the) (NN dog)) (VP (VBZ barks)))`` from text.

Nothing here recurses, so a tree may be as deep as its sentence is long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
"""How the Penn Treebank writes a bracket inside a word."""

_PIECE = re.compile(r"[()]|[^\s()]+")
_ESCAPED = re.compile("|".join(map(re.escape, ESCAPES.values())))
_UNESCAPES = {escape: bracket for bracket, escape in ESCAPES.items()}


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
