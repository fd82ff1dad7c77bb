"""Sentences with dependency trees from CoNLL-U files (universaldependencies.org/format.html)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.trees.flat import validate_heads

NUM_COLUMNS = 10
_ID, _FORM, _XPOS, _HEAD, _DEPREL = 0, 1, 4, 6, 7


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


def read_conllu(
    path: Path, *, exclude_document_prefixes: Sequence[str] = ()
) -> list[TreebankSentence]:
    """Returns the sentences of one CoNLL-U file in order.

    Multiword ranges (``3-4``) and empty nodes (``5.1``) are skipped.

    Args:
        path: a UTF-8 file.
        exclude_document_prefixes: leaves out documents whose id begins with one of these.

    Raises:
        ValueError: the file is missing, not UTF-8 or malformed; names file and line.
    """
    excluded = tuple(exclude_document_prefixes)
    return [
        sentence
        for sentence in _parse_lines(_read_lines(path), path)
        if not (excluded and sentence.document_id.startswith(excluded))
    ]


def read_treebank(
    paths: Iterable[Path], *, exclude_document_prefixes: Sequence[str] = ()
) -> list[TreebankSentence]:
    """Returns the sentences of several files, one file after the other.

    Raises:
        ValueError: a file is missing or malformed, or all together hold no sentence.
    """
    paths = list(paths)
    sentences = [
        sentence
        for path in paths
        for sentence in read_conllu(path, exclude_document_prefixes=exclude_document_prefixes)
    ]
    if not sentences:
        names = ", ".join(map(str, paths)) or "no file at all"
        raise ValueError(
            f"no sentence in {names}: name CoNLL-U files with at least one document that "
            f"exclude_document_prefixes={list(exclude_document_prefixes)} leaves"
        )
    return sentences


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


def _read_lines(path: Path) -> list[str]:
    text = read_text(path, "a CoNLL-U file")
    # Not str.splitlines: a token may hold U+2028 or another exotic line separator.
    return text.replace("\r\n", "\n").split("\n")


def _parse_lines(lines: Iterable[str], path: Path) -> Iterator[TreebankSentence]:
    document_id = ""
    rows: list[list[str]] = []
    first_line = number = 0
    for number, line in enumerate(lines, start=1):
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
    columns = line.split("\t")
    if len(columns) != NUM_COLUMNS:
        raise ValueError(
            f"{where}: {len(columns)} tab-separated columns where CoNLL-U has {NUM_COLUMNS}"
        )
    if not columns[_ID].isdecimal():
        if columns[_ID].replace("-", "").replace(".", "").isdecimal():
            return  # a multiword range or an empty node
        raise ValueError(f"{where}: ID {columns[_ID]!r} is no integer, range or decimal")
    if int(columns[_ID]) != len(rows) + 1:
        raise ValueError(f"{where}: ID {columns[_ID]} where {len(rows) + 1} was due")
    if not columns[_FORM]:
        raise ValueError(f"{where}: empty FORM")
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
