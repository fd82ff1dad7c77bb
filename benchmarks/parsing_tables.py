"""What the parsing benchmark prints of its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.parsing_contestants import EXACT, FAST, PARSE_SENTS, SUPAR
from benchmarks.parsing_input import ParsingInput
from benchmarks.parsing_rate import Measured, las
from benchmarks.report import Table


@dataclass(frozen=True, slots=True)
class Results:
    """The contestants of both kinds, by label."""

    text: ParsingInput
    dependency: Mapping[str, Measured]
    constituency: Mapping[str, Measured]
    fast_is_exact: bool
    """Whether this processor has no faster arithmetic, so that both modes are the same one."""

    @property
    def bucketed(self) -> Measured:
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


def _rates(one: Measured) -> tuple[str, ...]:
    rates = (one.rate, one.num_sentences / one.median_seconds, one.num_sentences / one.wall_seconds)
    return one.label, *(f"{rate:.1f}" for rate in rates)
