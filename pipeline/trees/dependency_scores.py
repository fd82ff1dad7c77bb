"""Attachment scores of predicted dependency trees.

The convention of ``uas`` and ``las``: every token counts, punctuation included, and a label must
match in full, subtype included. The cheaper variants stand beside them, since published figures
mix the conventions.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.trees.conllu import TreebankSentence
from pipeline.trees.parses import DependencyParse


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
        uas=_percentage(right_heads, tokens),
        las=_percentage(right, tokens),
        las_universal=_percentage(right_universal, tokens),
        uas_no_punctuation=_percentage(word_heads, words),
        las_no_punctuation=_percentage(word_right, words),
        exact_match=_percentage(exact, len(gold)),
    )


def is_punctuation(token: str) -> bool:
    """Says whether every character of a token is of a Unicode punctuation category."""
    return all(unicodedata.category(character).startswith("P") for character in token)


def _universal(deprel: str) -> str:
    return deprel.partition(":")[0]


def _percentage(count: int, total: int) -> float:
    return 100.0 * count / total if total else 0.0


def _check(index: int, sentence: TreebankSentence, parse: DependencyParse) -> None:
    for name, column in (("heads", parse.heads), ("deprels", parse.deprels)):
        if len(column) != len(sentence.tokens):
            raise ValueError(
                f"sentence {index}: {len(column)} {name} for {len(sentence.tokens)} tokens"
            )
