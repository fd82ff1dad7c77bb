"""The words, marks and patterns that the rules know."""

from __future__ import annotations

import re

MARKS = frozenset({".", "!", "?", "…", "?!", "!?", "‽", *("." * n for n in range(2, 33))})
OPENERS = frozenset("\"'`“‘«([{")
CLOSERS = frozenset({'"', "'", "''", "”", "’", "»", ")", "]", "}"})
QUOTES = frozenset({'"', "'", "''", "”", "’", "»"})
NEVER_FIRST = frozenset({",", ";", ":", ")", "]", "}", "”", "’"})


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BEFORE_NUMBERS = _words("art c ch eq eqs ext fig figs no nos p para pp sec vol vols")
TITLES = _words(
    "adm capt cmdr col cpl dr drs fr gen gov hon lt maj messrs mlle mme mr mrs ms mx pres prof rep "
    "rev sen sgt"
)
"""Where capitalised."""
LEADING_ON = _words(
    "a.k.a approx attn ca cf e.g ed eds eg esp i.e ie incl p.s ps resp v v.s viz vs"
)
ENDING_LISTS = _words("al etc")
_ABBREVIATIONS = _words(
    "assn assoc ave bldg blvd bros co corp dept dist div ft gmbh inc inst jr ltd mfg mt pvt rd sr "
    "st univ mon tue tues thu thur thurs fri"
)
"""Any other token that keeps its period, as spaCy leaves U.S. and Jan., counts as one, too."""
SHORTENED = LEADING_ON | ENDING_LISTS | _ABBREVIATIONS
BEFORE_LETTERS = _words(
    "appendix case category chapter class column exhibit figure grade group hepatitis item level "
    "line option page part phase plan point question schedule section step table team type version "
    "vitamin"
)
"""A letter after one of these is a label and no initial: ``Plan A. Plan B.``"""
BEGINNING = _words(
    "he she it they we you i the this that these those there here his her its their our my your "
    "who what when where why how which while if although though because since as after before "
    "until unless once but and or so yet nor then thus hence however moreover also still instead "
    "in on at by for from with without during under over between among to of a an all some many "
    "most both each every even no not nobody nothing everyone one another such is are was were do "
    "does did can could would should must let now today yesterday later soon finally meanwhile"
)
"""Words that begin sentences; capitalised after an abbreviation they seldom continue a name."""
ANSWERING = _words("oh ok okay see wait well yeah yes")
"""Words that begin sentences of speech, as after one that was broken off."""
JOINING = _words("of and or for in to at by from with on the de van von")
"""Words that, not capitalised, go on with a name whose period shortens it: ``Univ. of Texas``."""
SAYING = _words(
    "added answered ask asked asks began called cried exclaimed howled muttered replied said say "
    "says screamed shouted started whispered yelled"
)
"""What follows the speaker of a quoted question: ``"Who?" Ann asked.``"""
CLOSING_ALONE = _words("best cheers regards respectfully sincerely thanks")
CLOSING = CLOSING_ALONE | _words("care faithfully truly wishes")
WISHES = _words("regards wishes")
BEFORE_CLOSING = _words("best kind kindest many take warm warmest yours")
"""A mail's closing stands alone: ``Best regards, Ann``."""
MOST_NAMES = 5
"""Capitals in a row behind a closing that no sentence begins with."""
LABELLED = _words("figure listing table")

DASHES = frozenset({"—", "–", "--"})
MOST_ASIDE = 16
"""Tokens between two dashes."""
STARS = frozenset("*•·-–(")
"""What may stand before the marker of an item."""
NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3})*")
MARKER = re.compile(rf"{NUMBER.pattern}|[A-Za-z]|[IVXLC]{{1,6}}")
NOTE = re.compile(r"\d+|[a-z]+|\.{3}|…|[-–,]")
MOST_NOTE_TOKENS = 5
MOST_NOTE_DIGITS = 3
EMOTICON = re.compile(r"[:;=]['’]?[-^o]?[()DPpO3*|]+|\^_+\^|<3+|-_+-|\(:")
ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
HOST = re.compile(r"(?:https?://)?[^/]+/?")
DATE = re.compile(r"\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})")
TIME = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?")
RULED = re.compile(r"[-=_*~#+]+")
DOTS_LEFT_OUT = 3
"""Dots with spaces between them, which stand for words; one more ends a sentence."""
LEAST_RULED = 10
"""Characters of a ruled line; shorter ones stand for names and blanks."""


def is_capital(word: str) -> bool:
    """Says whether a word begins with a capital."""
    return word[0].isupper()


def begins(word: str) -> bool:
    """Says whether a word is one of those that begin sentences."""
    return word.lower() in BEGINNING


def keeps_period(word: str) -> bool:
    """Says whether a token is an abbreviation or initial together with its period."""
    return word.endswith(".") and word[0].isalpha()
