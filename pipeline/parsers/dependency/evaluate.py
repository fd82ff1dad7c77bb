"""Scores a dependency parser against gold trees, in memory and from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline.base.refusal import Refusal
from pipeline.parsers.adapters.adapter import BatchedParser
from pipeline.parsers.adapters.base import SentenceParser
from pipeline.parsers.adapters.evaluate_command import evaluation_arguments, print_evaluation
from pipeline.parsers.adapters.folder_files import TRANSFORMER_DEPENDENCY, named_kind
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
    return score_dependencies(sentences, scored_parses(sentences, answers))


def scored_parses(
    sentences: Sequence[TreebankSentence], answers: Sequence[DependencyParse | Refusal]
) -> list[DependencyParse]:
    """Returns what is scored of a parser's answers: of a rejected sentence, no right token."""
    return [
        DependencyParse([-1] * len(sentence.heads), [""] * len(sentence.heads))
        if isinstance(answer, Refusal)
        else answer
        for sentence, answer in zip(sentences, answers, strict=True)
    ]


def _load(folder: Path, *, device: str) -> BatchedParser[Any, Any]:
    """Returns the parser of a folder; imports only what its kind needs, which takes seconds."""
    if named_kind(folder) == TRANSFORMER_DEPENDENCY:
        from pipeline.parsers.dependency.transformer_adapter import TransformerDependencyParser

        return TransformerDependencyParser.load(folder, device=device)
    from pipeline.parsers.dependency.supar_adapter import SuparDependencyParser

    return SuparDependencyParser.load(folder, device=device)


def main(arguments: Sequence[str] | None = None) -> int:
    """Scores as the arguments say; returns the exit status, 2 for a user's mistake."""
    parser = evaluation_arguments("dependency", "CoNLL-U files")
    parser.add_argument("files", type=Path, nargs="+", help="CoNLL-U files with gold trees")
    options = parser.parse_args(arguments)
    return print_evaluation(
        _load,
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
