"""Cleaning of a paragraph before it is tokenized, and which sentences are kept after."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.parsers.base import Rejection

# Control characters but for white space, zero-width spaces, line and paragraph separators, byte
# order marks, and lone surrogates, which no UTF-8 file can hold. Joiners stay: emoji need them.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u2028\u2029\u2060\ufeff\ud800-\udfff]"
)


@dataclass(frozen=True, slots=True)
class SentenceConfig:
    """How many sentences are taken and which are refused."""

    limit: int = 0
    """Stop after so many kept sentences; 0 takes all."""
    min_tokens: int = 1
    max_tokens: int = 100
    max_token_characters: int = 200

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise ValueError(
                f"limit is {self.limit}; give 0 for all sentences, or a number of them"
            )
        if not 1 <= self.min_tokens <= self.max_tokens:
            raise ValueError(
                f"min_tokens {self.min_tokens} and max_tokens {self.max_tokens}: "
                "needs 1 <= min_tokens <= max_tokens"
            )
        if self.max_tokens > 32_000:
            raise ValueError(f"max_tokens is {self.max_tokens}; heads are 16 bit, so at most 32000")
        if self.max_token_characters < 1:
            raise ValueError(f"max_token_characters is {self.max_token_characters}; at least 1")

    def describe(self) -> dict[str, Any]:
        """Returns the fields, JSON-serialisable."""
        return asdict(self)


def clean_text(text: str) -> tuple[str, int]:
    """Returns the text on one line with single spaces, and how many characters were replaced.

    White space of any kind becomes one space; a character that is not for print, too, and counts.
    """
    repaired, count = _UNPRINTABLE.subn(" ", text)
    return " ".join(repaired.split()), count


def reject_sentence(tokens: Sequence[str], config: SentenceConfig) -> Rejection | None:
    """Returns why a sentence is not taken, or None if it is.

    Reasons: ``too_short``, ``too_long``, ``long_token``, ``no_letters``.
    """
    if len(tokens) < config.min_tokens:
        return Rejection("too_short", f"{len(tokens)} tokens, at least {config.min_tokens}")
    if len(tokens) > config.max_tokens:
        return Rejection("too_long", f"{len(tokens)} tokens, at most {config.max_tokens}")
    longest = max(len(token) for token in tokens)
    if longest > config.max_token_characters:
        return Rejection(
            "long_token", f"a token of {longest} characters, at most {config.max_token_characters}"
        )
    if not any(character.isalpha() for token in tokens for character in token):
        return Rejection("no_letters", "no letter in any token")
    return None
