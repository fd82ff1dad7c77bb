"""How well predicted trees match gold ones: attachment scores, and labelled brackets as by EVALB.

**Dependencies.** The convention of ``uas`` and ``las``: every token counts, punctuation included,
and a label must match in full, subtype included. The cheaper variants stand beside them, since
published figures mix the conventions.

**Brackets.** As EVALB does with ``COLLINS.prm``: the node above the sentence does not count; tokens
whose gold tag is a punctuation tag are deleted and spans are measured over what is left; a span
that loses all its tokens does not count; ``ADVP`` and ``PRT`` count as one label; the constituents
of a unary chain count one by one; equal constituents match at most as often as both trees have
them; the figures are of the pooled counts.

Differs from EVALB in that sentences of any length count, that ``ROOT`` and ``S1`` count as the
node above the sentence too, and that gold tags alone tell which tokens are punctuation, so a
tagging error moves no span.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.trees.flat_trees import (
    CHAIN_MARK,
    ConstituencyParse,
    DependencyParse,
    Parse,
)

PUNCTUATION_TAGS = frozenset({",", ":", "``", "''", ".", "-NONE-"})
"""``DELETE_LABEL`` of COLLINS.prm, less TOP."""
TOP_LABELS = frozenset({"TOP", "ROOT", "S1"})
Bracket = tuple[int, int, str]


@dataclass(slots=True)
class AttachmentCounts:
    """Dependency scores in the making: sentences are added one by one, none is kept."""

    sentences: int = 0
    exact: int = 0
    tokens: int = 0
    heads: int = 0
    labelled: int = 0
    universal: int = 0
    words: int = 0
    word_heads: int = 0
    word_labelled: int = 0

    def add(self, tokens: Sequence[str], gold: Any, predicted: Any) -> int:
        """Counts one sentence; returns how many of its tokens have another head or label.

        Args:
            gold: a `DependencyParse`.
            predicted: another, or the parser's `Refusal`, of which every token is wrong.

        Raises:
            ValueError: the two trees differ in length.
        """
        if isinstance(predicted, Refusal):
            predicted = DependencyParse([-1] * len(tokens), [""] * len(tokens))
        wrong = 0
        columns = zip(
            tokens, gold.heads, predicted.heads, gold.deprels, predicted.deprels, strict=True
        )
        for token, gold_head, head, gold_deprel, deprel in columns:
            head_right = gold_head == head
            label_right = head_right and gold_deprel == deprel
            is_word = not is_punctuation(token)
            self.tokens += 1
            self.heads += head_right
            self.labelled += label_right
            self.universal += head_right and _universal(gold_deprel) == _universal(deprel)
            self.words += is_word
            self.word_heads += is_word and head_right
            self.word_labelled += is_word and label_right
            wrong += not label_right
        self.sentences += 1
        self.exact += not wrong
        return wrong

    def scores(self) -> dict[str, float]:
        """Returns the scores of the sentences so far, all but the counts in percent.

        ``uas`` is of tokens with the right head, ``las`` of those with the right head and full
        label; ``las_universal`` compares labels without their subtypes (``nsubj:pass`` as
        ``nsubj``), ``…_no_punctuation`` leaves out tokens of punctuation alone; ``exact_match`` is
        of sentences with all heads and full labels right.
        """
        return {
            "num_sentences": self.sentences,
            "num_tokens": self.tokens,
            "uas": _percent(self.heads, self.tokens),
            "las": _percent(self.labelled, self.tokens),
            "las_universal": _percent(self.universal, self.tokens),
            "uas_no_punctuation": _percent(self.word_heads, self.words),
            "las_no_punctuation": _percent(self.word_labelled, self.words),
            "exact_match": _percent(self.exact, self.sentences),
        }


def is_punctuation(token: str) -> bool:
    """Says whether every character of a token is of a Unicode punctuation category."""
    return all(unicodedata.category(character).startswith("P") for character in token)


def _universal(deprel: str) -> str:
    return deprel.partition(":")[0]


@dataclass(slots=True)
class BracketCounts:
    """Bracket scores in the making: sentences are added one by one, none is kept."""

    all_tokens: bool = False
    """Counts without EVALB's exceptions: punctuation is kept, ADVP and PRT are apart."""
    sentences: int = 0
    exact: int = 0
    gold: int = 0
    predicted: int = 0
    matched: int = 0
    tags: int = 0
    right_tags: int = 0

    def add(self, tokens: Sequence[str], gold: Any, predicted: Any) -> int:
        """Counts one sentence; returns how many brackets only one of its trees has.

        Args:
            gold: a `ConstituencyParse` whose tags tell punctuation.
            predicted: another, or the parser's `Refusal`, which has no bracket.

        Raises:
            ValueError: the two trees differ in length.
        """
        if isinstance(predicted, Refusal):
            predicted = ConstituencyParse([], [], [], [""] * len(tokens))
        deleted = () if self.all_tokens else PUNCTUATION_TAGS
        # How many tokens before each place between tokens are kept.
        offsets = list(accumulate((tag not in deleted for tag in gold.tags), initial=0))
        of_gold = Counter(_brackets(gold, offsets, self.all_tokens))
        of_predicted = Counter(_brackets(predicted, offsets, self.all_tokens))
        matched = (of_gold & of_predicted).total()
        self.sentences += 1
        self.gold += of_gold.total()
        self.predicted += of_predicted.total()
        self.matched += matched
        self.exact += of_gold == of_predicted
        self.tags += len(gold.tags)
        self.right_tags += sum(a == b for a, b in zip(gold.tags, predicted.tags, strict=True))
        return of_gold.total() + of_predicted.total() - 2 * matched

    def scores(self) -> dict[str, float]:
        """Returns the scores of the sentences so far, all but the counts in percent.

        ``exact_match`` is of sentences whose brackets all match, ``tag_accuracy`` of all tokens,
        punctuation included.
        """
        return {
            "num_sentences": self.sentences,
            "num_gold": self.gold,
            "num_predicted": self.predicted,
            "num_matched": self.matched,
            "precision": _percent(self.matched, self.predicted),
            "recall": _percent(self.matched, self.gold),
            "f1": _percent(2 * self.matched, self.gold + self.predicted),
            "exact_match": _percent(self.exact, self.sentences),
            "tag_accuracy": _percent(self.right_tags, self.tags),
        }


def score(
    counts: AttachmentCounts | BracketCounts,
    sentences: Sequence[Any],
    answers: Sequence[Parse | Refusal],
) -> dict[str, float]:
    """Returns how well a parser's answers match gold trees, see the counts' ``scores``.

    Args:
        sentences: of a treebank.

    Raises:
        ValueError: the two differ in their number of sentences, or a pair in its tokens.
    """
    for sentence, answer in zip(sentences, answers, strict=True):
        counts.add(sentence.tokens, sentence.parse, answer)
    return counts.scores()


def _brackets(parse: ConstituencyParse, offsets: Sequence[int], all_tokens: bool) -> list[Bracket]:
    brackets = []
    for start, end, chain in zip(parse.starts, parse.ends, parse.labels, strict=True):
        first, last = offsets[start], offsets[end]
        if first == last:
            continue
        for label in chain.split(CHAIN_MARK):
            if label in TOP_LABELS:
                continue
            equal = "ADVP" if label == "PRT" and not all_tokens else label
            brackets.append((first, last, equal))
    return brackets


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0
