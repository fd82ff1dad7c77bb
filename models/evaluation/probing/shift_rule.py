"""Which adjacent words of a sentence are swapped for the bigram-shift task."""

from __future__ import annotations

from collections.abc import Sequence

from models.evaluation.probing.stable_order import stable_number, text_key


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


def can_be_shifted(tokens: Sequence[str]) -> bool:
    """Returns whether a sentence has any pair of words to swap."""
    return bool(shift_positions(tokens))


def is_chosen(tokens: Sequence[str], seed: int) -> bool:
    """Returns whether a sentence is to appear shifted: half of all texts, by hash.

    The text decides and not the row, so two copies of a text are both shifted or both intact.
    """
    return stable_number(seed, "choose", text_key(tokens)) % 2 == 0


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
