"""Measures whether exact dependency trees, sought in reduced precision first, are those of float32.

``python -m benchmarks.exactness [--quick]`` parses the default run's sentences, or those of
treebanks given with ``--conllu``, both ways on one thread, and compares all trees. The exit status
is 1 if one differs. The last line it prints is one JSON object.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.parsing_input import add_text_options, chosen_input
from benchmarks.quick import parse_arguments
from benchmarks.report import (
    LackingError,
    Table,
    fail,
    header,
    print_last_line,
    print_table,
    tell,
)
from pipeline.base.bundled import BUNDLED_PARSERS, parser_folder
from pipeline.base.watched import keep_memory
from pipeline.parsers.adapters.base import Sentence
from pipeline.parsers.adapters.checked import LEAST_SENTENCES
from pipeline.parsers.dependency.supar_adapter import SuparDependencyParser
from pipeline.parsing.parse_shard import POOL_ROWS

QUICK = {"sentences": 3_000}


@dataclass(slots=True)
class Compared:
    """What both ways took and found."""

    num_sentences: int = 0
    different: int = 0
    kept: int = 0
    """Sentences whose tree is from reduced precision; all others were parsed in float32."""
    seconds: float = 0.0
    """CPU seconds of reduced precision first, all of it."""
    float32_seconds: float = 0.0


def compare(parser: SuparDependencyParser, sentences: Sequence[Sentence]) -> Compared:
    """Parses sentences both ways, as many at once as a shard job does.

    Raises:
        LackingError: this processor multiplies nothing faster than float32.
        ValueError: there are so few sentences that all are parsed in float32 at once.
        RuntimeError: reduced precision was certain of no sentence, so that nothing was compared.
    """
    first = parser.checked
    if first is None:
        raise LackingError(
            "nothing to compare: this processor multiplies nothing faster than float32; take one "
            "with bfloat16 instructions"
        )
    if len(sentences) < LEAST_SENTENCES:
        raise ValueError(
            f"{len(sentences)} sentences are parsed in float32 at once; take {LEAST_SENTENCES}"
        )
    found = Compared()
    certain_answers = parser._certain_answers

    def counted(*given: Any) -> dict[int, Any]:
        answers = certain_answers(*given)
        found.kept += len(answers)
        return answers

    parser._certain_answers = counted  # type: ignore[method-assign, assignment]
    for start in range(0, len(sentences), POOL_ROWS):
        pool = sentences[start : start + POOL_ROWS]
        tell(f"{start:,} of {len(sentences):,} sentences")
        began = time.process_time()
        trees = parser.parse(pool)
        found.seconds += time.process_time() - began
        parser.checked = None
        began = time.process_time()
        expected = parser.parse(pool)
        found.float32_seconds += time.process_time() - began
        parser.checked = first
        found.different += sum(one != other for one, other in zip(trees, expected, strict=True))
        found.num_sentences += len(pool)
    if not found.kept:
        raise RuntimeError(
            "nothing to compare: no tree of reduced precision was kept; the log tells why, or the "
            "sentences are too short to learn a margin from"
        )
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 0, 1 if a tree differs, or 2 for a user's mistake."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parse_arguments(_parser(), given, QUICK)
    torch.set_num_threads(1)
    try:
        if options.sentences < 1:
            raise ValueError("--sentences must be at least 1")
        text = chosen_input(options, options.sentences, fewer=True)
        run = header("benchmarks.exactness", given, text=text.text, seed=0, quick=options.quick)
        parser = SuparDependencyParser.load(options.parser)
        found = compare(parser, text.sentences)
    except (FileNotFoundError, RuntimeError, ValueError) as error:
        return fail(error)
    print_table(_table(found), run)
    print_last_line(
        {"sentences": found.num_sentences, "different": found.different, "kept": found.kept}
    )
    if found.different:
        return fail(RuntimeError(f"{found.different} trees differ from those of float32"))
    return 0


def _table(found: Compared) -> Table:
    return Table(
        "Exact dependency trees, in reduced precision first",
        ["sentences", "trees that differ", "kept from bfloat16", "times float32 alone"],
        [
            [
                f"{found.num_sentences:,}",
                str(found.different),
                f"{found.kept / found.num_sentences:.1%}",
                f"{found.float32_seconds / found.seconds:.2f}",
            ]
        ],
        ["Times are CPU seconds of one round, one thread; each word was spelled by the first way."],
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.exactness", description=(__doc__ or "").partition("\n")[0]
    )
    add_text_options(parser)
    add = parser.add_argument
    add(
        "--sentences",
        type=int,
        default=10_000,
        help="at most so many of the first ones; default: 10000; fewer than "
        f"{LEAST_SENTENCES} are refused, as they are parsed in float32 at once",
    )
    add(
        "--parser",
        type=parser_folder,
        default=BUNDLED_PARSERS["dependencies"],
        help="parser folder",
    )
    return parser


if __name__ == "__main__":
    keep_memory()  # as jobs do
    raise SystemExit(main())
