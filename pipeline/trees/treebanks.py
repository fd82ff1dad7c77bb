"""Sentences with their trees from the files of treebanks.

Dependencies from CoNLL-U (universaldependencies.org/format.html), constituents from bracketed files
(Penn Treebank style), cleaned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treeviews.pipeline.trees.flat_trees import (
    CHAIN_MARK,
    TOP_LABEL,
    ConstituencyParse,
    DependencyParse,
    validate_heads,
)

NUM_COLUMNS = 10
_ID, _FORM, _XPOS, _HEAD, _DEPREL = 0, 1, 4, 6, 7

EMPTY_TAG = "-NONE-"
"""Tag of a trace or another element without a word in the text."""
TOP_LABELS = frozenset({"", "TOP", "ROOT", "S1", "VROOT"})
"""Labels that treebanks give to the node above the sentence."""


ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
"""How the Penn Treebank writes a bracket inside a word."""
_PIECE = re.compile(r"[()]|[^\s()]+")
_ESCAPED = re.compile("|".join(map(re.escape, ESCAPES.values())))
_UNESCAPES = {escape: bracket for bracket, escape in ESCAPES.items()}


@dataclass(frozen=True, slots=True)
class TreebankSentence:
    """One annotated sentence of n tokens."""

    document_id: str
    """From the last ``# newdoc id`` comment; empty before the first one."""
    tokens: list[str]
    """Length n; syntactic words, so ``don't`` is the two tokens ``do`` and ``n't``."""
    heads: list[int]
    """Length n; 1-based head of each token, 0 for the single root."""
    deprels: list[str]
    """Length n; relations with their subtypes, as in the file (``nsubj:pass``)."""
    xpos: list[str] = field(default_factory=list, compare=False)
    """Length n; the treebank's own part-of-speech tags. Empty where a sentence was made by hand."""

    @property
    def parse(self) -> DependencyParse:
        """The tree alone."""
        return DependencyParse(self.heads, self.deprels)


def read_trees(stage: str, paths: Sequence[Path], excluded: Sequence[str]) -> list[Any]:
    """Returns the sentences of files of dependencies, or else of bracketed trees.

    Args:
        excluded: see `read_treebank`.

    Raises:
        ValueError: as `read_treebank` and `read_bracketed`, or bracketed trees name no documents.
    """
    if stage == "dependencies":
        return read_treebank(paths, exclude_document_prefixes=excluded)
    if excluded:
        raise ValueError(
            f"{paths[0]}: bracketed trees name no documents that --exclude could leave out; take "
            "the trees out of the files instead"
        )
    return [sentence for path in paths for sentence in read_bracketed(path)]


def read_treebank(
    paths: Iterable[Path], *, exclude_document_prefixes: Sequence[str] = ()
) -> list[TreebankSentence]:
    """Returns the sentences of CoNLL-U files in order, one file after the other.

    Multiword ranges (``3-4``) and empty nodes (``5.1``) are skipped.

    Args:
        paths: UTF-8 files.
        exclude_document_prefixes: leaves out documents whose id begins with one of these.

    Raises:
        ValueError: a file is missing, not UTF-8 or malformed, which names file and line, or all
            together hold no sentence.
    """
    paths, excluded = list(paths), tuple(exclude_document_prefixes)
    sentences = [
        sentence
        for path in paths
        for sentence in _parse_lines(read_text(path, "a CoNLL-U file"), path)
        if not sentence.document_id.startswith(excluded)
    ]
    if not sentences:
        raise ValueError(no_sentence_in(paths, excluded))
    return sentences


def no_sentence_in(paths: Iterable[Path], excluded: Sequence[str]) -> str:
    """Returns the words that tell that a treebank's files are empty, or what is left of them."""
    names = ", ".join(map(str, paths)) or "no file at all"
    left = f" but those that are left out ({', '.join(excluded)})" if excluded else ""
    return f"no sentence in {names}{left}: name files that have some"


def read_text(path: Path, what: str) -> str:
    """Returns the text of a treebank's file.

    Raises:
        ValueError: the file is missing or not UTF-8; names what file is wanted.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise ValueError(f"{path}: no such file; name {what}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 (byte {error.start}); convert it first") from error


def _parse_lines(text: str, path: Path) -> Iterator[TreebankSentence]:
    document_id = ""
    rows: list[list[str]] = []
    first_line = number = 0
    # Not str.splitlines: a token may hold U+2028 or another exotic line separator.
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            if key.strip() == "newdoc id":
                document_id = value.strip()
        elif line.strip():
            first_line = first_line or number
            _append_row(rows, line, f"{path}, line {number}")
        elif first_line:
            yield _sentence(document_id, rows, f"{path}, line {first_line}")
            rows, first_line = [], 0
    if first_line:
        yield _sentence(document_id, rows, f"{path}, line {first_line}")


def _append_row(rows: list[list[str]], line: str, where: str) -> None:
    columns, number = line.split("\t"), len(rows) + 1
    if len(columns) == NUM_COLUMNS and re.fullmatch(r"\d+[-.]\d+", columns[_ID]):
        return  # a multiword range or an empty node
    if len(columns) != NUM_COLUMNS or columns[_ID] != str(number) or not columns[_FORM]:
        raise ValueError(
            f"{where}: not the {NUM_COLUMNS} tab-separated columns of CoNLL-U with ID {number} and "
            f"a FORM"
        )
    if not columns[_HEAD].isdecimal():
        raise ValueError(f"{where}: HEAD {columns[_HEAD]!r} is no integer; the file needs trees")
    rows.append(columns)


def _sentence(document_id: str, rows: list[list[str]], where: str) -> TreebankSentence:
    if not rows:
        raise ValueError(f"{where}: a sentence without a token")
    heads = [int(columns[_HEAD]) for columns in rows]
    fault = validate_heads(heads)
    if fault is not None:
        raise ValueError(f"{where}: no tree: {fault}; mend the sentence or leave it out")
    return TreebankSentence(
        document_id=document_id,
        tokens=[columns[_FORM] for columns in rows],
        heads=heads,
        deprels=[columns[_DEPREL] for columns in rows],
        xpos=[columns[_XPOS] for columns in rows],
    )


@dataclass(frozen=True, slots=True)
class BracketedSentence:
    """One annotated sentence of n tokens."""

    tokens: list[str]
    """Length n; plain text, so ``(`` where the file has ``-LRB-``."""
    parse: ConstituencyParse
    """The cleaned tree with its gold tags."""
    document_id: str = ""
    """Empty: files of trees name no documents."""


def read_bracketed(path: Path) -> list[BracketedSentence]:
    """Returns the sentences of one bracketed file in order, each tree on one line or on many.

    Cleaned as is usual in constituency parsing: function tags and indices go (``NP-SBJ-1`` is
    ``NP``), empty elements go with the phrases they leave empty, and the node above the sentence
    goes unless it alone holds the sentence together, when it is called ``TOP``.

    Args:
        path: a UTF-8 file.

    Raises:
        ValueError: the file is missing, not UTF-8 or malformed, or holds no tree; names file and
            line.
    """
    lines = read_text(path, "a file of bracketed trees").split("\n")
    roots = scan_brackets(lines, source=str(path))
    sentences = [sentence for root in roots if (sentence := _clean(root, path)) is not None]
    if not sentences:
        raise ValueError(f"{path}: no tree in the file; name a file of bracketed trees")
    return sentences


def _clean(root: BracketNode, path: Path) -> BracketedSentence | None:
    """Returns the cleaned sentence, or None where the tree holds no word at all."""
    for node in root.postorder():
        node.children = [
            child
            for child in node.children
            if child.children or (child.word is not None and child.label != EMPTY_TAG)
        ]
        if node.word is None:
            node.label = strip_function_tags(node.label)
            if CHAIN_MARK in node.label:
                raise ValueError(
                    f"{path}, line {node.line}: label {node.label!r} holds {CHAIN_MARK!r}, which "
                    f"joins the labels of unary chains; rename it in the file"
                )
    if not root.children and (root.word is None or root.label == EMPTY_TAG):
        return None
    if root.word is None and root.label in TOP_LABELS:
        root.label = TOP_LABEL
        if len(root.children) == 1 and root.children[0].word is None:
            root = root.children[0]
    return BracketedSentence(*flatten(root))


def strip_function_tags(label: str) -> str:
    """Returns ``NP`` for ``NP-SBJ-1`` and ``NP=2``; a label such as ``-LRB-`` stays whole."""
    if label.startswith("-"):
        return label
    return label.split("-", 1)[0].split("=", 1)[0]


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
                continue
            if not open_nodes:
                raise ValueError(f"{where}: {piece!r} stands outside any tree")
            node = open_nodes[-1]
            if piece != ")":
                if node.word is not None or node.children:
                    raise ValueError(f"{where}: word {piece!r} stands outside a node of its own")
                node.label, node.word = (node.label, piece) if node.label else (piece, None)
                continue
            if node.word is None and not node.children:
                raise ValueError(f"{where}: node {node.label!r} holds neither a word nor a phrase")
            open_nodes.pop()
            if not open_nodes:
                yield node
            elif open_nodes[-1].word is not None:
                label = open_nodes[-1].label
                raise ValueError(f"{where}: {label!r} holds both a word and a phrase")
            else:
                open_nodes[-1].children.append(node)
    if open_nodes:
        raise ValueError(
            f"{source}, line {line_number}: the text ends inside the tree that opens at line "
            f"{open_nodes[0].line}; close its brackets"
        )


def escape_word(word: str) -> str:
    """Returns a word as it may stand in a bracketed tree: ``(`` as ``-LRB-``, a space as ``␣``.

    White space inside a word, which no bracketed format can hold, is shown and not restored.
    """
    escaped = "".join(ESCAPES.get(character, character) for character in word)
    return "".join("␣" if character.isspace() else character for character in escaped)


def unescape_word(word: str) -> str:
    r"""Returns a Penn Treebank word as plain text: ``-LRB-`` as ``(``, ``\/`` as ``/``.

    Differs from benepar's ``ptb_unescape`` in that typographic quotes and dashes stay as they
    are: text to be parsed has them too. Only the ASCII double quote's two escapes are undone.
    """
    if word in ("``", "''"):
        return '"'
    word = word.replace("\\/", "/").replace("\\*", "*")
    return _ESCAPED.sub(lambda match: _UNESCAPES[match[0]], word)
