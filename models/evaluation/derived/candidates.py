"""A labelled sentence, and the pieces that the tasks' classes are made with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.evaluation.derived.sentences import ParsedSentence


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that a task can use, labelled."""

    sentence: ParsedSentence
    label: str
    word: str = ""
    """The word that bears the label, for tasks whose splits share no such word."""


def intact_of(sentences: Sequence[ParsedSentence]) -> list[ParsedSentence]:
    """Returns the sentences that stand in the corpus as they are."""
    return [sentence for sentence in sentences if not sentence.alteration]


def quantile_bins(values: Sequence[int], num_bins: int) -> list[int]:
    """Returns the upper edges (exclusive) that cut sorted integers into bins of like size.

    Fewer edges than ``num_bins - 1`` come back where one value fills more than a bin.
    """
    ordered = sorted(values)
    cuts = (ordered[len(ordered) * k // num_bins] for k in range(1, num_bins)) if ordered else ()
    return sorted({cut for cut in cuts if cut > ordered[0]})
