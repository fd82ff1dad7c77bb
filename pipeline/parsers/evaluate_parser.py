"""Scores a parser against gold trees, in memory and from the command line::

    python -m treeviews.pipeline.parsers.evaluate_parser PARSER FILE [FILE ...]

PARSER is a parser's folder or the name of one that ships. A dependency parser is scored on CoNLL-U
files, a constituency parser on files of bracketed trees.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from treeviews.pipeline.base.bundled import parser_folder
from treeviews.pipeline.base.foreign_text import told
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsers.parser_files import STAGE_OF_KIND, read_description
from treeviews.pipeline.parsers.sentence_parser import SentenceParser, load_parser
from treeviews.pipeline.trees.flat_trees import Parse
from treeviews.pipeline.trees.tree_scores import AttachmentCounts, BracketCounts, score
from treeviews.pipeline.trees.treebanks import TreebankSentence, read_trees


def evaluate_parser(parser: SentenceParser[Parse], sentences: Sequence[Any]) -> dict[str, Any]:
    """Returns the parser's scores on gold tokens, of which it never sees the tags.

    Of dependencies, every token of a rejected sentence is wrong. Of constituents, ``evalb`` are the
    scores of EVALB with COLLINS.prm: punctuation deleted, ADVP and PRT alike; ``all_tokens`` keeps
    punctuation, and tells ADVP and PRT apart; ``rejected`` are the sentences that the parser
    refused, by reason, scored as trees without a bracket.
    """
    answers = parser.parse([sentence.tokens for sentence in sentences])
    if isinstance(sentences[0], TreebankSentence):
        return score(AttachmentCounts(), sentences, answers)
    rejected = Counter(answer.reason for answer in answers if isinstance(answer, Refusal))
    return {
        "evalb": score(BracketCounts(), sentences, answers),
        "all_tokens": score(BracketCounts(all_tokens=True), sentences, answers),
        "rejected": dict(rejected),
    }


def rounded(scores: dict[str, Any]) -> dict[str, Any]:
    """Returns the scores as they are kept: those of constituents with two decimals."""
    return {
        name: {inner: round(number, 2) for inner, number in value.items()}
        if isinstance(value, dict)
        else value
        for name, value in scores.items()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Scores as the arguments say; returns the exit status, 2 for a user's mistake."""
    parser = argparse.ArgumentParser(
        prog="python -m treeviews.pipeline.parsers.evaluate_parser",
        description="Scores a parser on a treebank and prints the scores as JSON.",
    )
    add = parser.add_argument
    add("parser", type=parser_folder, help="folder, or name of a parser that ships")
    add("files", type=Path, nargs="+", help="CoNLL-U files, or files of bracketed trees")
    add("--exclude", nargs="*", default=[], help="of CoNLL-U: not documents whose id begins so")
    add("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    try:
        report = _report(options.parser, options.files, options.exclude)
    except ValueError as error:
        print(f"error: {told(error, keep_lines=True)}", file=sys.stderr)
        return 2
    print(json.dumps(report, indent=1))
    return 0


def _report(folder: Path, files: Sequence[Path], excluded: Sequence[str]) -> dict[str, Any]:
    """Returns what is printed of a parser on a treebank.

    Raises:
        ValueError: a parser or a file that is none, or documents are excluded where there are
            none; names it and the remedy.
    """
    stage = STAGE_OF_KIND.get(read_description(folder).kind, "dependencies")
    parser, sentences = load_parser(folder, stage), read_trees(stage, files, excluded)
    started = time.monotonic()
    scores = evaluate_parser(parser, sentences)
    seconds = time.monotonic() - started
    return {
        "parser": parser.name,
        "checksum": parser.checksum,
        "files": list(map(str, files)),
        "excluded_documents": excluded,
        **rounded(scores),
        "seconds": round(seconds, 2),
        "sentences_per_second": round(len(sentences) / seconds, 1),
    }


if __name__ == "__main__":
    raise SystemExit(main())
