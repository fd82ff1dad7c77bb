"""What a rule is given, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Place(NamedTuple):
    """A token of a paragraph whose sentences are found up to there."""

    words: Sequence[str]
    spaces: Sequence[bool]
    start: int
    """First token of the sentence that is not ended yet."""
    position: int


class Found(NamedTuple):
    """What a rule makes of a token."""

    ends: tuple[int, ...]
    """Sentences end before these tokens, in order."""
    going_on: int
    """First token that is to be looked at then."""


Rule = Callable[[Place], Found]
