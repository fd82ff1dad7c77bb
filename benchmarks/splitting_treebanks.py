"""The raw text of treebanks, and how well sentences and tokens of it are found.

A document's sentences stand one after another with a space between two tokens but where
``SpaceAfter=No`` says that there is none; ``# newpar`` begins a paragraph. Counted as in the shared
task of CoNLL 2018: a sentence or token is right if it begins and ends at the same characters,
white space left aside. A word of several syntactic words (``don't``) is cut as these are, if they
make it up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from treeviews.pipeline.text.tokenization import kept_positions
from treeviews.pipeline.trees.treebanks import NUM_COLUMNS, read_text

_ID, _FORM, _MISC = 0, 1, 9
Span = tuple[int, int]


@dataclass(slots=True)
class GoldParagraph:
    """A paragraph's text with its annotated sentences and tokens, as spans of characters."""

    text: str = ""
    sentences: list[Span] = field(default_factory=list)
    tokens: list[Span] = field(default_factory=list)

    def add(self, rows: Sequence[Sequence[str]]) -> None:
        """Adds a sentence.

        Args:
            rows: the columns of its lines.
        """
        start, behind = len(self.text), 0
        words = {row[_ID]: row[_FORM] for row in rows}
        for row in rows:
            first, _, last = row[_ID].partition("-")
            if "." in first or int(first) <= behind:
                continue  # an empty node, or a part of the word before
            parts = [row[_FORM]]
            if last:
                behind = int(last)
                syntactic = [words[str(number)] for number in range(int(first), behind + 1)]
                parts = syntactic if "".join(syntactic) == row[_FORM] else parts
            for part in parts:
                self.tokens.append((len(self.text), len(self.text) + len(part)))
                self.text += part
            if "SpaceAfter=No" not in row[_MISC].split("|"):
                self.text += " "
        self.sentences.append((start, len(self.text.rstrip())))


def read_paragraphs(path: Path) -> list[GoldParagraph]:
    """Returns the paragraphs of a CoNLL-U file in order.

    Raises:
        ValueError: the file is missing, not UTF-8 or malformed; names file and line.
    """
    paragraphs: list[GoldParagraph] = []
    rows: list[list[str]] = []
    begins = True
    lines = read_text(path, "a CoNLL-U file").replace("\r\n", "\n").split("\n")
    for number, line in enumerate([*lines, ""], start=1):
        if line.startswith("#"):
            begins |= line[1:].split("=")[0].split()[:1] in (["newdoc"], ["newpar"])
        elif line.strip():
            rows.append(line.split("\t"))
            if len(rows[-1]) != NUM_COLUMNS:
                raise ValueError(f"{path}, line {number}: not the {NUM_COLUMNS} columns of CoNLL-U")
        elif rows:
            if begins or not paragraphs:
                paragraphs.append(GoldParagraph())
            paragraphs[-1].add(rows)
            rows, begins = [], False
    if not paragraphs:
        raise ValueError(f"{path}: no sentence; name a CoNLL-U file that has some")
    return paragraphs


@dataclass(slots=True)
class Agreement:
    """How many spans were found, how many are annotated, and how many are both."""

    right: int = 0
    found: int = 0
    gold: int = 0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in percent."""
        return 200 * self.right / max(1, self.found + self.gold)

    def add(self, paragraph: GoldParagraph, gold: Iterable[Span], parts: Iterable[str]) -> None:
        """Adds a paragraph's spans.

        Args:
            gold: its annotated spans.
            parts: the strings that were found in it, in order; if their characters are others
                than the paragraph's, none counts as right.
        """
        places = kept_positions(paragraph.text)
        annotated = {(bisect_left(places, a), bisect_left(places, b)) for a, b in gold}
        spans: set[Span] = set()
        end = 0
        for part in parts:
            length = len(kept_positions(part))
            if length:
                spans.add((end, end + length))
            end += length
        self.found += len(spans)
        self.gold += len(annotated)
        if end == len(places):
            self.right += len(spans & annotated)
