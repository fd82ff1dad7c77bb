"""Why a piece of text or a sentence was not taken, whatever stage refused it."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from treeviews.pipeline.base.foreign_text import told, without_secrets

EXCERPT_CHARACTERS = 200
MAX_NAMED = 20
"""Refused sentences that a message names; the rest are counted."""
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 3
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = EXCERPT_CHARACTERS


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a stage could not take something; it stands in the place of what would have been.

    In the place of a paragraph of a source rather than in a counter: so it is counted in the shard
    it belongs to, and once only, however often the run is killed and resumed. In the place of a
    parse, so that rows stay aligned.
    """

    reason: str
    """A stable snake_case key that manifests count by, such as ``too_long`` or ``binary_file``."""
    detail: str = ""
    """What was found and what to do about it, or the error's own words; for the quarantine file."""
    position: str = ""
    """Of text that a source refused, as ``file`` or ``file:line``."""
    excerpt: str = ""
    """Of the same, its beginning."""

    def record(self, **place: Any) -> dict[str, Any]:
        """Returns a line of a quarantine file: where it stood, why it was refused, an excerpt."""
        detail = without_secrets(self.detail)
        said = {"reason": self.reason, "detail": detail, "excerpt": self.excerpt}
        return place | said


@dataclass(frozen=True, slots=True)
class RefusedSentence:
    """One of the sentences that an encoder was asked for and could not take."""

    index: int
    """Position among the sentences, from 0."""
    reason: str
    """As in quarantine files: ``empty``, ``too_long``, ``parser_error``, ``invalid_tree``."""
    detail: str

    def __str__(self) -> str:
        detail = f" ({told(self.detail)})" if self.detail else ""
        return f"sentence {self.index} (from 0): {self.reason}{detail}"


def excerpt_of(text: str | Sequence[str]) -> str:
    """Returns the beginning of a text, or of a sentence's tokens, short enough for a report."""
    whole = text if isinstance(text, str) else " ".join(text[:EXCERPT_CHARACTERS])
    return whole[:EXCERPT_CHARACTERS]


def shortened(value: Any) -> str:
    """Returns a value that somebody else gave as a message may show it: on one line and short."""
    return _SHORT.repr(value)[:EXCERPT_CHARACTERS]


def named(refused: Sequence[object]) -> str:
    """Returns the first refused sentences in words, and how many more there are."""
    told_of = [str(one) for one in refused[:MAX_NAMED]]
    if len(refused) > MAX_NAMED:
        told_of.append(f"and {len(refused) - MAX_NAMED} more")
    return "; ".join(told_of)
