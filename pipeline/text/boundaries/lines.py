"""Sentences that end without a mark: where a line did, and where speech breaks off."""

from __future__ import annotations

from pipeline.text.boundaries.lists import (
    ADDRESS,
    ANSWERING,
    BEFORE_CLOSING,
    BEGINNING,
    CLOSING_ALONE,
    JOINING,
    LEAST_RULED,
    NUMBER,
    OPENERS,
    RULED,
    TIME,
    is_capital,
)
from pipeline.text.boundaries.place import Found, Place


def at_emoticon(place: Place) -> Found:
    """``:-)`` ends a sentence before a capital."""
    end = place.position + 1
    ends = end < len(place.words) and place.spaces[end - 1] and is_capital(place.words[end])
    return Found((end,) if ends else (), end)


def at_address(place: Place) -> Found:
    """An address ends a line before another one and before a capital."""
    end = place.position + 1
    if end >= len(place.words) or not place.spaces[end - 1]:
        return Found((), end)
    following = place.words[end]
    ends = is_capital(following) or ADDRESS.fullmatch(following)
    return Found((end,) if ends else (), end)


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
    following = words[end].lower()
    ends = is_capital(words[end]) and words[dash - 1][0].islower() and following != "i"
    ends &= following in BEGINNING or following in ANSWERING
    return Found((end,) if ends else (), end)


def at_closing(place: Place) -> Found:
    """A mail's closing words are a line."""
    words, _, start, position, _ = place
    end = position + 2
    if position == start:
        alone = words[start].lower() in CLOSING_ALONE
    else:
        alone = position == start + 1 and words[start].lower() in BEFORE_CLOSING
    ends = alone and end < len(words) and words[end - 1] == "," and is_capital(words[end])
    ends &= is_capital(words[start]) and not {".", ","}.intersection(words[end + 1 : end + 2])
    return Found((end,) if ends else (), position + 1)


def at_label(place: Place) -> Found:
    """``Figure 1.5 The map`` begins a caption."""
    words, position = place.words, place.position
    ends = position == 0 and len(words) > 2 and NUMBER.fullmatch(words[1])
    return Found((2,) if ends and is_capital(words[2]) else (), position + 1)
