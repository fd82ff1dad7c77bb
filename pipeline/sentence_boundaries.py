"""Where sentences end in a tokenized paragraph: rules for edited English, technical prose included.

Differs from spaCy's ``Sentencizer``: a sentence ends only before white space, so ``os.path`` and
``example.Name`` stay whole; closing quotes and brackets belong to the sentence they touch, opening
ones to the next; abbreviations, quoted marks (``'.'``) and marks inside a bracketed aside do not
end one.
"""

from __future__ import annotations

from collections.abc import Sequence

BOUNDARY_VERSION = 1
"""Raised whenever the same tokens would be split otherwise; part of every digest."""

_MARKS = frozenset({".", "!", "?", "…", "...", "....", "?!", "!?", "‽"})
_OPENERS = frozenset("\"'`“‘«([{")
_CLOSERS = frozenset({'"', "'", "''", "”", "’", "»", ")", "]", "}"})
_NEVER_FIRST = frozenset({",", ";", ":", ")", "]", "}", "”", "’"})
_BEFORE_NUMBERS = frozenset(
    {"no", "nos", "fig", "figs", "sec", "eq", "vol", "pp", "p", "ch", "art"}
)
_NEVER_LAST = frozenset({"vs", "cf", "viz", "resp", "approx", "ca", "incl", "esp", "ed", "eds"})
_SELDOM_LAST = frozenset(
    {"etc", "al", "inc", "ltd", "co", "corp", "jr", "sr", "a.k.a", "e.g", "i.e"}
)


def sentence_ranges(words: Sequence[str], spaces: Sequence[bool]) -> list[tuple[int, int]]:
    """Returns the sentences of a paragraph as half-open token ranges that cover it.

    Args:
        words: the paragraph's tokens.
        spaces: whether white space follows each of them.
    """
    ranges: list[tuple[int, int]] = []
    start = position = 0
    while position < len(words):
        if words[position] in _MARKS:
            end = _after_closers(words, spaces, position)
            if end >= len(words):
                break
            if spaces[end - 1] and _ends_sentence(words, spaces, position, end):
                ranges.append((start, end))
                start = end
            position = end
        else:
            position += 1
    if start < len(words):
        ranges.append((start, len(words)))
    return ranges


def _after_closers(words: Sequence[str], spaces: Sequence[bool], mark: int) -> int:
    """Returns the position after a mark and the marks and closers that touch it."""
    end = mark + 1
    while end < len(words) and not spaces[end - 1] and words[end] in _CLOSERS | _MARKS:
        end += 1
    return end


def _ends_sentence(words: Sequence[str], spaces: Sequence[bool], mark: int, end: int) -> bool:
    """Says whether the mark at ``mark``, closed up to ``end``, ends a sentence before ``end``."""
    following = words[end]
    if following in _NEVER_FIRST:
        return False
    capital = following[0].isupper() or following[0] in _OPENERS or following[0].isdigit()
    touched = words[mark - 1] if mark and not spaces[mark - 1] else ""
    if touched in _OPENERS and end > mark + 1:
        return False  # a quoted mark, as in: the character '.' is
    if end > mark + 1 or words[mark] != ".":
        return capital
    abbreviation = touched.lower()
    if abbreviation in _BEFORE_NUMBERS:
        return not following[0].isdigit()
    if abbreviation in _SELDOM_LAST:
        return following[0].isupper()
    return abbreviation not in _NEVER_LAST
