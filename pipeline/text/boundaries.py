"""Where sentences end in a tokenized paragraph: rules for edited English, technical prose and mails.

Heuristics, not a model; what they do is told by the lists below and by the tests' example lines.
How often each is right on treebanks is told in docs/results/splitting.md.

Differs from spaCy's ``Sentencizer``: a sentence ends only before white space, so ``os.path`` and
``example.Name`` stay whole, but for dots as in ``over...That was``; closing quotes and brackets
belong to the sentence they touch, opening ones to the next; quoted marks (``'.'``) and marks inside
a bracketed aside do not end one; and a period that also shortens a word ends one only as far as the
word and its follower allow:

- never after a title (``Capt. Kirk``), a word that leads on (``e.g.``, ``vs.``) or one that opens a
  bracket (``(b. March 1990``);
- after ``etc.`` and ``al.`` before any capital;
- after other abbreviations and initials (``Inc.``, ``U.S.``, ``p.m.``, ``J.``) only before a word
  that begins sentences and seldom names: ``the U.S. She left`` but ``the U.S. Senate``.

The marker of an item (``2.``, ``B.``, ``Figure 3.``) stays with what it marks; a footnote's (``[7]``,
``[citation needed]``, a bare number before a word that begins sentences) and an emoticon with what
precedes. Beside marks, sentences end at what ends a line: a mail's date and closing, an address, a
ruled line, the label of a figure; and at a dash where speech breaks off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

BOUNDARY_VERSION = 3
"""Raised whenever the same tokens would be split otherwise; part of every digest."""

_MARKS = frozenset({".", "!", "?", "…", "?!", "!?", "‽", *("." * n for n in range(2, 33))})
_OPENERS = frozenset("\"'`“‘«([{")
_CLOSERS = frozenset({'"', "'", "''", "”", "’", "»", ")", "]", "}"})
_QUOTES = frozenset({'"', "'", "''", "”", "’", "»"})
_NEVER_FIRST = frozenset({",", ";", ":", ")", "]", "}", "”", "’"})


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BEFORE_NUMBERS = _words("art c ch eq eqs ext fig figs no nos p para pp sec vol vols")
_TITLES = _words(
    "adm capt cmdr col cpl dr drs fr gen gov hon lt maj messrs mlle mme mr mrs ms mx pres prof rep "
    "rev sen sgt"
)
"""Where capitalised."""
_LEADING_ON = _words(
    "a.k.a approx attn ca cf e.g ed eds eg esp i.e ie incl p.s ps resp v v.s viz vs"
)
_ENDING_LISTS = _words("al etc")
_ABBREVIATIONS = _words(
    "assn assoc ave bldg blvd bros co corp dept dist div ft gmbh inc inst jr ltd mfg mt pvt rd sr st "
    "univ mon tue tues wed thu thur thurs fri"
)
"""Any other token that keeps its period, as spaCy leaves U.S. and Jan., counts as one, too."""
_SHORTENED = _LEADING_ON | _ENDING_LISTS | _ABBREVIATIONS
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
    "most both each every even no not nobody nothing everyone one another such is are was were do does "
    "did can could would should must let now today yesterday later soon finally meanwhile"
)
"""Words that begin sentences; capitalised after an abbreviation they seldom continue a name."""
_ANSWERING = _words("oh ok okay see wait well yeah yes")
"""Words that begin sentences of speech, as after one that was broken off."""
_JOINING = _words("of and or for in to at by from with on the de van von")
"""Words that, not capitalised, go on with a name whose period shortens it: ``Univ. of Texas``."""
_SAYING = _words(
    "added answered ask asked asks began called cried exclaimed howled muttered replied said say says "
    "screamed shouted started whispered yelled"
)
"""What follows the speaker of a quoted question: ``"Who?" Ann asked.``"""
_CLOSING_ALONE = _words("best cheers regards respectfully sincerely thanks")
_CLOSING = _CLOSING_ALONE | _words("care faithfully truly wishes")
_BEFORE_CLOSING = _words("best kind kindest many take warm warmest yours")
"""A mail's closing stands alone: ``Best regards, Ann``."""
_LABELLED = _words("figure listing table")
_WEEKDAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")

_STARS = frozenset("*•·-–(")
"""What may stand before the marker of an item."""
_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3})*")
_MARKER = re.compile(rf"{_NUMBER.pattern}|[A-Za-z]|[IVXLC]{{1,6}}")
_NOTE = re.compile(r"\d+|[a-z]+|\.{3}|…|[-–,]")
_MOST_NOTE_TOKENS = 5
_MOST_NOTE_DIGITS = 3
_EMOTICON = re.compile(r"[:;=]['’]?[-^o]?[()DPpO3*|]+|\^_+\^|<3+|-_+-|\(:")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
_DATE = re.compile(r"\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})")
_TIME = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?")
_RULED = re.compile(r"[-=_*~#+]+")
_LEAST_RULED = 10
"""Characters of a ruled line; shorter ones stand for names and blanks."""


class _Place(NamedTuple):
    """A token of a paragraph whose sentences are found up to there."""

    words: Sequence[str]
    spaces: Sequence[bool]
    start: int
    """First token of the sentence that is not ended yet."""
    position: int


class _Found(NamedTuple):
    """What a rule makes of a token."""

    ends: tuple[int, ...]
    """Sentences end before these tokens, in order."""
    going_on: int
    """First token that is to be looked at then."""


Rule = Callable[[_Place], _Found]


def sentence_ranges(words: Sequence[str], spaces: Sequence[bool]) -> list[tuple[int, int]]:
    """Returns the sentences of a paragraph as half-open token ranges that cover it.

    Args:
        words: the paragraph's tokens.
        spaces: whether white space follows each of them.
    """
    ranges: list[tuple[int, int]] = []
    start = going_on = 0
    looked_at = [
        (position, rule)
        for position, rule in enumerate(map(_RULES.__getitem__, words))
        if rule is not None
    ]
    for position, rule in looked_at:
        if position < going_on:
            continue
        ends, going_on = rule(_Place(words, spaces, start, position))
        for end in ends:
            if start < end < len(words):
                ranges.append((start, end))
                start = end
    if start < len(words):
        ranges.append((start, len(words)))
    return ranges


def _at_mark(place: _Place) -> _Found:
    """A full stop or its like, or an abbreviation with its period."""
    words, spaces, _, mark = place
    end = _after_closers(words, spaces, mark)
    if end < len(words) and not spaces[end - 1]:
        end = _after_notes(words, spaces, end)
        if end < len(words) and not spaces[end - 1]:
            glued = len(words[mark]) > 1 and words[mark][1] == "." and end == mark + 1
            glued &= mark > 0 and _is_capital(words[end]) and _begins(words[end])
            return _Found((end,) if glued and words[mark - 1] != words[end] else (), end)
    if end < len(words) and _ends_sentence(place, end):
        return _Found((_after_followers(words, spaces, end),), end)
    return _Found((), end)


def _after_closers(words: Sequence[str], spaces: Sequence[bool], mark: int) -> int:
    """Returns the position after a mark and the marks and closers that touch it, or stand apart."""
    end = mark + 1
    while end < len(words):
        word = words[end]
        apart = word in _MARKS or word in (")", "]")
        if not (word in _CLOSERS or word in _MARKS) or (spaces[end - 1] and not apart):
            break
        end += 1
    return end


def _after_followers(words: Sequence[str], spaces: Sequence[bool], end: int) -> int:
    """Returns the position after the footnotes and emoticons that follow a sentence."""
    if words[end].isalpha():
        return end
    end = _after_notes(words, spaces, end)
    while end < len(words) and _EMOTICON.fullmatch(words[end]):
        end += 1
    last = end + 1
    is_bare = end < len(words) and words[end].isdecimal() and len(words[end]) <= _MOST_NOTE_DIGITS
    if is_bare and last < len(words) and _is_capital(words[last]) and _begins(words[last]):
        return last
    return end


def _after_notes(words: Sequence[str], spaces: Sequence[bool], end: int) -> int:
    """Returns the position after all marks of footnotes from ``end`` on: ``[7]``, ``[note 1]``."""
    while end < len(words) and words[end] == "[":
        inner = end + 1
        while inner < len(words) and _NOTE.fullmatch(words[inner]):
            inner += 1
        is_note = 0 < inner - end - 1 <= _MOST_NOTE_TOKENS
        if not is_note or inner >= len(words) or words[inner] != "]":
            break
        end = inner + 1
    return end


def _ends_sentence(place: _Place, end: int) -> bool:
    """Says whether the mark of a place, closed up to ``end``, ends a sentence before ``end``."""
    words, spaces, start, mark = place
    if _is_marker(place, end):
        return False
    following = words[end]
    if not following.isalpha():
        following = words[_after_notes(words, spaces, end) % len(words)]
        if following in _NEVER_FIRST or following in _MARKS:
            return False
    first = following[0]
    capital = first.isupper() or first in _OPENERS or first.isdigit()
    capital = capital or _EMOTICON.fullmatch(following) is not None
    touched = words[mark - 1] if mark and not spaces[mark - 1] else ""
    if words[mark] == "." and end == mark + 1:
        opens = mark > 1 and words[mark - 2] in ("(", "[") and not spaces[mark - 2]
        return not (opens and touched.isalnum()) and _ends_after_word(touched, following)
    marks = [word for word in words[mark + 1 : end] if word in _MARKS]
    if _keeps_period(words[mark]):
        if marks:
            return capital  # a mark of its own, as in: "the U.S.?"
        label = mark > 0 and words[mark - 1].lower() in _BEFORE_LETTERS
        return _ends_after_short(words[mark][:-1], following, is_label=label)
    if end > mark + 1 and touched in _OPENERS:
        # A quoted mark, as in: the character '.' is. But not: (?). Then
        return capital and words[end - 1] in _MARKS and words[end - 2] in _CLOSERS
    if words[mark] == "." and len(marks) == 2 and len(marks) == end - mark - 1 and spaces[mark]:
        return False  # dots apart
    if words[mark] != "." and _leads_to_speaker(words, end):
        return False
    if capital or len(marks) < end - mark - 1 or words[mark] not in ("?", "!"):
        return capital
    # A text without capitals; but not: println! is
    no_capital = words[mark] == "?" and words[start][0].islower()
    return no_capital or following == "i" or "i" in words[start:mark]


def _is_marker(place: _Place, end: int) -> bool:
    """Says whether a sentence so far is but the marker of an item or the label of a figure."""
    words, spaces, start, mark = place
    if end != mark + 1:
        return False
    if mark == start:
        return len(words[mark]) == 2 and _keeps_period(words[mark])
    if words[mark] != "." or mark == 0:
        return False
    led_to = mark > start + 2 and words[mark - 2] == ":" and not spaces[mark - 3]
    if mark == start + 1 or led_to or (mark == start + 2 and words[start] in _STARS):
        return _MARKER.fullmatch(words[mark - 1]) is not None
    labelled = mark == start + 2 and words[start].lower() in _BEFORE_LETTERS
    return labelled and _NUMBER.fullmatch(words[mark - 1]) is not None


def _leads_to_speaker(words: Sequence[str], end: int) -> bool:
    """Says whether quoted speech goes on with who said it: ``"Who?" Ann asked.``"""
    is_said = end + 1 < len(words) and words[end + 1] in _SAYING
    return is_said and words[end - 1] in _QUOTES and _is_capital(words[end])


def _is_capital(word: str) -> bool:
    return word[0].isupper()


def _begins(word: str) -> bool:
    return word.lower() in _BEGINNING


def _keeps_period(word: str) -> bool:
    """Says whether a token is an abbreviation or initial together with its period."""
    return word.endswith(".") and word[0].isalpha()


def _ends_after_word(word: str, following: str) -> bool:
    """Says whether a period that touches ``word`` ends the sentence."""
    short = word.lower()
    if short in _BEFORE_NUMBERS:
        return not following[0].isdigit()
    if short in _SHORTENED or (short in _TITLES and word[0].isupper()):
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


def _at_emoticon(place: _Place) -> _Found:
    """``:-)`` ends a sentence before a capital."""
    end = place.position + 1
    ends = end < len(place.words) and place.spaces[end - 1] and _is_capital(place.words[end])
    return _Found((end,) if ends else (), end)


def _at_address(place: _Place) -> _Found:
    """An address ends a line before another one and before a capital."""
    end = place.position + 1
    if end >= len(place.words) or not place.spaces[end - 1]:
        return _Found((), end)
    following = place.words[end]
    ends = _is_capital(following) or _ADDRESS.fullmatch(following)
    return _Found((end,) if ends else (), end)


def _at_date(place: _Place) -> _Found:
    """The line of a mail's date and time: ``Ann Lee 08/16/2000 12:05 PM Have you heard?``"""
    words, position = place.words, place.position
    end = position + 1
    if end >= len(words) or not _TIME.fullmatch(words[end]):
        return _Found((), end)
    end += 1
    if end < len(words) and words[end] in ("AM", "PM"):
        end += 1
    before = words[position - 1].lower() if position else ""
    leads_on = before in _JOINING or before in _OPENERS or before in (",", ":", "-")
    if leads_on and end < len(words) and not _is_capital(words[end]):
        return _Found((), end)
    return _Found((end,) if leads_on else (position, end), end)


def _at_rule(place: _Place) -> _Found:
    """A ruled line stands alone."""
    words, spaces, _, position = place
    end = position + 1
    while end < len(words) and not spaces[end - 1] and _RULED.fullmatch(words[end]):
        end += 1
    if sum(map(len, words[position:end])) < _LEAST_RULED or (position and not spaces[position - 1]):
        return _Found((), end)
    return _Found((position, end) if spaces[end - 1] else (position,), end)


def _at_dash(place: _Place) -> _Found:
    """A dash breaks speech off before a word that begins sentences: ``I know that — We do.``"""
    words, spaces, _, dash = place
    end = dash + 1
    if not 0 < dash < len(words) - 1 or not (spaces[dash] and spaces[dash - 1]):
        return _Found((), end)
    following = words[end].lower()
    ends = _is_capital(words[end]) and words[dash - 1][0].islower() and following != "i"
    ends &= following in _BEGINNING or following in _ANSWERING
    return _Found((end,) if ends else (), end)


def _at_closing(place: _Place) -> _Found:
    """A mail's closing words are a line."""
    words, _, start, position = place
    end = position + 2
    if position == start:
        alone = words[start].lower() in _CLOSING_ALONE
    else:
        alone = position == start + 1 and words[start].lower() in _BEFORE_CLOSING
    ends = alone and end < len(words) and words[end - 1] == "," and _is_capital(words[end])
    ends &= _is_capital(words[start]) and not {".", ","}.intersection(words[end + 1 : end + 2])
    return _Found((end,) if ends else (), position + 1)


def _at_label(place: _Place) -> _Found:
    """``Figure 1.5 The map`` begins a caption."""
    words, position = place.words, place.position
    ends = position == 0 and len(words) > 2 and _NUMBER.fullmatch(words[1])
    return _Found((2,) if ends and _is_capital(words[2]) else (), position + 1)


def _at_weekday(place: _Place) -> _Found:
    """A headline's date is the last line: ``Ants heal themselves Tuesday, September 1, 2015``."""
    words, position = place.words, place.position
    is_last = len(words) - position == 6 and words[position + 1] == words[position + 4] == ","
    if not is_last or not words[-1].isdecimal() or not words[position + 3].isdecimal():
        return _Found((), position + 1)
    before = words[position - 1]
    return _Found(() if before in _JOINING or before == "," else (position,), position + 1)


_RULES_OF_WORDS: dict[str, Rule] = {
    **dict.fromkeys(_MARKS, _at_mark),
    **dict.fromkeys(("—", "–", "--"), _at_dash),
    **dict.fromkeys(_WEEKDAYS, _at_weekday),
    **dict.fromkeys(map(str.capitalize, _LABELLED), _at_label),
    **dict.fromkeys((*_CLOSING, *map(str.capitalize, _CLOSING)), _at_closing),
}


def _rule_for(word: str) -> Rule | None:
    """Returns what looks at a token, if anything does."""
    if word.isalpha() or word == "-":
        return _RULES_OF_WORDS.get(word)
    if _keeps_period(word):
        return _at_mark
    by_pattern = ((_RULED, _at_rule), (_DATE, _at_date), (_ADDRESS, _at_address))
    for pattern, rule in (*by_pattern, (_EMOTICON, _at_emoticon)):
        if pattern.fullmatch(word):
            return _RULES_OF_WORDS.get(word, rule)
    return _RULES_OF_WORDS.get(word)


class _RememberedRules(dict[str, Rule | None]):
    """What looks at each word; bounded."""

    most = 1 << 15

    def __missing__(self, word: str) -> Rule | None:
        if len(self) >= self.most:
            self.clear()
        rule = self[word] = _rule_for(word)
        return rule


_RULES = _RememberedRules()
