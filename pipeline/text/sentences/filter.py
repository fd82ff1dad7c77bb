"""Cleaning of a paragraph before it is tokenized, and which sentences are kept after."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.base.refusal import Refusal

CLEANING_VERSION = 2
"""Raised whenever the same text would be cleaned otherwise; part of every digest."""

# What is not for print: control characters but for white space, marks and embeddings of direction,
# line and paragraph separators, word joiners, byte order marks, interlinear annotation, tags, lone
# surrogates, which no UTF-8 file can hold, and U+FFFD, which another program put where it could not
# read a character. Joiners stay: emoji need them.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff"
    "\ufff9-\ufffb\ufffd\U000e0000-\U000e007f\ud800-\udfff]"
)
_WITHIN_WORDS = re.compile("[\u00ad\u200b]")
"""Soft hyphens and zero-width spaces: where a word may be broken, so a space would cut it."""


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


def clean_text(text: str) -> tuple[str, int]:
    """Returns the text on one line with single spaces, and how many characters were repaired.

    White space of any kind becomes one space. So does a character that is not for print; a soft
    hyphen or zero-width space is dropped; both count as repairs.
    """
    joined, dropped = _WITHIN_WORDS.subn("", text)
    repaired, replaced = _UNPRINTABLE.subn(" ", joined)
    return " ".join(repaired.split()), dropped + replaced


def refuse_sentence(tokens: Sequence[str], config: SentenceConfig) -> Refusal | None:
    """Returns why a sentence is not taken, or None if it is.

    Reasons: ``too_short``, ``too_long``, ``long_token``, ``no_letters``.
    """
    if len(tokens) < config.min_tokens:
        return Refusal("too_short", f"{len(tokens)} tokens, at least {config.min_tokens}")
    if len(tokens) > config.max_tokens:
        return Refusal("too_long", f"{len(tokens)} tokens, at most {config.max_tokens}")
    longest = max(len(token) for token in tokens)
    if longest > config.max_token_characters:
        return Refusal(
            "long_token", f"a token of {longest} characters, at most {config.max_token_characters}"
        )
    if not any(character.isalpha() for token in tokens for character in token):
        return Refusal("no_letters", "no letter in any token")
    return None
