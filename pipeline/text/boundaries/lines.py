"""Sentences that end without a mark: where a line did, and where speech breaks off."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.text.boundaries.lists import (
    ADDRESS,
    ANSWERING,
    BEFORE_CLOSING,
    CLOSING_ALONE,
    DASHES,
    HOST,
    JOINING,
    LEAST_RULED,
    MARKS,
    MOST_ASIDE,
    MOST_NAMES,
    NUMBER,
    OPENERS,
    RULED,
    TIME,
    WISHES,
    begins,
    is_capital,
)
from pipeline.text.boundaries.place import Found, Place


def at_emoticon(place: Place) -> Found:
    """``:-)`` ends a sentence before a capital."""
    end = place.position + 1
    ends = end < len(place.words) and place.spaces[end - 1] and is_capital(place.words[end])
    return Found((end,) if ends else (), end)


def at_address(place: Place) -> Found:
    """An address ends a line before another one and before a word that begins sentences.

    One of a page (``www.a.example/b``) ends it before any capital, and so does one that no word
    leads to (``Website: www.a.example``).
    """
    words, spaces, start, position, _ = place
    end = position + 1
    if end >= len(words) or not spaces[end - 1]:
        return Found((), end)
    leads_to = position > start and words[position - 1].isalpha()
    is_line = not (leads_to and HOST.fullmatch(words[position])) or _begins_speech(words[end])
    ends = is_line and is_capital(words[end])
    return Found((end,) if ends or ADDRESS.fullmatch(words[end]) else (), end)


def at_date(place: Place) -> Found:
    """The line of a mail's date and time: ``Ann Lee 08/16/2000 12:05 PM Have you heard?``"""
    words, position = place.words, place.position
    end = position + 1
    if end >= len(words) or not TIME.fullmatch(words[end]):
        return Found((), end)
    end += 1
    if end < len(words) and words[end] in ("AM", "PM"):
        end += 1
    before = words[position - 1].lower() if position else ""
    leads_on = before in JOINING or before in OPENERS or before in (",", ":", "-")
    if leads_on and end < len(words) and not is_capital(words[end]):
        return Found((), end)
    return Found((end,) if leads_on else (position, end), end)


def at_rule(place: Place) -> Found:
    """A ruled line stands alone."""
    words, spaces, _, position, _ = place
    end = position + 1
    while end < len(words) and not spaces[end - 1] and RULED.fullmatch(words[end]):
        end += 1
    if sum(map(len, words[position:end])) < LEAST_RULED or (position and not spaces[position - 1]):
        return Found((), end)
    return Found((position, end) if spaces[end - 1] else (position,), end)


def at_dash(place: Place) -> Found:
    """A dash breaks speech off before a word that begins sentences: ``I know that — We do.``"""
    words, spaces, _, dash, _ = place
    end = dash + 1
    if not 0 < dash < len(words) - 1 or not (spaces[dash] and spaces[dash - 1]):
        return Found((), end)
    ends = is_capital(words[end]) and words[dash - 1][0].islower() and words[end].lower() != "i"
    ends = ends and _begins_speech(words[end]) and not _is_aside(words, dash)
    return Found((end,) if ends else (), end)


def _begins_speech(word: str) -> bool:
    return begins(word) or word.lower() in ANSWERING


def _is_aside(words: Sequence[str], dash: int) -> bool:
    """Says whether a second dash leads back to the sentence: ``he — The man — was gone``."""
    if words[dash + 1].lower() in ANSWERING:
        return False
    for position in range(dash + 1, min(dash + MOST_ASIDE, len(words)) - 1):
        if words[position] in MARKS:
            return False
        if words[position] in DASHES:
            return words[position + 1][0].islower()
    return False


def at_closing(place: Place) -> Found:
    """A mail's closing words are a line."""
    words, _, start, position, _ = place
    end = position + 2
    if position == start:
        alone = words[start].lower() in CLOSING_ALONE
    else:
        alone = position == start + 1 and words[start].lower() in BEFORE_CLOSING
    ends = alone and end < len(words) and words[end - 1] == "," and is_capital(words[start])
    ends = ends and _signs(words, end, words[position].lower())
    return Found((end,) if ends else (), position + 1)


def _signs(words: Sequence[str], start: int, closing: str) -> bool:
    """Says whether a signature begins at ``start``, and no sentence: ``Thanks, Ann did it.``

    It is a name before a sentence, a number or nothing, or a long run of names; behind wishes,
    which begin no sentence, a name is enough.
    """
    end = start
    while end < min(start + MOST_NAMES, len(words)) and _may_name(words[end]):
        end += 1
    following = words[end] if end < len(words) else ""
    num_names = end - start
    if not num_names or not following or num_names == MOST_NAMES:
        return num_names > 0
    if closing in WISHES:
        return num_names > 1 or following not in (".", ",")
    is_number = following[0].isdigit() and len(following) > 2
    return is_number or following == "&" or (is_capital(following) and begins(following))


def _may_name(word: str) -> bool:
    return is_capital(word) and (word.isalpha() or "." in word) and not begins(word)


def at_label(place: Place) -> Found:
    """``Figure 1.5 The map`` begins a caption."""
    words, position = place.words, place.position
    ends = position == 0 and len(words) > 2 and NUMBER.fullmatch(words[1])
    return Found((2,) if ends and is_capital(words[2]) else (), position + 1)
