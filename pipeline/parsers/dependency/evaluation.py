"""Scores a dependency parser against gold trees."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.parsers.base import SentenceParser
from pipeline.refusal import Refusal
from pipeline.treebanks.conllu import TreebankSentence
from pipeline.treebanks.dependency_scores import (
    DependencyScores,
    ScoredSentence,
    score_dependencies,
)
from pipeline.trees.parses import DependencyParse

_WRONG_HEAD = -1


def evaluate_dependency_parser(
    parser: SentenceParser[DependencyParse], sentences: Sequence[TreebankSentence]
) -> DependencyScores:
    """Returns the parser's scores on gold tokens; every token of a rejected sentence is wrong.

    Raises:
        ValueError: no sentence.
    """
    answers = parser.parse([sentence.tokens for sentence in sentences])
    scored = []
    for sentence, answer in zip(sentences, answers, strict=True):
        num_tokens = len(sentence.tokens)
        parse = (
            DependencyParse(heads=[_WRONG_HEAD] * num_tokens, deprels=[""] * num_tokens)
            if isinstance(answer, Refusal)
            else answer
        )
        scored.append(
            ScoredSentence(
                tokens=sentence.tokens,
                gold_heads=sentence.heads,
                gold_deprels=sentence.deprels,
                heads=parse.heads,
                deprels=parse.deprels,
            )
        )
    return score_dependencies(scored)
