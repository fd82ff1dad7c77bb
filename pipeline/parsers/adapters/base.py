"""What every parser adapter offers: sentences in, parses or reasoned rejections out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeVar, get_args

from pipeline.base.refusal import Refusal

Sentence = Sequence[str]

MAX_TOKENS = 510
"""Longer sentences are rejected: benepar has 512 positions, two of them for the sentence marks, and
both parses must be of the same sentences."""

ParserPrecision = Literal["exact", "fast"]
"""``exact`` is the arithmetic of the weights; ``fast`` whatever the device multiplies faster."""
PRECISIONS: tuple[ParserPrecision, ...] = get_args(ParserPrecision)


def reject_input(sentence: Sentence | None, max_tokens: int) -> Refusal | None:
    """Returns why no parser is given this sentence, or None if it is; ``None`` counts as empty.

    Reasons: ``empty``, ``too_long``, ``empty_token``.
    """
    if sentence is None or len(sentence) == 0:
        return Refusal("empty")
    if len(sentence) > max_tokens:
        return Refusal("too_long", f"{len(sentence)} tokens, limit {max_tokens}")
    for position, token in enumerate(sentence, start=1):
        if token is None or token == "":
            return Refusal("empty_token", f"token {position} of {len(sentence)}")
    return None


class ParserFailedError(RuntimeError):
    """A parser or its machine failed, as it would on any sentence."""

    def __init__(self, message: str, sentence: object) -> None:
        super().__init__(message)
        self.sentence = sentence
        """The one it was at: the very object that it was given."""


ParseT_co = TypeVar("ParseT_co", covariant=True)


class SentenceParser(Protocol[ParseT_co]):
    """A loaded parser. Deterministic: the answer for a sentence does not depend on its batch."""

    name: str
    """Readable name, used in paths: ``bundled`` or the checkpoint's file name."""
    checksum: str
    """sha256 over everything that determines its answers (weights and configuration)."""

    def parse(self, sentences: Sequence[Sentence]) -> Sequence[ParseT_co | Refusal]:
        """Returns one parse or rejection per sentence, in input order; never raises for input.

        Raises:
            ParserFailedError: memory or the parser failed, which is no sentence's fault.
            RuntimeError: a device did.
        """
        ...
