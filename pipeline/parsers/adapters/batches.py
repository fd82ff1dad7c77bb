"""Batches of sentences: of similar length, and halved where one of them fails.

Of like length little of a batch is padding. What fails is halved until the culprit stands alone, so
that one bad sentence costs no other, and a broken machine is not hidden. Memory is the one resource
that a batch can lack though each of its sentences would fit, and that a long sentence can lack
though all others fit; a device that fails in any other way fails for every sentence and ends the
job.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import torch

from pipeline.base.refusal import Refusal

logger = logging.getLogger(__name__)

ItemT = TypeVar("ItemT", bound=Sequence[Any])
ParseT = TypeVar("ParseT")
Parse = Callable[[Sequence[ItemT]], Iterable[ParseT]]

MODEST_TOKENS = 40
"""A machine without memory for a sentence this long has none to parse with at all."""

_MEMORY_ERRORS: tuple[type[BaseException], ...] = (MemoryError, torch.OutOfMemoryError)
_MEMORY_WORDS = ("out of memory", "defaultcpuallocator", "alloc_failed")
"""What plain ``RuntimeError``s of torch say when memory is short."""
_DEVICE_ERRORS: tuple[type[BaseException], ...] = (
    (torch.AcceleratorError,) if hasattr(torch, "AcceleratorError") else ()  # since torch 2.8
)
_DEVICE_WORDS = ("cuda", "cudnn", "cublas", "hip error", "mps backend")
"""What plain ``RuntimeError``s of torch name when a device fails."""


def length_batches(lengths: Sequence[int], *, max_tokens: int) -> list[list[int]]:
    """Returns the sentences' positions, shortest first, cut into batches.

    Args:
        lengths: tokens of each sentence.
        max_tokens: bound of a batch's padded size, the artificial root counted in each sentence;
            a longer sentence stands alone.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    return _cut(order, lengths, max_tokens)


def shuffled_length_batches(
    lengths: Sequence[int], *, max_tokens: int, random: np.random.Generator
) -> list[list[int]]:
    """Returns batches as ``length_batches``, their order and membership shuffled.

    Sentences are ordered by a length blurred by a tenth, so that each epoch mixes them anew.
    """
    blurred = np.asarray(lengths) * random.uniform(0.9, 1.1, size=len(lengths))
    order = [int(position) for position in np.argsort(blurred, kind="stable")]
    batches = _cut(order, lengths, max_tokens)
    return [batches[position] for position in random.permutation(len(batches))]


def unpadded_batches(sizes: Sequence[int], *, max_tokens: int) -> list[list[int]]:
    """Returns the sentences' positions, shortest first, cut into batches that hold no padding.

    Args:
        sizes: what each sentence takes of a batch.
        max_tokens: bound of a batch's sum of sizes; a longer sentence stands alone.
    """
    batches: list[list[int]] = []
    taken = 0
    for position in sorted(range(len(sizes)), key=sizes.__getitem__):
        taken += sizes[position]
        if not batches or taken > max_tokens:
            batches.append([])
            taken = sizes[position]
        batches[-1].append(position)
    return batches


def _cut(order: Sequence[int], lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    batches: list[list[int]] = []
    widest = 0
    for position in order:
        widest = max(widest, lengths[position] + 1)
        if not batches or (len(batches[-1]) + 1) * widest > max_tokens:
            batches.append([])
            widest = lengths[position] + 1
        batches[-1].append(position)
    return batches


def is_memory_error(error: BaseException) -> bool:
    """Says whether memory was short, so that a smaller batch may succeed."""
    return isinstance(error, _MEMORY_ERRORS) or _says(error, _MEMORY_WORDS)


def is_machine_error(error: BaseException) -> bool:
    """Says whether memory or a device failed, which is no sentence's fault."""
    return (
        is_memory_error(error) or isinstance(error, _DEVICE_ERRORS) or _says(error, _DEVICE_WORDS)
    )


def _says(error: BaseException, words: Sequence[str]) -> bool:
    message = str(error).lower()
    return isinstance(error, RuntimeError) and any(word in message for word in words)


def parse_or_reject(parse: Parse[ItemT, ParseT], batch: Sequence[ItemT]) -> list[ParseT | Refusal]:
    """Returns one parse or rejection an item; a failing batch is halved down to the culprit.

    Reasons: ``parser_error``, and ``out_of_memory`` for a sentence that exhausts memory alone
    while its first words can be parsed.

    Args:
        parse: gives one parse an item, in order.
        batch: any number of sentences; a slice of a sentence must be one, too.

    Raises:
        MemoryError, RuntimeError: a device failed, or has no memory even for a short sentence.
    """
    if not batch:
        return []
    try:
        return list(parse(batch))
    except Exception as error:  # whatever it is must not cost the other sentences
        if is_machine_error(error) and not is_memory_error(error):
            raise
        if len(batch) == 1:
            return [_rejection(parse, batch[0], error)]
    # Out of the handler, or the error's frames would keep the failed batch in memory.
    _free_memory()
    middle = len(batch) // 2
    return parse_or_reject(parse, batch[:middle]) + parse_or_reject(parse, batch[middle:])


def _rejection(parse: Parse[ItemT, ParseT], item: ItemT, error: Exception) -> Refusal:
    """Returns why a sentence that failed alone is refused.

    Raises:
        MemoryError, RuntimeError: the machine, not the sentence, is at fault.
    """
    logger.warning("a sentence of %d tokens was rejected", len(item), exc_info=error)
    detail = f"{type(error).__name__}: {error}"
    if not is_memory_error(error):
        return Refusal("parser_error", detail)
    if len(item) <= MODEST_TOKENS:
        raise error
    error.__traceback__ = None  # its frames hold what was computed of the sentence
    _free_memory()
    try:
        list(parse([item[:MODEST_TOKENS]]))  # type: ignore[list-item]
    except Exception as probe:
        if is_machine_error(probe):
            raise
    return Refusal("out_of_memory", f"{len(item)} tokens; {detail}")


def _free_memory() -> None:
    """Gives back what a failed batch held and what torch keeps for the next one."""
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
