"""Sentences with constituency trees from bracketed files (Penn Treebank style), cleaned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.trees.brackets import BracketNode, scan_brackets
from pipeline.trees.conllu import read_conllu, read_text
from pipeline.trees.flat import CHAIN_MARK, TOP_LABEL, flatten
from pipeline.trees.parses import ConstituencyParse

EMPTY_TAG = "-NONE-"
"""Tag of a trace or another element without a word in the text."""

TOP_LABELS = frozenset({"", "TOP", "ROOT", "S1", "VROOT"})
"""Labels that treebanks give to the node above the sentence."""


@dataclass(frozen=True, slots=True)
class BracketedSentence:
    """One annotated sentence of n tokens."""

    tokens: list[str]
    """Length n; plain text, so ``(`` where the file has ``-LRB-``."""
    parse: ConstituencyParse
    """The cleaned tree with its gold tags."""
    document_id: str
    """From the ``documents`` file; empty without one."""
    line: int
    """1-based line of the file where the tree opens."""


def read_bracketed(
    path: Path,
    *,
    documents: Path | None = None,
    exclude_document_prefixes: Sequence[str] = (),
) -> list[BracketedSentence]:
    """Returns the sentences of one bracketed file in order, each tree on one line or on many.

    Cleaned as is usual in constituency parsing: function tags and indices go (``NP-SBJ-1`` is
    ``NP``), empty elements go with the phrases they leave empty, and the node above the sentence
    goes unless it alone holds the sentence together, when it is called ``TOP``.

    Args:
        path: a UTF-8 file.
        documents: a CoNLL-U file with the same sentences in the same order, which tells the
            sentences' documents by its ``# newdoc id`` comments.
        exclude_document_prefixes: leaves out documents whose id begins with one of these.

    Raises:
        ValueError: a file is missing, not UTF-8 or malformed, holds no tree, or the two files
            differ in their sentences; names file and line.
    """
    if exclude_document_prefixes and documents is None:
        raise ValueError(f"{path}: documents can be excluded only where a documents file is given")
    lines = read_text(path, "a file of bracketed trees").split("\n")
    roots = scan_brackets(lines, source=str(path))
    sentences = [sentence for root in roots if (sentence := _clean(root, path)) is not None]
    if not sentences:
        raise ValueError(f"{path}: no tree in the file; name a file of bracketed trees")
    if documents is not None:
        sentences = _with_documents(sentences, path, documents)
    excluded = tuple(exclude_document_prefixes)
    return [s for s in sentences if not (excluded and s.document_id.startswith(excluded))]


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
    tokens, parse = flatten(root)
    return BracketedSentence(tokens=tokens, parse=parse, document_id="", line=root.line)


def strip_function_tags(label: str) -> str:
    """Returns ``NP`` for ``NP-SBJ-1`` and ``NP=2``; a label such as ``-LRB-`` stays whole."""
    if label.startswith("-"):
        return label
    return label.split("-", 1)[0].split("=", 1)[0]


def _with_documents(
    sentences: list[BracketedSentence], path: Path, documents: Path
) -> list[BracketedSentence]:
    described = read_conllu(documents)
    if len(described) != len(sentences):
        raise ValueError(
            f"{documents}: {len(described)} sentences, but {path} has {len(sentences)}; the two "
            f"files must hold the same sentences in the same order"
        )
    matched: list[BracketedSentence] = []
    for sentence, description in zip(sentences, described, strict=True):
        if len(sentence.tokens) != len(description.tokens):
            raise ValueError(
                f"{path}, line {sentence.line}: {len(sentence.tokens)} tokens, but sentence "
                f"{len(matched) + 1} of {documents} has {len(description.tokens)}; the two files "
                f"must hold the same sentences in the same order"
            )
        matched.append(replace(sentence, document_id=description.document_id))
    return matched
