"""Sentences that end at a mark: a full stop or its like, or an abbreviation's period."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.text.boundaries.lists import (
    BEFORE_LETTERS,
    BEFORE_NUMBERS,
    BEGINNING,
    CLOSERS,
    DOTS_LEFT_OUT,
    EMOTICON,
    ENDING_LISTS,
    JOINING,
    LEADING_ON,
    MARKER,
    MARKS,
    MOST_NOTE_DIGITS,
    MOST_NOTE_TOKENS,
    NEVER_FIRST,
    NOTE,
    NUMBER,
    OPENERS,
    QUOTES,
    SAYING,
    SHORTENED,
    STARS,
    TITLES,
    begins,
    is_capital,
    keeps_period,
)
from pipeline.text.boundaries.place import Found, Place


def at_mark(place: Place) -> Found:
    """A full stop or its like, or an abbreviation with its period."""
    words, spaces, _, mark, _ = place
    end = _after_closers(words, spaces, mark)
    is_noted = mark > 0 and words[mark - 1] == "]" and spaces[end - 1]  # See [1]. [2] is better.
    behind = end if is_noted else _after_notes(words, end)
    if end < len(words) and not spaces[end - 1]:
        end = behind
        if end < len(words) and not spaces[end - 1]:
            glued = len(words[mark]) > 1 and words[mark][1] == "." and end == mark + 1
            glued &= mark > 0 and is_capital(words[end]) and begins(words[end])
            return Found((end,) if glued and words[mark - 1] != words[end] else (), end)
    if end < len(words) and _ends_sentence(place, end, words[behind % len(words)]):
        behind = _after_followers(words, end, behind)
        return Found((behind,), behind)
    return Found((), behind)


def _after_closers(words: Sequence[str], spaces: Sequence[bool], mark: int) -> int:
    """Returns the position after a mark and the marks and closers that touch it, or stand apart."""
    end = mark + 1
    while end < len(words):
        word = words[end]
        apart = word in MARKS or word in (")", "]")
        if not (word in CLOSERS or word in MARKS) or (spaces[end - 1] and not apart):
            break
        end += 1
    return end


def _after_followers(words: Sequence[str], end: int, behind: int) -> int:
    """Returns the position after the emoticons that follow a sentence and its footnotes.

    Args:
        end: behind the sentence.
        behind: behind its footnotes.
    """
    if words[end].isalpha():
        return end
    end = behind
    while end < len(words) and EMOTICON.fullmatch(words[end]):
        end += 1
    last = end + 1
    is_bare = end < len(words) and words[end].isdecimal() and len(words[end]) <= MOST_NOTE_DIGITS
    if is_bare and last < len(words) and is_capital(words[last]) and begins(words[last]):
        return last
    return end


def _after_notes(words: Sequence[str], end: int) -> int:
    """Returns the position after all marks of footnotes from ``end`` on: ``[7]``, ``[note 1]``."""
    while end < len(words) and words[end] == "[":
        inner = end + 1
        while inner < len(words) and NOTE.fullmatch(words[inner]):
            inner += 1
        is_note = 0 < inner - end - 1 <= MOST_NOTE_TOKENS
        if not is_note or inner >= len(words) or words[inner] != "]":
            break
        end = inner + 1
    return end


def _ends_sentence(place: Place, end: int, following: str) -> bool:
    """Says whether the mark of a place, closed up to ``end``, ends a sentence before ``end``.

    Args:
        following: the token there, or behind the footnotes there.
    """
    words, spaces, _, mark, _ = place
    if following in NEVER_FIRST or following in MARKS or _is_marker(place, end):
        return False
    if end > mark + 1:
        return _ends_when_closed(place, end, following)
    touched = words[mark - 1] if mark and not spaces[mark - 1] else ""
    if words[mark] == ".":
        opens = mark > 1 and words[mark - 2] in ("(", "[") and not spaces[mark - 2]
        return not (opens and touched.isalnum()) and _ends_after_word(touched, following)
    if keeps_period(words[mark]):
        label = mark > 0 and words[mark - 1].lower() in BEFORE_LETTERS
        return _ends_after_short(words[mark][:-1], following, is_label=label)
    return _may_begin(following) or _begins_small(place, following)


def _ends_when_closed(place: Place, end: int, following: str) -> bool:
    """Says whether a mark ends a sentence together with the marks and closers behind it."""
    words, spaces, _, mark, _ = place
    marks = sum(word in MARKS for word in words[mark + 1 : end])
    marks_alone = marks == end - mark - 1
    if keeps_period(words[mark]) and not marks:
        return _ends_after_short(words[mark][:-1], following, is_label=False)
    capital = _may_begin(following)
    if mark and not spaces[mark - 1] and words[mark - 1] in OPENERS:
        # A quoted mark, as in: the character '.' is. But not: (?). Then
        return capital and words[end - 1] in MARKS and words[end - 2] in CLOSERS
    if words[mark] == "." and spaces[mark] and marks_alone and marks + 1 == DOTS_LEFT_OUT:
        return False
    if words[mark] != "." and _leads_to_speaker(words, end):
        return False
    return capital or (marks_alone and _begins_small(place, following))


def _may_begin(following: str) -> bool:
    """Says whether a token looks like the first of a sentence."""
    first = following[0]
    capital = first.isupper() or first in OPENERS or first.isdigit()
    return capital or EMOTICON.fullmatch(following) is not None


def _begins_small(place: Place, following: str) -> bool:
    """Says whether a small letter begins a sentence behind a mark: in a text without capitals."""
    words, _, start, mark, small_i = place
    if words[mark] not in ("?", "!"):
        return False
    if words[mark] == "!" and mark > start + 1 and words[mark - 1].istitle():
        return False  # i use Yahoo! mail
    no_capital = words[mark] == "?" and words[start][0].islower()  # but not: println! is
    return no_capital or following == "i" or small_i.stands_in(start, mark)


def _is_marker(place: Place, end: int) -> bool:
    """Says whether a sentence so far is but the marker of an item or the label of a figure."""
    words, spaces, start, mark, _ = place
    if end != mark + 1:
        return False
    if mark == start:
        return len(words[mark]) == 2 and keeps_period(words[mark])
    if words[mark] != "." or mark == 0:
        return False
    led_to = mark > start + 2 and words[mark - 2] == ":" and not spaces[mark - 3]
    if mark == start + 1 or led_to or (mark == start + 2 and words[start] in STARS):
        return MARKER.fullmatch(words[mark - 1]) is not None
    labelled = mark == start + 2 and words[start].lower() in BEFORE_LETTERS
    return labelled and NUMBER.fullmatch(words[mark - 1]) is not None


def _leads_to_speaker(words: Sequence[str], end: int) -> bool:
    """Says whether quoted speech goes on with who said it: ``"Who?" Ann asked.``"""
    is_said = end + 1 < len(words) and words[end + 1] in SAYING
    return is_said and words[end - 1] in QUOTES and is_capital(words[end])


def _ends_after_word(word: str, following: str) -> bool:
    """Says whether a period that touches ``word`` ends the sentence."""
    short = word.lower()
    if short in BEFORE_NUMBERS:
        return not following[0].isdigit()
    if short in SHORTENED or (short in TITLES and word[0].isupper()):
        return _ends_after_short(word, following, is_label=False)
    # Technical prose begins sentences with lower-case names ("mode is the mode."), and whole
    # corpora have no capitals, so that a small letter alone decides nothing.
    return not (following in JOINING and word[:1].isupper())


def _ends_after_short(word: str, following: str, *, is_label: bool) -> bool:
    """Says whether the period of an abbreviation or initial ends the sentence, too."""
    short = word.lower()
    if short in TITLES | LEADING_ON or not following[0].isupper():
        return False
    if short in ENDING_LISTS or (is_label and len(short) == 1):
        return True
    return following.lower() in BEGINNING
