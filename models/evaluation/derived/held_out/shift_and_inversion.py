"""Bigram shift and coordination inversion: sentences altered one by one, half of all texts.

Bigram shift swaps two adjacent words, coordination inversion the two clauses of a coordination.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from models.evaluation.derived.held_out.config import ProbingConfig, stable_number, text_key
from models.evaluation.derived.held_out.held_out_rows import (
    Constituent,
    SourceSentence,
    SourceText,
    below_top_clause,
)

_COORDINATIONS = (["S", "CC", "S"], ["S", ",", "CC", "S"])

KEPT_INTACT = "kept_intact"
OUTSIDE_LIMITS = "outside_length_limits"
DUPLICATE_TEXT = "duplicate_text"
FORM_OCCURS = "altered_form_occurs"


@dataclass(slots=True)
class Halves:
    """The two classes of one kind of alteration; no sentence is in both."""

    altered: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Tokens of each altered sentence, by the corpus row it was made from."""
    intact: list[int] = field(default_factory=list)
    """Corpus rows of sentences that could be altered and are not."""
    not_selected: Counter[str] = field(default_factory=Counter)
    """Held-out sentences that were not altered, by reason."""


def halves_by_text(
    text: SourceText,
    config: ProbingConfig,
    alter: Callable[[SourceSentence], tuple[str, ...] | None],
    *,
    salt: str,
    unalterable: str,
) -> Halves:
    """Alters half of all texts that can be altered one by one; a hash of the text decides.

    A text that occurs more than once is altered once; one whose altered form occurs in the corpus
    is not.

    Args:
        alter: gives the altered tokens, or None where a sentence cannot be altered.
        salt: makes the choice of one kind independent of that of another.
        unalterable: the reason under which sentences that cannot be altered are counted.
    """
    texts = {text_key(sentence.tokens) for sentence in text.sentences}
    written: set[str] = set()
    halves = Halves()
    for sentence in text.sentences:
        row, own = sentence.row.dataset_row, text_key(sentence.tokens)
        if not config.takes_length(len(sentence.tokens)):
            halves.not_selected[OUTSIDE_LIMITS] += 1
        elif (altered := alter(sentence)) is None:
            halves.not_selected[unalterable] += 1
        elif not is_chosen(sentence.tokens, config.seed, salt):
            halves.intact.append(row)
            halves.not_selected[KEPT_INTACT] += 1
        elif own in written:
            halves.not_selected[DUPLICATE_TEXT] += 1
        elif text_key(altered) in texts:
            halves.not_selected[FORM_OCCURS] += 1
        else:
            written.add(own)
            halves.altered[row] = altered
    return halves


def is_chosen(tokens: tuple[str, ...] | list[str], seed: int, salt: str) -> bool:
    """Returns whether a sentence is to appear altered: half of all texts, by hash.

    The text decides and not the row, so two copies of a text are both altered or both intact.
    """
    return stable_number(seed, salt, text_key(tokens)) % 2 == 0


def shift_bigrams(text: SourceText, config: ProbingConfig) -> Halves:
    """Swaps two adjacent words in half of the sentences that have such a pair.

    Differs from Conneau et al. 2018 in what may be swapped: see `shift_positions`.
    """

    def altered(sentence: SourceSentence) -> tuple[str, ...] | None:
        tokens = sentence.tokens
        return shift(tokens, config.seed) if shift_positions(tokens) else None

    return halves_by_text(text, config, altered, salt="choose", unalterable="no_pair_to_swap")


def shift_positions(tokens: Sequence[str]) -> list[int]:
    """Returns each i where words i and i + 1 may be swapped.

    Both must be words rather than punctuation and differ beyond case. The first word stays, since
    a capital inside the sentence would give the swap away.
    """
    return [
        i
        for i in range(1, len(tokens) - 1)
        if _is_word(tokens[i])
        and _is_word(tokens[i + 1])
        and tokens[i].lower() != tokens[i + 1].lower()
    ]


def shift(tokens: Sequence[str], seed: int) -> tuple[str, ...]:
    """Returns the tokens with one adjacent pair swapped, the pair drawn by hash.

    Raises:
        ValueError: the sentence has no pair that may be swapped.
    """
    positions = shift_positions(tokens)
    if not positions:
        raise ValueError(f"no adjacent words to swap in {' '.join(tokens)!r}")
    i = positions[stable_number(seed, "position", text_key(tokens)) % len(positions)]
    return (*tokens[:i], tokens[i + 1], tokens[i], *tokens[i + 2 :])


def _is_word(token: str) -> bool:
    return any(character.isalnum() for character in token)


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


def coordinated_clauses(sentence: SourceSentence) -> tuple[Constituent, Constituent] | None:
    """Returns the two clauses of ``S CC S`` or ``S , CC S`` right below the top S.

    A full stop may follow; a tree with anything else there gives None.
    """
    below = below_top_clause(sentence) or []
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
