"""The command line that scores a parser folder on a treebank, as both kinds of parser have it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from pipeline.base.bundled import parser_folder
from pipeline.base.foreign_text import told
from pipeline.parsers.adapters.base import SentenceParser
from pipeline.parsers.adapters.device import resolve_device


def evaluation_arguments(kind: str, what: str) -> argparse.ArgumentParser:
    """Returns the arguments that both commands take."""
    parser = argparse.ArgumentParser(
        prog=f"python -m pipeline.parsers.{kind}.evaluate",
        description=f"Scores a {kind} parser on {what} and prints the scores as JSON.",
    )
    parser.add_argument("parser", type=parser_folder, help="folder, or name of a parser that ships")
    parser.add_argument(
        "--exclude", nargs="*", default=[], help="leave out documents whose id begins so"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    return parser


def print_evaluation(
    load: Callable[..., SentenceParser[Any]],
    options: argparse.Namespace,
    read: Callable[[], Sequence[Any]],
    evaluate: Callable[[Any, Sequence[Any]], Mapping[str, Any]],
    *,
    treebank: Mapping[str, Any],
) -> int:
    """Scores a parser and prints a report; returns the exit status, 2 for a user's mistake.

    Args:
        load: gives the parser of a folder on a device.
        options: of `evaluation_arguments`.
        read: gives the sentences with their trees.
        evaluate: gives the scores of a parser on them.
        treebank: what the report says of them.
    """
    torch.set_num_threads(options.threads)
    try:
        parser = load(options.parser, device=resolve_device(options.device))
        sentences = read()
    except ValueError as error:
        print(f"error: {told(error, keep_lines=True)}", file=sys.stderr)
        return 2
    started = time.monotonic()
    scores = evaluate(parser, sentences)
    seconds = time.monotonic() - started
    report = {
        "parser": parser.name,
        "checksum": parser.checksum,
        **treebank,
        **scores,
        "seconds": round(seconds, 2),
        "sentences_per_second": round(len(sentences) / seconds, 1),
    }
    print(json.dumps(report, indent=1))
    return 0
