"""The two kinds of parse of one sentence, as flat lists."""

from __future__ import annotations

from dataclasses import dataclass


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


Parse = DependencyParse | ConstituencyParse
