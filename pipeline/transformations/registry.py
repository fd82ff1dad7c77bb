"""Every transformation by its name, and how one is applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal

from pipeline.transformations import adjuncts, coordinations, exchanges, negations
from pipeline.transformations.sentence_tree import SentenceTree
from pipeline.transformations.surface import finished

Kind = Literal["positive", "negative"]
TRANSFORMATIONS_VERSION = 2
"""Raised when a transformation makes other sentences of the same trees."""


@dataclass(frozen=True, slots=True)
class Transformation:
    """One way to change a sentence."""

    name: str
    kind: Kind
    """Whether a changed sentence says what its source says, in part or whole, or does not."""
    make: Callable[[SentenceTree], Iterator[SentenceTree]]
    """Yields what can be made of a sentence without its capital; may yield nothing."""
    keeps_words: bool = False
    """Whether only what has exactly the source's words, whatever their case, is taken."""

    def results(self, tree: SentenceTree) -> Iterator[SentenceTree]:
        """Yields the changed sentences that read as sentences, in order of their places."""
        for made in self.make(tree.uncapitalised):
            result = finished(made, tree)
            if result is None or result.words == tree.words:
                continue
            if not self.keeps_words or Counter(result.words) == Counter(tree.words):
                yield result

    def first(self, tree: SentenceTree) -> SentenceTree | None:
        """Returns the first changed sentence; None where the transformation does not apply."""
        return next(self.results(tree), None)

    def drawn(self, tree: SentenceTree, seed: int) -> SentenceTree | None:
        """Returns one of the changed sentences, drawn by the seed; None where there is none."""
        found = list(self.results(tree))
        return Random(seed).choice(found) if found else None


TRANSFORMATIONS: Mapping[str, Transformation] = {
    transformation.name: transformation
    for transformation in (
        *(
            Transformation(make.__name__, "positive", make)
            for make in (
                adjuncts.without_adjective,
                adjuncts.without_adverb,
                adjuncts.without_phrase,
                adjuncts.without_apposition,
                adjuncts.without_parenthesis,
                adjuncts.without_relative_clause,
                adjuncts.without_adverbial_clause,
                coordinations.first_clause,
                coordinations.last_clause,
                coordinations.conjuncts_reordered,
            )
        ),
        *(
            Transformation(make.__name__, "negative", make, keeps_words=True)
            for make in (
                exchanges.subject_and_object_exchanged,
                exchanges.modifier_moved,
                exchanges.conjuncts_crossed,
            )
        ),
        Transformation("negation_removed", "negative", negations.negation_removed),
        Transformation("negation_added", "negative", negations.negation_added),
    )
}
