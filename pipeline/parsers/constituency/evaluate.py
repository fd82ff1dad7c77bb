"""Command line: scores a constituency parser on a file of bracketed trees, as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from pipeline.parsers.constituency.benepar_adapter import BeneparConstituencyParser
from pipeline.parsers.constituency.evaluation import evaluate_constituency_parser
from pipeline.treebanks.bracketed import read_bracketed


def main(arguments: Sequence[str] | None = None) -> int:
    """Scores as the arguments say and prints JSON; returns the exit status."""
    options = _argument_parser().parse_args(arguments)
    torch.set_num_threads(options.threads)
    try:
        parser = BeneparConstituencyParser.load(options.parser, device=options.device)
        sentences = read_bracketed(
            options.treebank,
            documents=options.documents,
            exclude_document_prefixes=options.exclude,
        )
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    started = time.monotonic()
    scores = evaluate_constituency_parser(parser, sentences).as_json()
    seconds = time.monotonic() - started
    report = {
        "parser": parser.name,
        "checksum": parser.checksum,
        "treebank": options.treebank.name,
        "excluded": options.exclude,
        **scores,
        "sentences_per_second": round(len(sentences) / seconds, 1),
    }
    print(json.dumps(report, indent=1))
    return 0


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pipeline.parsers.constituency.evaluate")
    parser.description = __doc__
    parser.add_argument("parser", type=Path, help="folder of the parser")
    parser.add_argument("treebank", type=Path, help="file of bracketed trees")
    parser.add_argument(
        "--documents", type=Path, help="CoNLL-U file that tells the sentences' documents"
    )
    parser.add_argument(
        "--exclude", nargs="*", default=[], help="leave out documents whose id begins so"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
