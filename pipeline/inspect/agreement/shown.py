"""A comparison as lines for people, and its sentences as drawings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from pipeline.base.foreign_text import printable
from pipeline.inspect.agreement.comparison import Comparison, DifferingSentence
from pipeline.inspect.agreement.tallies import Agreement
from pipeline.inspect.drawing.page import DrawnSentence
from pipeline.inspect.drawing.rows import constituent_figure, dependency_figure

TOP = 20
"""Relations or labels that are named."""
TOP_EXCHANGED = 10
_NAMES = {"uas": "UAS", "las": "LAS", "las_universal": "LAS without subtypes", "f1": "F1"}
_COUNTS = frozenset({"tokens", "first", "second", "both"})


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """Yields how far two parses agree, and in what the sentences differ that differ most."""
    parses = comparison.parses
    names = [printable(name) for name in parses.names]
    yield f"{parses.stage}  first: {names[0]}, second: {names[1]}"
    if parses.left_out:
        yield f"  left out: shards {list(parses.left_out)}, which one of them lacks"
    yield _line("sentences", f"{comparison.sentences:,}, {comparison.compared:,} with both trees")
    for whom, count in comparison.refused.items():
        yield _line("refused", f"{count:,} {whom}")
    if not comparison.compared:
        return
    share = comparison.identical / comparison.compared
    yield _line("identical", f"{comparison.identical:,} ({share:.1%})")
    for name, scores in comparison.scores.items():
        yield _line(name, ", ".join(_score(key, value) for key, value in scores.items()))
    yield from _label_lines(comparison)
    if comparison.most_different:
        yield ""
        yield "sentences that differ most"
    for one in comparison.most_different:
        yield from _sentence_lines(one)


def _line(name: str, value: str) -> str:
    return f"  {name:>13}  {value}"


def _score(key: str, value: float) -> str:
    if key in _COUNTS:
        return f"{key} {value:,}"
    return f"{_NAMES.get(key, key)} {value:.1f} %"


def _label_lines(comparison: Comparison) -> Iterator[str]:
    what = "relation" if comparison.parses.stage == "dependencies" else "label"
    yield ""
    yield f"  {what:>13}  {'first':>9} {'second':>9} {'both':>9}  agreement"
    for name, one in islice(comparison.by_label.items(), TOP):
        yield f"  {printable(name):>13}  {_counts(one)}  {one.share:8.1f} %"
    if (rest := len(comparison.by_label) - TOP) > 0:
        yield f"  {'':>13}  and {rest} more, which --json names"
    if comparison.exchanged:
        pairs = (
            f"{printable(one)}/{printable(other)} {count:,}"
            for (one, other), count in islice(comparison.exchanged.items(), TOP_EXCHANGED)
        )
        yield _line("exchanged", ", ".join(pairs))


def _counts(one: Agreement) -> str:
    return f"{one.first:>9,} {one.second:>9,} {one.both:>9,}"


def _sentence_lines(one: DifferingSentence) -> Iterator[str]:
    text = " ".join(one.sentence["tokens"])
    yield f"{one.place!s:>7}  {one.share:4.0%}  {printable(text)}"
    for difference in one.differences:
        first, second = difference.first or "(none)", difference.second or "(none)"
        place = f"{difference.start + 1}"
        if difference.end > difference.start + 1:
            place += f"-{difference.end}"
        words = printable(difference.words)
        yield f"         {place:>7}  {words}: {printable(first)} | {printable(second)}"


def drawn_differences(comparison: Comparison) -> Iterator[DrawnSentence]:
    """Yields the sentences that differ most, their trees by either parse, differences marked."""
    for one in comparison.most_different:
        where = f"{one.sentence['document_id']}, sentence {one.sentence['sentence_index']}"
        about = f"{where}; {one.share:.0%} differ"
        tokens, figures = one.sentence["tokens"], []
        for name, row in zip(comparison.parses.names, (one.first, one.second), strict=True):
            if comparison.parses.stage == "dependencies":
                places = frozenset(difference.start for difference in one.differences)
                figures.append(dependency_figure(name, tokens, row, places))
            else:
                spans = frozenset((d.start, d.end) for d in one.differences)
                figures.append(constituent_figure(name, tokens, row, spans))
        yield DrawnSentence(str(one.place), about, tokens, [figures])
