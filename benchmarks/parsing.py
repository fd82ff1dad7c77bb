"""Measures the parsers beside the libraries' own prediction with the same weights.

``python -m benchmarks.parsing`` parses the default run's sentences, or those of treebanks given
with ``--conllu``, on one thread: supar's ``Parser.predict`` and our dependency parser, exact and
fast; benepar's length-bucketed ``ChartParser.parse``, its ``parse_sents`` and our constituency
parser. All take turns, begin every round anew, and their trees are compared. The last line it
prints is one JSON object. Its rates count CPU seconds of the best round; ``dep_fast_las_loss`` is
of the treebank's trees where there are some, else of those of the exact mode.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import torch

from benchmarks.parsing_contestants import (
    constituency_contestants,
    dependency_contestants,
    parse_sents_contestant,
)
from benchmarks.parsing_input import ParsingInput, add_text_options, chosen_input
from benchmarks.parsing_rate import measure
from benchmarks.parsing_tables import Results, parsing_table
from benchmarks.quick import parse_arguments
from benchmarks.references.benepar_parse import BUCKET_TOKENS
from benchmarks.report import fail, header, print_last_line, print_table
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS, parser_folder
from treeviews.pipeline.parsers.devices import fast_dtype

PARSE_SENTS_WARM_UP = 50
"""Sentences; it is slow."""
QUICK = {
    "sentences": 512,
    "rounds": 1,
    "bucket_tokens": [1000],
    "parse_sents_sentences": 20,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 0, or what `fail` says of what went wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parse_arguments(_parser(), given, QUICK)
    torch.set_num_threads(1)
    try:
        _check(options)
        text = chosen_input(options, options.sentences)
        run = header("benchmarks.parsing", given, text=text.text, seed=0, quick=options.quick)
        results = _measure(text, options)
    except (FileNotFoundError, RuntimeError, ValueError) as error:
        return fail(error)
    print_table(parsing_table(results, options.rounds), run)
    print_last_line(results.figures())
    return 0


def _measure(text: ParsingInput, options: argparse.Namespace) -> Results:
    """Returns all parsers' rates and trees; tells on standard error what is being measured."""
    dependency, constituency = options.parsers
    return Results(
        text=text,
        fast_is_exact=fast_dtype(torch.device("cpu")) == torch.float32,
        dependency=measure(
            dependency_contestants(dependency), text.sentences, text.warm_up, options.rounds
        ),
        constituency=measure(
            constituency_contestants(constituency, options.bucket_tokens),
            text.sentences,
            text.warm_up,
            options.rounds,
        )
        | measure(
            [parse_sents_contestant(constituency)],
            text.sentences[: options.parse_sents_sentences],
            text.warm_up[:PARSE_SENTS_WARM_UP],
            options.parse_sents_rounds,
        ),
    )


def _check(options: argparse.Namespace) -> None:
    """Raises:
    ValueError: a number below what it may be.
    """
    least = {"sentences": 1, "rounds": 1, "parse_sents_rounds": 1}
    least |= {} if options.parse_sents_sentences is None else {"parse_sents_sentences": 1}
    if min(options.bucket_tokens) < 1:
        raise ValueError("--bucket-tokens must be at least 1")
    for name, smallest in least.items():
        if getattr(options, name) < smallest:
            raise ValueError(f"--{name.replace('_', '-')} must be at least {smallest}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.parsing", description=(__doc__ or "").partition("\n")[0]
    )
    add_text_options(parser)
    add = parser.add_argument
    add("--sentences", type=int, default=2000)
    add(
        "--parsers",
        type=parser_folder,
        nargs=2,
        metavar=("DEPENDENCY", "CONSTITUENCY"),
        default=list(BUNDLED_PARSERS.values()),
        help="folders, or names of parsers that ship; by default the bundled ones",
    )
    add("--rounds", type=int, default=3, help="turns of each; the best one counts")
    add(
        "--bucket-tokens",
        type=int,
        nargs="+",
        default=list(BUCKET_TOKENS),
        help="sizes of benepar's length buckets; of several the fastest counts",
    )
    add("--parse-sents-sentences", type=int, help="parse_sents on the first ones only; it is slow")
    add("--parse-sents-rounds", type=int, default=1)
    return parser


if __name__ == "__main__":
    sys.exit(main())
