"""What every parser adapter offers: sentences in, parses or reasoned rejections out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

Sentence = Sequence[str]

MAX_TOKENS = 510
"""Longer sentences are rejected: benepar has 512 positions, two of them for the sentence marks, and
both parses must be of the same sentences."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a parser could not take one sentence; its row is kept, with nulls."""

    reason: str
    """A stable snake_case key that manifests count by, such as ``too_long``."""
    detail: str = ""
    """The error's own words, for the quarantine file."""


@dataclass(frozen=True, slots=True)
class DependencyParse:
    """A dependency tree over n tokens."""

    heads: list[int]
    """Length n; 1-based head of each token, 0 for the single root."""
    deprels: list[str]
    """Length n; relation of each token to its head."""


@dataclass(frozen=True, slots=True)
class ConstituencyParse:
    """A constituency tree over n tokens: k constituents in preorder, unary chains collapsed."""

    starts: list[int]
    """Length k; first token of each constituent."""
    ends: list[int]
    """Length k; one past the last token (half-open)."""
    labels: list[str]
    """Length k; a collapsed unary chain's labels joined by ``+``, outermost first."""
    tags: list[str]
    """Length n; part-of-speech tag of each token."""


def reject_input(sentence: Sentence | None, max_tokens: int) -> Rejection | None:
    """Returns why no parser is given this sentence, or None if it is; ``None`` counts as empty.

    Reasons: ``empty``, ``too_long``, ``empty_token``.
    """
    if sentence is None or len(sentence) == 0:
        return Rejection("empty")
    if len(sentence) > max_tokens:
        return Rejection("too_long", f"{len(sentence)} tokens, limit {max_tokens}")
    for position, token in enumerate(sentence, start=1):
        if token is None or token == "":
            return Rejection("empty_token", f"token {position} of {len(sentence)}")
    return None


ParseT_co = TypeVar("ParseT_co", covariant=True)


class SentenceParser(Protocol[ParseT_co]):
    """A loaded parser. Deterministic: the answer for a sentence does not depend on its batch."""

    name: str
    """Readable name, used in paths: ``bundled`` or the checkpoint's file name."""
    checksum: str
    """sha256 over everything that determines its answers (weights and configuration)."""

    def parse(self, sentences: Sequence[Sentence]) -> Sequence[ParseT_co | Rejection]:
        """Returns one parse or rejection per sentence, in input order; never raises for input.

        Raises:
            MemoryError, RuntimeError: memory or a device failed, which is no sentence's fault.
        """
        ...
