"""What every text goes through before it is cut: it is cleaned, whoever reads it."""

from __future__ import annotations

import re

CLEANING_VERSION = 2
"""Raised whenever the same text would be cleaned otherwise; part of every digest."""

UNPRINTABLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff"
    "\ufff9-\ufffb\ufffd\U000e0000-\U000e007f\ud800-\udfff]"
)
"""What is not for print: control characters but for white space, marks and embeddings of direction,
line and paragraph separators, word joiners, byte order marks, interlinear annotation, tags, lone
surrogates, which no UTF-8 file can hold, and U+FFFD, which another program put where it could not
read a character. Joiners stay: emoji need them."""
WITHIN_WORDS = re.compile("[\u00ad\u200b]")
"""Soft hyphens and zero-width spaces: where a word may be broken, so a space would cut it."""
_KEPT = re.compile(rf"(?!{UNPRINTABLE.pattern}|{WITHIN_WORDS.pattern})\S")
"""A character that cleaning leaves as it is and that is no white space."""


def clean_text(text: str) -> tuple[str, int]:
    """Returns the text on one line with single spaces, and how many characters were repaired.

    White space of any kind becomes one space. So does a character that is not for print; a soft
    hyphen or zero-width space is dropped; both count as repairs.
    """
    if text.isprintable() and text == text.strip() and "  " not in text and "\ufffd" not in text:
        return text, 0  # most sentences, and quick to see: no white space is printable but spaces
    joined, dropped = WITHIN_WORDS.subn("", text)
    repaired, replaced = UNPRINTABLE.subn(" ", joined)
    return " ".join(repaired.split()), dropped + replaced


def kept_positions(text: str) -> list[int]:
    """Returns where those characters of the cleaned text that are no spaces stand in a text."""
    return [found.start() for found in _KEPT.finditer(text)]


def separates(gap: str) -> bool:
    """Says whether what stands between two tokens is a space, or its like, to whoever cleans it."""
    return bool(WITHIN_WORDS.sub("", gap))
