"""Training sentences as careless text would have them, with what is left of their trees.

Treebanks are edited text. Chats have no capitals, headings no final mark, and sentences cut from
pages begin with the mark of a list. Relations and tags of such marks follow the UD English
treebanks and GUM's bracketed trees: numbers and letters are ``discourse`` and ``LS``, bullets
``punct`` and ``:``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from pipeline.trees.treebanks import BracketedSentence, TreebankSentence

logger = logging.getLogger(__name__)

SentenceT = TypeVar("SentenceT", bound=TreebankSentence | BracketedSentence)

RELATIONS_OF_MARKS = frozenset({"discourse", "punct"})
"""Of the marks of lists."""
TAGS_OF_MARKS = frozenset({"LS", ":", ".", "-LRB-", "-RRB-"})
"""Parts of speech of these."""
FINAL_MARKS = frozenset(".!?;:")
_BULLETS = ("-", "*", "•", "–")
_NAMES = (*map(str, range(1, 21)), *"abcdefghABCDEFGH")
LIST_MARKS = frozenset({*_BULLETS, *_NAMES, *(f"{name}." for name in _NAMES), "(", ")", "."})
"""Every token that a mark may have."""
SHARE_OF_COMMANDS = 1 / 3
"""Of the altered sentences, where the kind of tree has them."""
LONGEST_LIST_MARK = 3
"""Tokens by which an altered sentence may be longer."""


@dataclass(frozen=True)
class ListMark:
    """The k tokens before an item of a list."""

    tokens: list[str]
    heads: list[int]
    """1-based among these tokens; 0 for the root of the sentence."""
    relations: list[str]
    tags: list[str]


class Alterations(Generic[SentenceT]):
    """Draws which training sentences are altered, and how."""

    def __init__(
        self,
        share: float,
        *,
        without_final_mark: Callable[[SentenceT], SentenceT],
        with_list_mark: Callable[[SentenceT, ListMark], SentenceT],
        as_command: Callable[[SentenceT, np.random.Generator], SentenceT] | None = None,
        lacking: Collection[str] = (),
    ) -> None:
        """Takes what a kind of tree does with each.

        Args:
            share: of the sentences, see `ParserTrainingConfig.altered_share`.
            without_final_mark, with_list_mark: return the sentence so, or as it is where its tree
                does not allow it.
            as_command: returns a command that is made of a part of the sentence, or the sentence
                where there is none; None where the kind has no such thing.
            lacking: relations or tags of the marks of lists that the parser does not know, because
                of which no sentence gets one; the log tells.
        """
        if share and lacking:
            logger.warning(
                "altered sentences get no marks of lists: the parser does not know %s",
                ", ".join(sorted(lacking)),
            )
        self._share, self._with_marks = share, not lacking
        self._without_final_mark, self._with_list_mark = without_final_mark, with_list_mark
        self._as_command = as_command
        self.longer = LONGEST_LIST_MARK if share and self._with_marks else 0
        """Tokens by which a sentence may be longer than it is."""

    def drawn(self, sentence: SentenceT, random: np.random.Generator) -> SentenceT:
        """Returns the sentence, or in a share of the cases altered.

        It loses its final mark, loses its capitals, and gets a list's mark before it, each in half
        of these cases, so that an eighth stay as they are. A third are made into commands first,
        where the kind of tree has them.
        """
        if not self._share or random.random() >= self._share:
            return sentence
        if self._as_command is not None and random.random() < SHARE_OF_COMMANDS:
            sentence = self._as_command(sentence, random)
        ways = random.random(3) < 0.5
        if ways[0]:
            sentence = self._without_final_mark(sentence)
        if ways[1]:
            sentence = in_lower_case(sentence)
        if ways[2] and self._with_marks:
            sentence = self._with_list_mark(sentence, list_mark(random))
        return sentence


def with_capital(token: str) -> str:
    """Returns a token as it stands at the beginning of a sentence."""
    return token[:1].upper() + token[1:]


def in_lower_case(sentence: SentenceT) -> SentenceT:
    """Returns the sentence without capitals."""
    return replace(sentence, tokens=[token.lower() for token in sentence.tokens])


def list_mark(random: np.random.Generator) -> ListMark:
    """Returns ``-``, ``3.``, ``b )`` or the like."""
    if random.random() < 1 / 3:
        return ListMark([str(random.choice(_BULLETS))], [0], ["punct"], [":"])
    name = str(random.choice(_NAMES))
    numbered = (
        ListMark([f"{name}."], [0], ["discourse"], ["LS"]),
        ListMark([name, "."], [0, 1], ["discourse", "punct"], ["LS", "."]),
        ListMark([name, ")"], [0, 1], ["discourse", "punct"], ["LS", "-RRB-"]),
        ListMark(
            ["(", name, ")"], [2, 0, 2], ["punct", "discourse", "punct"], ["-LRB-", "LS", "-RRB-"]
        ),
    )
    return numbered[int(random.integers(len(numbered)))]
