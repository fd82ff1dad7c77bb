"""What stands right below the top of a constituency tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class ConstituencyTree(Protocol):
    """Half-open spans in preorder with unary chains joined by ``+``, and a tag a word."""

    @property
    def starts(self) -> tuple[int, ...]:
        """First token of each span."""
        ...

    @property
    def ends(self) -> tuple[int, ...]:
        """One past the last token of each span."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of each span's unary chain."""
        ...

    @property
    def tags(self) -> tuple[str, ...]:
        """Part of speech of each word."""
        ...


@dataclass(frozen=True, slots=True)
class Constituent:
    """A constituent, or a word that hangs from its parent directly."""

    label: str
    """Highest label of the constituent's unary chain; a word's part-of-speech tag."""
    start: int
    end: int
    """One past its last token."""


def below_top_clause(tree: ConstituencyTree) -> list[Constituent] | None:
    """Returns what stands right below the top S, in order; None where the top is no S."""
    top, *chain = tree.labels[0].split("+")
    if top != "S":
        return None
    if chain:
        return [Constituent(chain[0], 0, len(tree.tags))]
    found: list[Constituent] = []
    position = 0
    for start, end, label in zip(tree.starts[1:], tree.ends[1:], tree.labels[1:], strict=True):
        if start < position:
            continue
        found += _words(tree, position, start)
        found.append(Constituent(label.split("+")[0], start, end))
        position = end
    return [*found, *_words(tree, position, len(tree.tags))]


def _words(tree: ConstituencyTree, start: int, end: int) -> list[Constituent]:
    return [Constituent(tree.tags[i], i, i + 1) for i in range(start, end)]
