"""Seeded choices that depend on a thing's own name alone, not on what stands beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def stable_number(*parts: object) -> int:
    """Returns a 64-bit number drawn from the sha256 of the parts' text, the same everywhere."""
    joined = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(joined.encode()).digest()[:8], "big")


def text_key(tokens: Sequence[str]) -> str:
    """Returns what makes two sentences the same text: their words, whatever their case."""
    return " ".join(tokens).lower()
