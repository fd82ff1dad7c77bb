"""Where sentences end in a tokenized paragraph: rules for English prose, technical too, and mails.

Heuristics, not a model; what they do is told by the lists of `lists` and by the tests' example
lines. How often each is right on treebanks is told in docs/results/splitting.md.

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

from collections.abc import Sequence

from pipeline.text.boundaries.lines import (
    at_address,
    at_closing,
    at_dash,
    at_date,
    at_emoticon,
    at_label,
    at_rule,
)
from pipeline.text.boundaries.lists import (
    ADDRESS,
    CLOSING,
    DASHES,
    DATE,
    EMOTICON,
    LABELLED,
    MARKS,
    RULED,
    keeps_period,
)
from pipeline.text.boundaries.marks import at_mark
from pipeline.text.boundaries.place import Place, Rule, WhereWord

BOUNDARY_VERSION = 4
"""Raised whenever the same tokens would be split otherwise; part of every digest."""


def sentence_ranges(words: Sequence[str], spaces: Sequence[bool]) -> list[tuple[int, int]]:
    """Returns the sentences of a paragraph as half-open token ranges that cover it.

    Args:
        words: the paragraph's tokens.
        spaces: whether white space follows each of them.
    """
    ranges: list[tuple[int, int]] = []
    start = going_on = 0
    small_i = WhereWord("i", words)
    looked_at = [
        (position, rule)
        for position, rule in enumerate(map(_RULES.__getitem__, words))
        if rule is not None
    ]
    for position, rule in looked_at:
        if position < going_on:
            continue
        ends, going_on = rule(Place(words, spaces, start, position, small_i))
        for end in ends:
            if start < end < len(words):
                ranges.append((start, end))
                start = end
    if start < len(words):
        ranges.append((start, len(words)))
    return ranges


_RULES_OF_WORDS: dict[str, Rule] = {
    **dict.fromkeys(MARKS, at_mark),
    **dict.fromkeys(DASHES, at_dash),
    **dict.fromkeys(map(str.capitalize, LABELLED), at_label),
    **dict.fromkeys((*CLOSING, *map(str.capitalize, CLOSING)), at_closing),
}


def _rule_for(word: str) -> Rule | None:
    """Returns what looks at a token, if anything does."""
    if word.isalpha() or word == "-":
        return _RULES_OF_WORDS.get(word)
    if keeps_period(word):
        return at_mark
    by_pattern = ((RULED, at_rule), (DATE, at_date), (ADDRESS, at_address))
    for pattern, rule in (*by_pattern, (EMOTICON, at_emoticon)):
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
