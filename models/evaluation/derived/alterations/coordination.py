"""Coordination inversion: the two clauses of a coordination in the other order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from models.evaluation.derived.alterations.halves import Halves, halves_by_text
from models.evaluation.derived.alterations.source import SourceSentence, SourceText
from models.evaluation.derived.held_out.config import ProbingConfig
from models.evaluation.derived.held_out.constituents import (
    ConstituencyTree,
    Constituent,
    below_top_clause,
)

_COORDINATIONS = (["S", "CC", "S"], ["S", ",", "CC", "S"])


def invert_coordinations(text: SourceText, config: ProbingConfig) -> Halves:
    """Swaps the two clauses in half of the sentences that coordinate two at the top."""
    casing = Casing(sentence.tokens for sentence in text.sentences)
    return halves_by_text(
        text,
        config,
        lambda sentence: inverted(sentence, casing),
        salt="coordination_inversion",
        unalterable="no_two_clauses_to_swap",
    )


def inverted(sentence: SourceSentence, casing: Casing) -> tuple[str, ...] | None:
    """Returns the tokens with the two clauses swapped, punctuation and conjunction in place.

    None where the sentence is no coordination of two clauses, or where the case of a clause's
    first word in its new place is not known.
    """
    clauses = coordinated_clauses(sentence) if sentence.labels else None
    if clauses is None:
        return None
    first, second = clauses
    tokens = sentence.tokens
    words = casing.exchanged(tokens[first.start], tokens[second.start])
    if words is None:
        return None
    new_first, new_second = words
    return (
        *(new_first, *tokens[second.start + 1 : second.end]),
        *tokens[first.end : second.start],
        *(new_second, *tokens[first.start + 1 : first.end]),
        *tokens[second.end :],
    )


def coordinated_clauses(tree: ConstituencyTree) -> tuple[Constituent, Constituent] | None:
    """Returns the two clauses of ``S CC S`` or ``S , CC S`` right below the top S.

    A full stop may follow; a tree with anything else there gives None.
    """
    below = below_top_clause(tree) or []
    if below and below[-1].label == ".":
        below = below[:-1]
    if [constituent.label for constituent in below] not in _COORDINATIONS:
        return None
    return below[0], below[-1]


class Casing:
    """What case a word has at the beginning of a sentence and inside, as a text writes it."""

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        first: Counter[bool] = Counter()
        self._inside: Counter[str] = Counter()
        for tokens in texts:
            first[tokens[0][0].isupper()] += 1
            self._inside.update(tokens[1:])
        self.capitalised = first[True] > first[False]
        """Whether sentences begin with a capital; a text in lower case needs no change."""

    def exchanged(self, first: str, second: str) -> tuple[str, str] | None:
        """Returns the words that begin the sentence and the second clause after the swap.

        The word that moves inside is written as the text mostly writes it there ("it", "I",
        "Python"). None where that is not known, since a wrong guess would give the swap away.

        Args:
            first: the word that begins the sentence.
            second: the word that begins the second clause.
        """
        if not self.capitalised:
            return second, first
        if not (first[0].isupper() and first.isalpha() and second.isalpha()):
            return None
        if not (second.islower() or second[0].isupper()):  # "iOS" begins no sentence
            return None
        inside = max((first.lower(), first), key=lambda form: self._inside[form])
        if not self._inside[inside]:
            return None
        return second[0].upper() + second[1:], inside
