"""Bigram shift: two adjacent words of a sentence swapped."""

from __future__ import annotations

from collections.abc import Sequence

from models.evaluation.derived.alterations.halves import Halves, halves_by_text
from models.evaluation.derived.alterations.source import SourceSentence, SourceText
from models.evaluation.derived.held_out.config import ProbingConfig
from models.evaluation.derived.held_out.stable_order import stable_number, text_key


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
