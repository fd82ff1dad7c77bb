"""Where sentences end in a tokenized paragraph: rules for edited English, technical prose included.

Heuristics, not a model; what they do is told by the lists below and by the tests' example lines.

Differs from spaCy's ``Sentencizer``: a sentence ends only before white space, so ``os.path`` and
``example.Name`` stay whole; closing quotes and brackets belong to the sentence they touch, opening
ones to the next; quoted marks (``'.'``) and marks inside a bracketed aside do not end one; and a
period that also shortens a word ends one only as far as the word and its follower allow:

- never after a title (``Capt. Kirk``) or a word that leads on (``e.g.``, ``vs.``);
- after ``etc.`` and ``al.`` before any capital;
- after other abbreviations and initials (``Inc.``, ``U.S.``, ``p.m.``, ``J.``) only before a word
  that begins sentences and seldom names: ``the U.S. She left`` but ``the U.S. Senate``.
"""

from __future__ import annotations

from collections.abc import Sequence

BOUNDARY_VERSION = 2
"""Raised whenever the same tokens would be split otherwise; part of every digest."""

_MARKS = frozenset({".", "!", "?", "…", "...", "....", "?!", "!?", "‽"})
_OPENERS = frozenset("\"'`“‘«([{")
_CLOSERS = frozenset({'"', "'", "''", "”", "’", "»", ")", "]", "}"})
_NEVER_FIRST = frozenset({",", ";", ":", ")", "]", "}", "”", "’"})


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BEFORE_NUMBERS = _words("no nos fig figs sec eq eqs vol vols pp p ch art")
_TITLES = _words(
    "adm capt cmdr col cpl dr fr gen gov hon lt maj messrs mr mrs ms mx pres prof rep rev sen sgt"
)
"""Where capitalised."""
_LEADING_ON = _words("a.k.a approx ca cf e.g ed eds eg esp i.e ie incl resp v v.s viz vs")
_ENDING_LISTS = _words("al etc")
_ABBREVIATIONS = _words(
    "assn ave bldg blvd bros co corp dept dist div ft gmbh inc inst jr ltd mfg mt rd sr st univ"
)
"""Any other token that keeps its period, as spaCy leaves U.S. and Jan., counts as one, too."""
_BEFORE_LETTERS = _words(
    "appendix case category chapter class column exhibit figure grade group hepatitis item level "
    "line option page part phase plan point question schedule section step table team type version "
    "vitamin"
)
"""A letter after one of these is a label and no initial: ``Plan A. Plan B.``"""
_BEGINNING = _words(
    "he she it they we you i the this that these those there here his her its their our my your "
    "who what when where why how which while if although though because since as after before "
    "until unless once but and or so yet nor then thus hence however moreover also still instead "
    "in on at by for from with without during under over between among to of a an all some many "
    "most both each every no not nobody nothing everyone one another such is are was were do does "
    "did can could would should must let now today yesterday later soon finally meanwhile"
)
"""Words that begin sentences; capitalised after an abbreviation they seldom continue a name."""
_JOINING = _words("of and or for in to at by from with on the de van von")
"""Words that, not capitalised, go on with a name whose period shortens it: ``Univ. of Texas``."""


def sentence_ranges(words: Sequence[str], spaces: Sequence[bool]) -> list[tuple[int, int]]:
    """Returns the sentences of a paragraph as half-open token ranges that cover it.

    Args:
        words: the paragraph's tokens.
        spaces: whether white space follows each of them.
    """
    ranges: list[tuple[int, int]] = []
    start = position = 0
    while position < len(words):
        if words[position] in _MARKS or _keeps_period(words[position]):
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


def _keeps_period(word: str) -> bool:
    """Says whether a token is an abbreviation or initial together with its period."""
    return word.endswith(".") and word[0].isalpha()


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
    if _keeps_period(words[mark]):
        if any(word in _MARKS for word in words[mark + 1 : end]):
            return capital  # a mark of its own, as in: "the U.S.?"
        label = mark > 0 and words[mark - 1].lower() in _BEFORE_LETTERS
        return _ends_after_short(words[mark][:-1], following, is_label=label)
    if touched in _OPENERS and end > mark + 1:
        return False  # a quoted mark, as in: the character '.' is
    if end > mark + 1 or words[mark] != ".":
        return capital
    return _ends_after_word(touched, following)


def _ends_after_word(word: str, following: str) -> bool:
    """Says whether a period that touches ``word`` ends the sentence."""
    short = word.lower()
    if short in _BEFORE_NUMBERS:
        return not following[0].isdigit()
    is_title = short in _TITLES and word[0].isupper()
    if is_title or short in _LEADING_ON | _ENDING_LISTS | _ABBREVIATIONS:
        return _ends_after_short(word, following, is_label=False)
    # Technical prose begins sentences with lower-case names ("mode is the mode."), and whole
    # corpora have no capitals, so that a small letter alone decides nothing.
    return not (following in _JOINING and word[:1].isupper())


def _ends_after_short(word: str, following: str, *, is_label: bool) -> bool:
    """Says whether the period of an abbreviation or initial ends the sentence, too."""
    short = word.lower()
    if short in _TITLES | _LEADING_ON or not following[0].isupper():
        return False
    if short in _ENDING_LISTS or (is_label and len(short) == 1):
        return True
    return following.lower() in _BEGINNING
