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

from treeviews.pipeline.trees.flat_trees import CHAIN_MARK, ConstituencyParse, DependencyParse
from treeviews.pipeline.trees.treebanks import TreebankSentence

PUNCTUATION_TAGS = frozenset({",", ":", "``", "''", ".", "-NONE-"})
"""``DELETE_LABEL`` of COLLINS.prm, less TOP."""
TOP_LABELS = frozenset({"TOP", "ROOT", "S1"})
Bracket = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class DependencyScores:
    """Percentages over all tokens of a treebank."""

    num_sentences: int
    num_tokens: int
    uas: float
    """Tokens with the right head."""
    las: float
    """Tokens with the right head and full label."""
    las_universal: float
    """As ``las``, labels compared without their subtypes (``nsubj:pass`` as ``nsubj``)."""
    uas_no_punctuation: float
    """As ``uas``, without tokens that consist of punctuation only."""
    las_no_punctuation: float
    exact_match: float
    """Sentences with every head and full label right."""


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

    def add(self, gold: TreebankSentence, predicted: DependencyParse) -> int:
        """Counts one sentence; returns how many of its tokens have another head or label.

        Raises:
            ValueError: the two trees differ in length.
        """
        sizes = len(gold.tokens), len(predicted.heads), len(predicted.deprels)
        if len(set(sizes)) > 1:
            raise ValueError(
                f"sentence {self.sentences}: tokens, heads and deprels differ in number: {sizes}"
            )
        wrong = 0
        columns = zip(
            gold.tokens, gold.heads, predicted.heads, gold.deprels, predicted.deprels, strict=True
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

    def scores(self) -> DependencyScores:
        """Returns the scores of the sentences so far."""
        return DependencyScores(
            num_sentences=self.sentences,
            num_tokens=self.tokens,
            uas=_percent(self.heads, self.tokens),
            las=_percent(self.labelled, self.tokens),
            las_universal=_percent(self.universal, self.tokens),
            uas_no_punctuation=_percent(self.word_heads, self.words),
            las_no_punctuation=_percent(self.word_labelled, self.words),
            exact_match=_percent(self.exact, self.sentences),
        )


def score_dependencies(
    gold: Sequence[TreebankSentence], predicted: Sequence[DependencyParse]
) -> DependencyScores:
    """Returns the attachment scores of predicted trees, weighted by token.

    Args:
        gold: sentences with their trees.
        predicted: trees of the same sentences in the same order.

    Raises:
        ValueError: no sentence, or a sentence whose trees differ in length.
    """
    counts = AttachmentCounts()
    for sentence, parse in zip(gold, predicted, strict=True):
        counts.add(sentence, parse)
    if not gold:
        raise ValueError("no sentence to score")
    return counts.scores()


def is_punctuation(token: str) -> bool:
    """Says whether every character of a token is of a Unicode punctuation category."""
    return all(unicodedata.category(character).startswith("P") for character in token)


def _universal(deprel: str) -> str:
    return deprel.partition(":")[0]


@dataclass(frozen=True, slots=True)
class BracketScores:
    """Pooled over a treebank; all but the counts in percent."""

    num_sentences: int
    num_gold: int
    """Brackets in the gold trees."""
    num_predicted: int
    num_matched: int
    precision: float
    recall: float
    f1: float
    exact_match: float
    """Sentences whose brackets all match."""
    tag_accuracy: float
    """Over all tokens, punctuation included."""


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

    def add(self, gold: ConstituencyParse, predicted: ConstituencyParse) -> int:
        """Counts one sentence; returns how many brackets only one of its trees has.

        Args:
            gold: a tree whose tags tell punctuation.
            predicted: one over the same tokens.

        Raises:
            ValueError: the two trees differ in length.
        """
        if len(gold.tags) != len(predicted.tags):
            raise ValueError(
                f"sentence {self.sentences}: {len(gold.tags)} gold tokens, but "
                f"{len(predicted.tags)} predicted ones"
            )
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
        self.right_tags += sum(map(str.__eq__, gold.tags, predicted.tags))
        return of_gold.total() + of_predicted.total() - 2 * matched

    def scores(self) -> BracketScores:
        """Returns the scores of the sentences so far."""
        return BracketScores(
            num_sentences=self.sentences,
            num_gold=self.gold,
            num_predicted=self.predicted,
            num_matched=self.matched,
            precision=_percent(self.matched, self.predicted),
            recall=_percent(self.matched, self.gold),
            f1=_percent(2 * self.matched, self.gold + self.predicted),
            exact_match=_percent(self.exact, self.sentences),
            tag_accuracy=_percent(self.right_tags, self.tags),
        )


def score_brackets(
    gold: Sequence[ConstituencyParse],
    predicted: Sequence[ConstituencyParse],
    *,
    all_tokens: bool = False,
) -> BracketScores:
    """Returns how well predicted trees match gold ones.

    Args:
        gold: trees whose tags tell punctuation.
        predicted: trees over the same tokens in the same order.
        all_tokens: see `BracketCounts`.

    Raises:
        ValueError: the two differ in their number of sentences, or a pair in its tokens.
    """
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold trees, but {len(predicted)} predicted ones")
    counts = BracketCounts(all_tokens)
    for gold_tree, predicted_tree in zip(gold, predicted, strict=True):
        counts.add(gold_tree, predicted_tree)
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
