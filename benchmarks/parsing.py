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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from benchmarks.harness import Benchmark, Measured, Table, check_least
from benchmarks.parsing_input import ParsingInput, add_text_options, chosen_input
from benchmarks.parsing_rate import (
    EXACT,
    FAST,
    PARSE_SENTS,
    SUPAR,
    Parsed,
    constituency_contestants,
    dependency_contestants,
    las,
    measure,
    parse_sents_contestant,
)
from benchmarks.references.benepar_parse import BUCKET_TOKENS
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS, parser_folder
from treeviews.pipeline.parsers.devices import fast_dtype


@dataclass(frozen=True, slots=True)
class Results:
    """The contestants of both kinds, by label."""

    text: ParsingInput
    dependency: Mapping[str, Parsed]
    constituency: Mapping[str, Parsed]
    fast_is_exact: bool
    """Whether this processor has no faster arithmetic, so that both modes are the same one."""

    @property
    def bucketed(self) -> Parsed:
        """benepar's length buckets of the size that was fastest."""
        theirs = [one for label, one in self.constituency.items() if "buckets" in label]
        return min(theirs, key=lambda one: one.seconds)

    def figures(self) -> dict[str, float | str]:
        """Returns the figures of the last line: ratios of rates, shares of sentences, LAS."""
        exact, fast = self.dependency[EXACT], self.dependency[FAST]
        supar, chart = self.dependency[SUPAR], self.constituency[EXACT]
        parse_sents, bucketed = self.constituency[PARSE_SENTS], self.bucketed
        return {
            "dep_exact_vs_supar": round(exact.rate / supar.rate, 3),
            "dep_fast_vs_supar": round(fast.rate / supar.rate, 3),
            "dep_identical": exact.identical(supar),
            "dep_fast_las_loss": round(self.las(EXACT) - self.las(FAST), 3),
            "const_vs_parse_sents": round(chart.rate / parse_sents.rate, 3),
            "const_vs_bucketed": round(chart.rate / bucketed.rate, 3),
            "const_identical": min(chart.identical(parse_sents), chart.identical(bucketed)),
            "las_measured_against": "exact mode" if self.text.gold is None else "treebank",
            "sentences": len(self.text.sentences),
        }

    def las(self, label: str) -> float:
        """Returns a dependency parser's LAS in percent, against what the text offers."""
        gold = self.text.gold or self.dependency[EXACT].trees
        return las(self.text.sentences, gold, self.dependency[label].trees)


def parsing_table(results: Results, rounds: int) -> Table:
    """Returns the rates, each beside those that it is compared with."""
    columns = (
        *("trees", "implementation", "sentences/CPU s", "median", "sentences/s"),
        "times supar / buckets",
        *("times parse_sents", "same trees (%)", "LAS"),
    )
    parse_sents = results.constituency[PARSE_SENTS]
    tokens = sum(map(len, results.text.sentences))
    notes = [
        f"{len(results.text.sentences)} sentences of {tokens / len(results.text.sentences):.1f} "
        f"tokens on average; warmed up on {len(results.text.warm_up)}",
        f"sentences/CPU s: a CPU second of the best of {rounds} rounds, on one thread; all take "
        "turns, and each is loaded anew for every round, so that nothing is kept from the round "
        "before; median: the same of the round in the middle; sentences/s: on the clock, the best",
        "times: of sentences/CPU s, which other work on the machine distorts less",
        "times supar / buckets: how many times the rate of supar's predict, or of benepar's length "
        f"buckets of the fastest size ({results.bucketed.label})",
        f"parse_sents: {parse_sents.num_sentences} sentences, {len(parse_sents.times)} rounds",
        "same trees: sentences whose tree is that of supar, or of those buckets, in every part",
        "LAS: against the "
        + ("trees of the exact mode" if results.text.gold is None else "treebank"),
    ]
    if results.fast_is_exact:
        notes.append(
            f"{EXACT} and {FAST} are the same arithmetic on this processor, which multiplies "
            "nothing faster than float32: what their rates differ by is noise"
        )
    rows = [*_dependency_rows(results), *_constituency_rows(results)]
    return Table("Parsers beside the libraries' own prediction", columns, rows, notes)


def _dependency_rows(results: Results) -> Iterator[tuple[str, ...]]:
    supar = results.dependency[SUPAR]
    for label, one in results.dependency.items():
        times = (f"{one.rate / supar.rate:.2f}", "-")
        same = f"{100 * one.identical(supar):.2f}"
        yield ("dependency", *_rates(one), *times, same, f"{results.las(label):.2f}")


def _constituency_rows(results: Results) -> Iterator[tuple[str, ...]]:
    bucketed, parse_sents = results.bucketed, results.constituency[PARSE_SENTS]
    for one in results.constituency.values():
        times = (f"{one.rate / bucketed.rate:.2f}", f"{one.rate / parse_sents.rate:.1f}")
        yield ("constituency", *_rates(one), *times, f"{100 * one.identical(bucketed):.2f}", "-")


def _rates(one: Parsed) -> tuple[str, ...]:
    rates = (one.rate, one.num_sentences / one.median_seconds, one.num_sentences / one.wall_seconds)
    return one.label, *(f"{rate:.1f}" for rate in rates)


PARSE_SENTS_WARM_UP = 50
"""Sentences; it is slow."""
QUICK = {
    "sentences": 512,
    "rounds": 1,
    "bucket_tokens": [1000],
    "parse_sents_sentences": 20,
}


def _measure(options: argparse.Namespace) -> Measured:
    torch.set_num_threads(1)
    check_least(options, sentences=1, rounds=1, parse_sents_rounds=1, parse_sents_sentences=1)
    if min(options.bucket_tokens) < 1:
        raise ValueError("--bucket-tokens must be at least 1")
    text = chosen_input(options, options.sentences)
    results = _results(text, options)
    return Measured([parsing_table(results, options.rounds)], results.figures(), text=text.text)


def _results(text: ParsingInput, options: argparse.Namespace) -> Results:
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


def _add_options(parser: argparse.ArgumentParser) -> None:
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


main = Benchmark("benchmarks.parsing", __doc__ or "", _add_options, _measure, QUICK)

if __name__ == "__main__":
    sys.exit(main())
