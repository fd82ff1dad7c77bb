"""Where sentences end in a tokenized paragraph: rules for English prose, technical too, and mails.

Heuristics, not a model: the lists of `boundary_words` and the tests' example lines say what they
do, docs/results/splitting.md how often each is right on treebanks.

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

The marker of an item (``2.``, ``B.``, ``Figure 3.``) stays with what it marks; a footnote's
(``[7]``, ``[citation needed]``, a bare number before a word that begins sentences) and an emoticon
stay with what precedes. Beside marks, sentences end at what ends a line: a mail's date and closing,
an address, a ruled line, the label of a figure; and at a dash where speech breaks off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from treeviews.pipeline.text import boundary_words as w
from treeviews.pipeline.text.boundary_words import begins, is_capital, keeps_period

BOUNDARY_VERSION = 4
"""Raised whenever the same tokens would be split otherwise; part of every digest."""


class Candidate(NamedTuple):
    """A token of a paragraph whose sentences are found up to there."""

    words: Sequence[str]
    spaces: Sequence[bool]
    start: int
    """First token of the sentence that is not ended yet."""
    position: int
    has_small_i: bool
    """Whether the paragraph has an ``i``, as texts without capitals write it."""


class Outcome(NamedTuple):
    """What a rule makes of a token."""

    ends: tuple[int, ...]
    """Sentences end before these tokens, in order."""
    next_position: int
    """First token that is to be looked at then."""


Rule = Callable[[Candidate], Outcome]


def sentence_ranges(words: Sequence[str], spaces: Sequence[bool]) -> list[tuple[int, int]]:
    """Returns the sentences of a paragraph as half-open token ranges that cover it.

    Args:
        words: the paragraph's tokens.
        spaces: whether white space follows each of them.
    """
    ranges: list[tuple[int, int]] = []
    start = next_position = 0
    has_small_i = "i" in words
    looked_at = [
        (position, rule) for position, rule in enumerate(map(_rule_for, words)) if rule is not None
    ]
    for position, rule in looked_at:
        if position < next_position:
            continue
        ends, next_position = rule(Candidate(words, spaces, start, position, has_small_i))
        for end in ends:
            if start < end < len(words):
                ranges.append((start, end))
                start = end
    if start < len(words):
        ranges.append((start, len(words)))
    return ranges


def at_mark(candidate: Candidate) -> Outcome:
    """A full stop or its like, or an abbreviation with its period."""
    words, spaces, _, mark, _ = candidate
    end = _after_closers(words, spaces, mark)
    is_noted = mark > 0 and words[mark - 1] == "]" and spaces[end - 1]  # See [1]. [2] is better.
    behind = end if is_noted else _after_notes(words, end)
    if end < len(words) and not spaces[end - 1]:
        end = behind
        if end < len(words) and not spaces[end - 1]:
            glued = len(words[mark]) > 1 and words[mark][1] == "." and end == mark + 1
            glued &= mark > 0 and is_capital(words[end]) and begins(words[end])
            return Outcome((end,) if glued and words[mark - 1] != words[end] else (), end)
    if end < len(words) and _ends_sentence(candidate, end, words[behind % len(words)]):
        behind = _after_followers(words, end, behind)
        return Outcome((behind,), behind)
    return Outcome((), behind)


def _after_closers(words: Sequence[str], spaces: Sequence[bool], mark: int) -> int:
    """Returns the position after a mark and the marks and closers that touch it, or stand apart."""
    end = mark + 1
    while end < len(words):
        word = words[end]
        apart = word in w.MARKS or word in (")", "]")
        if not (word in w.CLOSERS or word in w.MARKS) or (spaces[end - 1] and not apart):
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
    while end < len(words) and w.EMOTICON.fullmatch(words[end]):
        end += 1
    last = end + 1
    is_bare = end < len(words) and words[end].isdecimal() and len(words[end]) <= w.MOST_NOTE_DIGITS
    if is_bare and last < len(words) and is_capital(words[last]) and begins(words[last]):
        return last
    return end


def _after_notes(words: Sequence[str], end: int) -> int:
    """Returns the position after all marks of footnotes from ``end`` on: ``[7]``, ``[note 1]``."""
    while end < len(words) and words[end] == "[":
        inner = end + 1
        while inner < len(words) and w.NOTE.fullmatch(words[inner]):
            inner += 1
        is_note = 0 < inner - end - 1 <= w.MOST_NOTE_TOKENS
        if not is_note or inner >= len(words) or words[inner] != "]":
            break
        end = inner + 1
    return end


def _ends_sentence(candidate: Candidate, end: int, following: str) -> bool:
    """Says whether the mark of a place, closed up to ``end``, ends a sentence before ``end``.

    Args:
        following: the token there, or behind the footnotes there.
    """
    words, spaces, _, mark, _ = candidate
    if following in w.NEVER_FIRST or following in w.MARKS or _is_marker(candidate, end):
        return False
    if end > mark + 1:
        return _ends_when_closed(candidate, end, following)
    touched = words[mark - 1] if mark and not spaces[mark - 1] else ""
    if words[mark] == ".":
        opens = mark > 1 and words[mark - 2] in ("(", "[") and not spaces[mark - 2]
        return not (opens and touched.isalnum()) and _ends_after_word(touched, following)
    if keeps_period(words[mark]):
        label = mark > 0 and words[mark - 1].lower() in w.BEFORE_LETTERS
        return _ends_after_short(words[mark][:-1], following, is_label=label)
    return _may_begin(following) or _begins_small(candidate, following)


def _ends_when_closed(candidate: Candidate, end: int, following: str) -> bool:
    """Says whether a mark ends a sentence together with the marks and closers behind it."""
    words, spaces, _, mark, _ = candidate
    marks = sum(word in w.MARKS for word in words[mark + 1 : end])
    marks_alone = marks == end - mark - 1
    if keeps_period(words[mark]) and not marks:
        return _ends_after_short(words[mark][:-1], following, is_label=False)
    capital = _may_begin(following)
    if mark and not spaces[mark - 1] and words[mark - 1] in w.OPENERS:
        # A quoted mark, as in: the character '.' is. But not: (?). Then
        return capital and words[end - 1] in w.MARKS and words[end - 2] in w.CLOSERS
    if words[mark] == "." and spaces[mark] and marks_alone and marks + 1 == w.DOTS_LEFT_OUT:
        return False
    if words[mark] != "." and _leads_to_speaker(words, end):
        return False
    return capital or (marks_alone and _begins_small(candidate, following))


def _may_begin(following: str) -> bool:
    """Says whether a token looks like the first of a sentence."""
    first = following[0]
    capital = first.isupper() or first in w.OPENERS or first.isdigit()
    return capital or w.EMOTICON.fullmatch(following) is not None


def _begins_small(candidate: Candidate, following: str) -> bool:
    """Says whether a small letter begins a sentence behind a mark: in a text without capitals."""
    words, _, start, mark, has_small_i = candidate
    if words[mark] not in ("?", "!"):
        return False
    if words[mark] == "!" and mark > start + 1 and words[mark - 1].istitle():
        return False  # i use Yahoo! mail
    no_capital = words[mark] == "?" and words[start][0].islower()  # but not: println! is
    return no_capital or following == "i" or (has_small_i and "i" in words[start:mark])


def _is_marker(candidate: Candidate, end: int) -> bool:
    """Says whether a sentence so far is but the marker of an item or the label of a figure."""
    words, spaces, start, mark, _ = candidate
    if end != mark + 1:
        return False
    if mark == start:
        return len(words[mark]) == 2 and keeps_period(words[mark])
    if words[mark] != "." or mark == 0:
        return False
    led_to = mark > start + 2 and words[mark - 2] == ":" and not spaces[mark - 3]
    if mark == start + 1 or led_to or (mark == start + 2 and words[start] in w.STARS):
        return w.MARKER.fullmatch(words[mark - 1]) is not None
    labelled = mark == start + 2 and words[start].lower() in w.BEFORE_LETTERS
    return labelled and w.NUMBER.fullmatch(words[mark - 1]) is not None


def _leads_to_speaker(words: Sequence[str], end: int) -> bool:
    """Says whether quoted speech goes on with who said it: ``"Who?" Ann asked.``"""
    is_said = end + 1 < len(words) and words[end + 1] in w.SAYING
    return is_said and words[end - 1] in w.QUOTES and is_capital(words[end])


def _ends_after_word(word: str, following: str) -> bool:
    """Says whether a period that touches ``word`` ends the sentence."""
    short = word.lower()
    if short in w.BEFORE_NUMBERS:
        return not following[0].isdigit()
    if short in w.SHORTENED or (short in w.TITLES and word[0].isupper()):
        return _ends_after_short(word, following, is_label=False)
    # Technical prose begins sentences with lower-case names ("mode is the mode."), and whole
    # corpora have no capitals, so that a small letter alone decides nothing.
    return not (following in w.JOINING and word[:1].isupper())


def _ends_after_short(word: str, following: str, *, is_label: bool) -> bool:
    """Says whether the period of an abbreviation or initial ends the sentence, too."""
    short = word.lower()
    if short in w.TITLES | w.LEADING_ON or not following[0].isupper():
        return False
    if short in w.ENDING_LISTS or (is_label and len(short) == 1):
        return True
    return following.lower() in w.BEGINNING


def at_emoticon(candidate: Candidate) -> Outcome:
    """``:-)`` ends a sentence before a capital."""
    end = candidate.position + 1
    ends = (
        end < len(candidate.words)
        and candidate.spaces[end - 1]
        and is_capital(candidate.words[end])
    )
    return Outcome((end,) if ends else (), end)


def at_address(candidate: Candidate) -> Outcome:
    """An address ends a line before another one and before a word that begins sentences.

    One of a page (``www.a.example/b``) ends it before any capital, and so does one that no word
    leads to (``Website: www.a.example``).
    """
    words, spaces, start, position, _ = candidate
    end = position + 1
    if end >= len(words) or not spaces[end - 1]:
        return Outcome((), end)
    leads_to = position > start and words[position - 1].isalpha()
    is_line = not (leads_to and w.HOST.fullmatch(words[position])) or _begins_speech(words[end])
    ends = is_line and is_capital(words[end])
    return Outcome((end,) if ends or w.ADDRESS.fullmatch(words[end]) else (), end)


def at_date(candidate: Candidate) -> Outcome:
    """The line of a mail's date and time: ``Ann Lee 08/16/2000 12:05 PM Have you heard?``"""
    words, position = candidate.words, candidate.position
    end = position + 1
    if end >= len(words) or not w.TIME.fullmatch(words[end]):
        return Outcome((), end)
    end += 1
    if end < len(words) and words[end] in ("AM", "PM"):
        end += 1
    before = words[position - 1].lower() if position else ""
    leads_on = before in w.JOINING or before in w.OPENERS or before in (",", ":", "-")
    if leads_on and end < len(words) and not is_capital(words[end]):
        return Outcome((), end)
    return Outcome((end,) if leads_on else (position, end), end)


def at_rule(candidate: Candidate) -> Outcome:
    """A ruled line stands alone."""
    words, spaces, _, position, _ = candidate
    end = position + 1
    while end < len(words) and not spaces[end - 1] and w.RULED.fullmatch(words[end]):
        end += 1
    if sum(map(len, words[position:end])) < w.LEAST_RULED or (
        position and not spaces[position - 1]
    ):
        return Outcome((), end)
    return Outcome((position, end) if spaces[end - 1] else (position,), end)


def at_dash(candidate: Candidate) -> Outcome:
    """A dash breaks speech off before a word that begins sentences: ``I know that — We do.``"""
    words, spaces, _, dash, _ = candidate
    end = dash + 1
    if not 0 < dash < len(words) - 1 or not (spaces[dash] and spaces[dash - 1]):
        return Outcome((), end)
    ends = is_capital(words[end]) and words[dash - 1][0].islower() and words[end].lower() != "i"
    ends = ends and _begins_speech(words[end]) and not _is_aside(words, dash)
    return Outcome((end,) if ends else (), end)


def _begins_speech(word: str) -> bool:
    return begins(word) or word.lower() in w.ANSWERING


def _is_aside(words: Sequence[str], dash: int) -> bool:
    """Says whether a second dash leads back to the sentence: ``he — The man — was gone``."""
    if words[dash + 1].lower() in w.ANSWERING:
        return False
    for position in range(dash + 1, min(dash + w.MOST_ASIDE, len(words)) - 1):
        if words[position] in w.MARKS:
            return False
        if words[position] in w.DASHES:
            return words[position + 1][0].islower()
    return False


def at_closing(candidate: Candidate) -> Outcome:
    """A mail's closing words are a line."""
    words, _, start, position, _ = candidate
    end = position + 2
    if position == start:
        alone = words[start].lower() in w.CLOSING_ALONE
    else:
        alone = position == start + 1 and words[start].lower() in w.BEFORE_CLOSING
    ends = alone and end < len(words) and words[end - 1] == "," and is_capital(words[start])
    ends = ends and _signs(words, end, words[position].lower())
    return Outcome((end,) if ends else (), position + 1)


def _signs(words: Sequence[str], start: int, closing: str) -> bool:
    """Says whether a signature begins at ``start``, and no sentence: ``Thanks, Ann did it.``

    It is a name before a sentence, a number or nothing, or a long run of names; behind wishes,
    which begin no sentence, a name is enough.
    """
    end = start
    while end < min(start + w.MOST_NAMES, len(words)) and _may_name(words[end]):
        end += 1
    following = words[end] if end < len(words) else ""
    num_names = end - start
    if not num_names or not following or num_names == w.MOST_NAMES:
        return num_names > 0
    if closing in w.WISHES:
        return num_names > 1 or following not in (".", ",")
    is_number = following[0].isdigit() and len(following) > 2
    return is_number or following == "&" or (is_capital(following) and begins(following))


def _may_name(word: str) -> bool:
    return is_capital(word) and (word.isalpha() or "." in word) and not begins(word)


def at_label(candidate: Candidate) -> Outcome:
    """``Figure 1.5 The map`` begins a caption."""
    words, position = candidate.words, candidate.position
    ends = position == 0 and len(words) > 2 and w.NUMBER.fullmatch(words[1])
    return Outcome((2,) if ends and is_capital(words[2]) else (), position + 1)


_RULES_OF_WORDS: dict[str, Rule] = {
    **dict.fromkeys(w.MARKS, at_mark),
    **dict.fromkeys(w.DASHES, at_dash),
    **dict.fromkeys(map(str.capitalize, w.LABELLED), at_label),
    **dict.fromkeys((*w.CLOSING, *map(str.capitalize, w.CLOSING)), at_closing),
}


@lru_cache(maxsize=1 << 15)
def _rule_for(word: str) -> Rule | None:
    """Returns what looks at a token, if anything does."""
    if word.isalpha() or word == "-":
        return _RULES_OF_WORDS.get(word)
    if keeps_period(word):
        return at_mark
    by_pattern = ((w.RULED, at_rule), (w.DATE, at_date), (w.ADDRESS, at_address))
    for pattern, rule in (*by_pattern, (w.EMOTICON, at_emoticon)):
        if pattern.fullmatch(word):
            return _RULES_OF_WORDS.get(word, rule)
    return _RULES_OF_WORDS.get(word)
