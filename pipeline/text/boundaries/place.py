"""What a rule is given, and what it says."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple


class WhereWord:
    """Where a word stands in a paragraph, which is looked through once, if anybody asks."""

    def __init__(self, word: str, words: Sequence[str]) -> None:
        self._word, self._words = word, words

    @cached_property
    def _positions(self) -> list[int]:
        return [position for position, word in enumerate(self._words) if word == self._word]

    def stands_in(self, start: int, end: int) -> bool:
        """Says whether it stands in ``words[start:end]``."""
        return bisect_left(self._positions, start) < bisect_left(self._positions, end)


class Place(NamedTuple):
    """A token of a paragraph whose sentences are found up to there."""

    words: Sequence[str]
    spaces: Sequence[bool]
    start: int
    """First token of the sentence that is not ended yet."""
    position: int
    small_i: WhereWord
    """The word that texts without capitals write small."""


class Found(NamedTuple):
    """What a rule makes of a token."""

    ends: tuple[int, ...]
    """Sentences end before these tokens, in order."""
    going_on: int
    """First token that is to be looked at then."""


Rule = Callable[[Place], Found]
