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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.trees.flat import CHAIN_MARK
from pipeline.trees.parses import ConstituencyParse, DependencyParse
from pipeline.trees.treebanks import TreebankSentence

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
    tokens = right_heads = right = right_universal = words = word_heads = word_right = 0
    exact = 0
    for index, (sentence, parse) in enumerate(zip(gold, predicted, strict=True)):
        _check(index, sentence, parse)
        all_right = True
        columns = zip(
            sentence.tokens,
            sentence.heads,
            parse.heads,
            sentence.deprels,
            parse.deprels,
            strict=True,
        )
        for token, gold_head, head, gold_deprel, deprel in columns:
            head_right = gold_head == head
            label_right = head_right and gold_deprel == deprel
            is_word = not is_punctuation(token)
            tokens += 1
            right_heads += head_right
            right += label_right
            right_universal += head_right and _universal(gold_deprel) == _universal(deprel)
            words += is_word
            word_heads += is_word and head_right
            word_right += is_word and label_right
            all_right &= label_right
        exact += all_right
    if not gold:
        raise ValueError("no sentence to score")
    return DependencyScores(
        num_sentences=len(gold),
        num_tokens=tokens,
        uas=_percent(right_heads, tokens),
        las=_percent(right, tokens),
        las_universal=_percent(right_universal, tokens),
        uas_no_punctuation=_percent(word_heads, words),
        las_no_punctuation=_percent(word_right, words),
        exact_match=_percent(exact, len(gold)),
    )


def is_punctuation(token: str) -> bool:
    """Says whether every character of a token is of a Unicode punctuation category."""
    return all(unicodedata.category(character).startswith("P") for character in token)


def _universal(deprel: str) -> str:
    return deprel.partition(":")[0]


def _check(index: int, sentence: TreebankSentence, parse: DependencyParse) -> None:
    for name, column in (("heads", parse.heads), ("deprels", parse.deprels)):
        if len(column) != len(sentence.tokens):
            raise ValueError(
                f"sentence {index}: {len(column)} {name} for {len(sentence.tokens)} tokens"
            )


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


def score_brackets(
    gold: Sequence[ConstituencyParse],
    predicted: Sequence[ConstituencyParse],
    *,
    keep_punctuation: bool = False,
    equate_advp_and_prt: bool = True,
) -> BracketScores:
    """Returns how well predicted trees match gold ones.

    Args:
        gold: trees whose tags tell punctuation.
        predicted: trees over the same tokens in the same order.
        keep_punctuation: measures spans over all tokens instead.
        equate_advp_and_prt: COLLINS.prm's ``EQ_LABEL``.

    Raises:
        ValueError: the two differ in their number of sentences, or a pair in its tokens.
    """
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold trees, but {len(predicted)} predicted ones")
    num_gold = num_predicted = num_matched = num_exact = num_tags = num_right_tags = 0
    for row, (gold_tree, predicted_tree) in enumerate(zip(gold, predicted, strict=True)):
        if len(gold_tree.tags) != len(predicted_tree.tags):
            raise ValueError(
                f"sentence {row}: {len(gold_tree.tags)} gold tokens, but "
                f"{len(predicted_tree.tags)} predicted ones"
            )
        offsets = _kept_before(gold_tree.tags, () if keep_punctuation else PUNCTUATION_TAGS)
        gold_brackets = Counter(_brackets(gold_tree, offsets, equate_advp_and_prt))
        found = Counter(_brackets(predicted_tree, offsets, equate_advp_and_prt))
        num_gold += gold_brackets.total()
        num_predicted += found.total()
        num_matched += (gold_brackets & found).total()
        num_exact += gold_brackets == found
        num_tags += len(gold_tree.tags)
        num_right_tags += sum(map(str.__eq__, gold_tree.tags, predicted_tree.tags))
    return BracketScores(
        num_sentences=len(gold),
        num_gold=num_gold,
        num_predicted=num_predicted,
        num_matched=num_matched,
        precision=_percent(num_matched, num_predicted),
        recall=_percent(num_matched, num_gold),
        f1=_percent(2 * num_matched, num_gold + num_predicted),
        exact_match=_percent(num_exact, len(gold)),
        tag_accuracy=_percent(num_right_tags, num_tags),
    )


def _kept_before(tags: Sequence[str], deleted: Iterable[str]) -> list[int]:
    """Returns ``[n + 1]``: how many tokens before each place between tokens are kept."""
    counts = [0]
    for tag in tags:
        counts.append(counts[-1] + (tag not in deleted))
    return counts


def _brackets(
    parse: ConstituencyParse, offsets: Sequence[int], equate_advp_and_prt: bool
) -> list[Bracket]:
    brackets = []
    for start, end, chain in zip(parse.starts, parse.ends, parse.labels, strict=True):
        first, last = offsets[start], offsets[end]
        if first == last:
            continue
        for label in chain.split(CHAIN_MARK):
            if label not in TOP_LABELS:
                equal = "ADVP" if equate_advp_and_prt and label == "PRT" else label
                brackets.append((first, last, equal))
    return brackets


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0
