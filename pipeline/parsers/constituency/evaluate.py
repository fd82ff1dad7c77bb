"""Scores a constituency parser on treebank sentences, in memory and from the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.base.refusal import Refusal
from pipeline.parsers.adapters.adapter import BatchedParser
from pipeline.parsers.adapters.base import SentenceParser
from pipeline.parsers.adapters.evaluate_command import evaluation_arguments, print_evaluation
from pipeline.parsers.adapters.folder_files import TRANSFORMER_CONSTITUENCY, named_kind
from pipeline.trees.flat import TOP_LABEL
from pipeline.trees.parses import ConstituencyParse
from pipeline.trees.tree_scores import BracketScores, score_brackets
from pipeline.trees.treebanks import BracketedSentence, read_bracketed


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
    predicted = scored_parses(sentences, answers)
    return ConstituencyEvaluation(
        evalb=score_brackets(gold, predicted),
        all_tokens=score_brackets(
            gold, predicted, keep_punctuation=True, equate_advp_and_prt=False
        ),
        rejected=dict(rejected),
    )


def scored_parses(
    sentences: Sequence[BracketedSentence], answers: Sequence[ConstituencyParse | Refusal]
) -> list[ConstituencyParse]:
    """Returns what is scored of a parser's answers: of a rejected sentence, no bracket."""
    return [
        ConstituencyParse([0], [len(gold.tokens)], [TOP_LABEL], [""] * len(gold.tokens))
        if isinstance(answer, Refusal)
        else answer
        for gold, answer in zip(sentences, answers, strict=True)
    ]


def _rounded(scores: BracketScores) -> dict[str, float]:
    return {name: round(value, 2) for name, value in asdict(scores).items()}


def _load(folder: Path, *, device: str) -> BatchedParser[Any, Any]:
    """Returns the parser of a folder; imports only what its kind needs, which takes seconds."""
    if named_kind(folder) == TRANSFORMER_CONSTITUENCY:
        from pipeline.parsers.constituency.transformer_adapter import TransformerConstituencyParser

        return TransformerConstituencyParser.load(folder, device=device)
    from pipeline.parsers.constituency.benepar_adapter import BeneparConstituencyParser

    return BeneparConstituencyParser.load(folder, device=device)


def main(arguments: Sequence[str] | None = None) -> int:
    """Scores as the arguments say; returns the exit status, 2 for a user's mistake."""
    parser = evaluation_arguments("constituency", "a file of bracketed trees")
    parser.add_argument("treebank", type=Path, help="file of bracketed trees")
    parser.add_argument(
        "--documents", type=Path, help="CoNLL-U file that tells the sentences' documents"
    )
    options = parser.parse_args(arguments)
    return print_evaluation(
        _load,
        options,
        lambda: read_bracketed(
            options.treebank,
            documents=options.documents,
            exclude_document_prefixes=options.exclude,
        ),
        lambda parser, sentences: evaluate_constituency_parser(parser, sentences).as_json(),
        treebank={"treebank": options.treebank.name, "excluded": options.exclude},
    )


if __name__ == "__main__":
    raise SystemExit(main())
