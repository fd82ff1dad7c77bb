"""Parses with a transformer: sentences that have too many subwords are rejected, each alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import torch

from pipeline.parsers.base import Sentence, reject_input
from pipeline.parsers.batches import length_batches
from pipeline.parsers.retry import parse_or_reject
from pipeline.refusal import Refusal

ParseT = TypeVar("ParseT")


def parse_by_subwords(
    sentences: Sequence[Sentence],
    *,
    count: Callable[[Sentence], int | Refusal],
    parse_batch: Callable[[Sequence[Sentence]], Iterable[ParseT]],
    max_tokens: int,
    max_subwords: int | None,
    batch_subwords: int,
) -> list[ParseT | Refusal]:
    """Returns one parse or rejection per sentence, in input order; never raises for input.

    Reasons of rejection: ``empty``, ``empty_token``, ``too_long``, ``too_many_subwords``,
    ``parser_error``, ``out_of_memory``.

    Args:
        count: a sentence's subwords as the transformer reads them, special ones included, or why it
            cannot be read.
        parse_batch: gives one parse a sentence.
        max_tokens: longer sentences are rejected.
        max_subwords: sentences of more are rejected; None if the parser takes any number.
        batch_subwords: bound of a batch's subwords, padding included; a setting of the machine.

    Raises:
        MemoryError, RuntimeError: memory or the device failed.
    """
    answers: dict[int, ParseT | Refusal] = {}
    counts: dict[int, int] = {}
    for position, sentence in enumerate(sentences):
        rejection = reject_input(sentence, max_tokens)
        if rejection is None:
            (counted,) = parse_or_reject(lambda batch: [count(batch[0])], [sentence])
            if isinstance(counted, int):
                counts[position] = counted
                rejection = _reject_subwords(counted, max_subwords)
            else:
                rejection = counted
        if rejection is not None:
            answers[position] = rejection
    kept = [position for position in counts if position not in answers]
    lengths = [counts[position] for position in kept]
    for batch in length_batches(lengths, max_tokens=batch_subwords):
        members = [kept[index] for index in batch]
        parsed = parse_or_reject(parse_batch, [sentences[position] for position in members])
        answers.update(zip(members, parsed, strict=True))
    return [answers[position] for position in range(len(sentences))]


def products_in(dtype: torch.dtype, device: torch.device) -> AbstractContextManager[Any]:
    """Returns the context in which matrix products are taken in a type; float32 is their own."""
    if dtype == torch.float32:
        return nullcontext()
    return torch.autocast(device.type, dtype=dtype)


def _reject_subwords(counted: int, limit: int | None) -> Refusal | None:
    if limit is None or counted <= limit:
        return None
    return Refusal("too_many_subwords", f"{counted} subwords, limit {limit}")
