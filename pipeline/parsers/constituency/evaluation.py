"""Scores a constituency parser on treebank sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.parsers.base import SentenceParser
from pipeline.refusal import Refusal
from pipeline.treebanks.bracket_scores import BracketScores, score_brackets
from pipeline.treebanks.bracketed import BracketedSentence
from pipeline.trees.flat import TOP_LABEL
from pipeline.trees.parses import ConstituencyParse


@dataclass(frozen=True, slots=True)
class ConstituencyEvaluation:
    """A parser's scores on the same sentences by two conventions."""

    evalb: BracketScores
    """As EVALB with COLLINS.prm: punctuation deleted, ADVP and PRT alike."""
    all_tokens: BracketScores
    """Punctuation kept, ADVP and PRT apart."""
    rejected: dict[str, int]
    """Sentences that the parser refused, by reason; scored as trees without a bracket."""

    def as_json(self) -> dict[str, Any]:
        """Returns nested JSON values, scores rounded to two decimals."""
        return {
            "evalb": _rounded(self.evalb),
            "all_tokens": _rounded(self.all_tokens),
            "rejected": self.rejected,
        }


def evaluate_constituency_parser(
    parser: SentenceParser[ConstituencyParse], sentences: Sequence[BracketedSentence]
) -> ConstituencyEvaluation:
    """Parses the sentences' tokens and returns the scores; the parser never sees gold tags."""
    gold = [sentence.parse for sentence in sentences]
    answers = parser.parse([sentence.tokens for sentence in sentences])
    rejected = Counter(answer.reason for answer in answers if isinstance(answer, Refusal))
    predicted = [
        _no_bracket(len(sentence.tokens)) if isinstance(answer, Refusal) else answer
        for sentence, answer in zip(sentences, answers, strict=True)
    ]
    return ConstituencyEvaluation(
        evalb=score_brackets(gold, predicted),
        all_tokens=score_brackets(
            gold, predicted, keep_punctuation=True, equate_advp_and_prt=False
        ),
        rejected=dict(rejected),
    )


def _no_bracket(num_tokens: int) -> ConstituencyParse:
    return ConstituencyParse([0], [num_tokens], [TOP_LABEL], [""] * num_tokens)


def _rounded(scores: BracketScores) -> dict[str, float]:
    return {name: round(value, 2) for name, value in asdict(scores).items()}
