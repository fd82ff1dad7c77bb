"""Scores a parser against gold trees, in memory and from the command line::

    python -m treeviews.pipeline.parsers.evaluate_parser PARSER FILE [FILE ...]

PARSER is a parser's folder or the name of one that ships. A dependency parser is scored on CoNLL-U
files, a constituency parser on a file of bracketed trees.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from treeviews.pipeline.base.bundled import parser_folder
from treeviews.pipeline.base.foreign_text import told
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsers.devices import resolve_device
from treeviews.pipeline.parsers.parser_files import STAGE_OF_KIND, read_description
from treeviews.pipeline.parsers.sentence_parser import SentenceParser, load_parser
from treeviews.pipeline.trees.flat_trees import TOP_LABEL, ConstituencyParse, DependencyParse
from treeviews.pipeline.trees.tree_scores import (
    BracketScores,
    DependencyScores,
    score_brackets,
    score_dependencies,
)
from treeviews.pipeline.trees.treebanks import (
    BracketedSentence,
    TreebankSentence,
    read_bracketed,
    read_treebank,
)


def evaluate_dependency_parser(
    parser: SentenceParser[DependencyParse], sentences: Sequence[TreebankSentence]
) -> DependencyScores:
    """Returns the parser's scores on gold tokens; every token of a rejected sentence is wrong.

    Raises:
        ValueError: no sentence.
    """
    answers = parser.parse([sentence.tokens for sentence in sentences])
    return score_dependencies(sentences, scored_dependencies(sentences, answers))


def scored_dependencies(
    sentences: Sequence[TreebankSentence], answers: Sequence[DependencyParse | Refusal]
) -> list[DependencyParse]:
    """Returns what is scored of a parser's answers: of a rejected sentence, no right token."""
    return [
        DependencyParse([-1] * len(sentence.heads), [""] * len(sentence.heads))
        if isinstance(answer, Refusal)
        else answer
        for sentence, answer in zip(sentences, answers, strict=True)
    ]


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
        rounded = {
            convention: {name: round(value, 2) for name, value in asdict(scores).items()}
            for convention, scores in (("evalb", self.evalb), ("all_tokens", self.all_tokens))
        }
        return rounded | {"rejected": self.rejected}


def evaluate_constituency_parser(
    parser: SentenceParser[ConstituencyParse], sentences: Sequence[BracketedSentence]
) -> ConstituencyEvaluation:
    """Parses the sentences' tokens and returns the scores; the parser never sees gold tags."""
    gold = [sentence.parse for sentence in sentences]
    answers = parser.parse([sentence.tokens for sentence in sentences])
    rejected = Counter(answer.reason for answer in answers if isinstance(answer, Refusal))
    predicted = scored_constituents(sentences, answers)
    return ConstituencyEvaluation(
        evalb=score_brackets(gold, predicted),
        all_tokens=score_brackets(gold, predicted, all_tokens=True),
        rejected=dict(rejected),
    )


def scored_constituents(
    sentences: Sequence[BracketedSentence], answers: Sequence[ConstituencyParse | Refusal]
) -> list[ConstituencyParse]:
    """Returns what is scored of a parser's answers: of a rejected sentence, no bracket."""
    return [
        ConstituencyParse([0], [len(gold.tokens)], [TOP_LABEL], [""] * len(gold.tokens))
        if isinstance(answer, Refusal)
        else answer
        for gold, answer in zip(sentences, answers, strict=True)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Scores as the arguments say; returns the exit status, 2 for a user's mistake."""
    options = _arguments().parse_args(arguments)
    torch.set_num_threads(options.threads)
    try:
        report = _report(options)
    except ValueError as error:
        print(f"error: {told(error, keep_lines=True)}", file=sys.stderr)
        return 2
    print(json.dumps(report, indent=1))
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m treeviews.pipeline.parsers.evaluate_parser",
        description="Scores a parser on a treebank and prints the scores as JSON.",
    )
    parser.add_argument("parser", type=parser_folder, help="folder, or name of a parser that ships")
    parser.add_argument(
        "files", type=Path, nargs="+", help="CoNLL-U files, or one of bracketed trees"
    )
    parser.add_argument(
        "--documents",
        type=Path,
        help="of bracketed trees: CoNLL-U file that tells the sentences' documents",
    )
    parser.add_argument(
        "--exclude", nargs="*", default=[], help="leave out documents whose id begins so"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    return parser


def _report(options: argparse.Namespace) -> dict[str, Any]:
    """Returns what is printed of a parser on a treebank.

    Raises:
        ValueError: a parser, a device or a file that is none; names it and the remedy.
    """
    files, excluded = options.files, options.exclude
    stage = STAGE_OF_KIND.get(read_description(options.parser).kind, "dependencies")
    parser: Any = load_parser(options.parser, stage, device=resolve_device(options.device))
    treebank: dict[str, Any]
    sentences: Any
    if stage == "dependencies":
        treebank = {"files": list(map(str, files)), "excluded_documents": excluded}
        sentences = read_treebank(files, exclude_document_prefixes=excluded)
    elif len(files) > 1:
        raise ValueError(f"{len(files)} files: give one of bracketed trees")
    else:
        treebank = {"treebank": files[0].name, "excluded": excluded}
        sentences = read_bracketed(
            files[0], documents=options.documents, exclude_document_prefixes=excluded
        )
    started = time.monotonic()
    if stage == "dependencies":
        scores = asdict(evaluate_dependency_parser(parser, sentences))
    else:
        scores = evaluate_constituency_parser(parser, sentences).as_json()
    seconds = time.monotonic() - started
    return {
        "parser": parser.name,
        "checksum": parser.checksum,
        **treebank,
        **scores,
        "seconds": round(seconds, 2),
        "sentences_per_second": round(len(sentences) / seconds, 1),
    }


if __name__ == "__main__":
    raise SystemExit(main())
