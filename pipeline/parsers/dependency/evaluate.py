"""Scores a dependency parser against gold trees, in memory and from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from pipeline.base.refusal import Refusal
from pipeline.parsers.adapters.base import SentenceParser
from pipeline.parsers.adapters.evaluate_command import evaluation_arguments, print_evaluation
from pipeline.parsers.load import load_parser
from pipeline.trees.parses import DependencyParse
from pipeline.trees.tree_scores import DependencyScores, score_dependencies
from pipeline.trees.treebanks import TreebankSentence, read_treebank


def evaluate_dependency_parser(
    parser: SentenceParser[DependencyParse], sentences: Sequence[TreebankSentence]
) -> DependencyScores:
    """Returns the parser's scores on gold tokens; every token of a rejected sentence is wrong.

    Raises:
        ValueError: no sentence.
    """
    answers = parser.parse([sentence.tokens for sentence in sentences])
    parses = [
        DependencyParse([-1] * len(sentence.heads), [""] * len(sentence.heads))
        if isinstance(answer, Refusal)
        else answer
        for sentence, answer in zip(sentences, answers, strict=True)
    ]
    return score_dependencies(sentences, parses)


def main(arguments: Sequence[str] | None = None) -> int:
    """Scores as the arguments say; returns the exit status, 2 for a user's mistake."""
    parser = evaluation_arguments("dependency", "dependencies", "CoNLL-U files")
    parser.add_argument("files", type=Path, nargs="+", help="CoNLL-U files with gold trees")
    options = parser.parse_args(arguments)
    return print_evaluation(
        partial(load_parser, stage="dependencies"),
        options,
        lambda: read_treebank(options.files, exclude_document_prefixes=options.exclude),
        lambda parser, sentences: asdict(evaluate_dependency_parser(parser, sentences)),
        treebank={
            "files": [str(path) for path in options.files],
            "excluded_documents": options.exclude,
        },
    )


if __name__ == "__main__":
    raise SystemExit(main())
