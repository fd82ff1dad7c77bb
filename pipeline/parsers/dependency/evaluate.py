"""Command line: scores a parser folder on CoNLL-U files and prints the scores as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from pipeline.parsers.dependency.evaluation import evaluate_dependency_parser
from pipeline.parsers.dependency.supar_adapter import SuparDependencyParser
from pipeline.treebanks.conllu import read_treebank


def main(arguments: Sequence[str] | None = None) -> int:
    """Scores as the arguments say; returns the exit status, 2 for a user's mistake."""
    options = _argument_parser().parse_args(arguments)
    torch.set_num_threads(options.threads)
    try:
        sentences = read_treebank(options.files, exclude_document_prefixes=options.exclude)
        parser = SuparDependencyParser.load(options.parser)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    started = time.monotonic()
    scores = evaluate_dependency_parser(parser, sentences)
    seconds = time.monotonic() - started
    report = {
        "parser": parser.name,
        "checksum": parser.checksum,
        "files": [str(path) for path in options.files],
        "excluded_documents": options.exclude,
        **asdict(scores),
        "seconds": round(seconds, 2),
        "sentences_per_second": round(len(sentences) / seconds, 1),
    }
    print(json.dumps(report, indent=1))
    return 0


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.parsers.dependency.evaluate", description=__doc__
    )
    parser.add_argument("parser", type=Path, help="parser folder")
    parser.add_argument("files", type=Path, nargs="+", help="CoNLL-U files with gold trees")
    parser.add_argument(
        "--exclude", nargs="*", default=[], help="leave out documents whose id begins so"
    )
    parser.add_argument("--threads", type=int, default=1)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
