"""Training sentences as careless text would have them, with what is left of their trees.

Treebanks are edited text. Chats have no capitals, and headings no final mark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TypeVar

import numpy as np

from pipeline.trees.flat_trees import CHAIN_MARK, TOP_LABEL, ConstituencyParse
from pipeline.trees.treebanks import BracketedSentence, TreebankSentence

SentenceT = TypeVar("SentenceT", bound=TreebankSentence | BracketedSentence)

FINAL_MARKS = frozenset(".!?;:")


def alter(
    sentence: SentenceT,
    share: float,
    random: np.random.Generator,
    without_final_mark: Callable[[SentenceT], SentenceT],
) -> SentenceT:
    """Returns the sentence, or in a share of the cases altered.

    It loses its final mark and its capitals, each in half of these cases.

    Args:
        sentence: with its tree.
        share: of the sentences, see `ParserTrainingConfig.altered_share`.
        random: draws; nothing is drawn where the share is 0.
        without_final_mark: returns the sentence so, or as it is where its tree does not allow it.
    """
    if not share or random.random() >= share:
        return sentence
    loses_mark, loses_capitals = random.random(2) < 0.5
    if loses_mark:
        sentence = without_final_mark(sentence)
    if loses_capitals:
        sentence = in_lower_case(sentence)
    return sentence


def in_lower_case(sentence: SentenceT) -> SentenceT:
    """Returns the sentence without capitals."""
    return replace(sentence, tokens=[token.lower() for token in sentence.tokens])


def dependencies_without_final_mark(sentence: TreebankSentence) -> TreebankSentence:
    """Returns the sentence without its last token, where that is a mark on which nothing hangs."""
    last = len(sentence.tokens)
    is_mark = sentence.tokens[-1] in FINAL_MARKS and sentence.deprels[-1] == "punct"
    if last < 2 or not is_mark or last in sentence.heads:
        return sentence
    return replace(
        sentence,
        tokens=sentence.tokens[:-1],
        heads=sentence.heads[:-1],
        deprels=sentence.deprels[:-1],
        xpos=sentence.xpos[:-1],
    )


def constituents_without_final_mark(
    sentence: BracketedSentence, labels: Collection[str] | None = None
) -> BracketedSentence:
    """Returns the sentence without its last token, where that is a mark that is no constituent.

    A constituent that is left with one child joins it in a unary chain.

    Args:
        sentence: with its tree.
        labels: that the parser knows, chains included; None for all. A sentence whose tree would
            have another stays as it is.
    """
    parse, last = sentence.parse, len(sentence.tokens) - 1
    if last < 1 or sentence.tokens[-1] not in FINAL_MARKS or last in parse.starts:
        return sentence
    spans: list[tuple[int, int, str]] = []
    for start, end, label in zip(parse.starts, parse.ends, parse.labels, strict=True):
        chain = label
        if spans and spans[-1][:2] == (start, min(end, last)):
            above = spans.pop()[2]
            chain = label if above == TOP_LABEL else f"{above}{CHAIN_MARK}{label}"
        spans.append((start, min(end, last), chain))
    starts, ends, chains = map(list, zip(*spans, strict=True))
    if labels is not None and not set(chains) <= set(labels):
        return sentence
    cut = ConstituencyParse(starts=starts, ends=ends, labels=chains, tags=parse.tags[:-1])
    return replace(sentence, tokens=sentence.tokens[:-1], parse=cut)
