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
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch

from pipeline.base.machine import free_memory, own_memory
from pipeline.base.refusal import Refusal
from pipeline.parsers.sentence_parser import ParserFailedError

logger = logging.getLogger(__name__)

ItemT = TypeVar("ItemT", bound=Sequence[Any])
ParseT = TypeVar("ParseT")
Parse = Callable[[Sequence[ItemT]], Iterable[ParseT]]

MOST_IN_A_ROW = 20
"""After so many sentences that failed one after the other, the parser must prove itself."""
PLAIN = ("This", "is", "a", "sentence", ".")
"""What a parser proves itself on that has parsed nothing yet."""
MODEST_TOKENS = 40
"""A machine without memory for a sentence this long has none to parse with at all."""

_MEMORY_ERRORS: tuple[type[BaseException], ...] = (MemoryError, torch.OutOfMemoryError)
_MEMORY_WORDS = re.compile(
    "out of memory|not enough memory|can(not|'t) allocate|bad_alloc|alloc_failed|unable to mmap|"
    "defaultcpuallocator|could not (create|execute) a (memory|primitive)(?! descriptor)"
)
"""What plain ``RuntimeError``s of torch, oneDNN and C++ say when memory is short."""
_DEVICE_ERRORS: tuple[type[BaseException], ...] = (
    (torch.AcceleratorError,) if hasattr(torch, "AcceleratorError") else ()  # since torch 2.8
)
_DEVICE_WORDS = re.compile("cuda|cudnn|cublas|hip error|mps backend")
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


def _says(error: BaseException, words: re.Pattern[str]) -> bool:
    return isinstance(error, RuntimeError) and words.search(str(error).lower()) is not None


@dataclass(slots=True)
class Failures:
    """What a parser has done of late; whoever calls it more than once keeps it."""

    in_a_row: int = 0
    """Sentences that it failed on since it last parsed one."""
    last_parsed: Any = None
    """A sentence, or None before the first."""


def parse_or_reject(
    parse: Parse[ItemT, ParseT], batch: Sequence[ItemT], failures: Failures | None = None
) -> list[ParseT | Refusal]:
    """Returns one parse or rejection an item; a failing batch is halved down to the culprit.

    Reasons: ``parser_error``, and ``out_of_memory`` for a sentence that exhausts memory alone
    while its first words can be parsed.

    Args:
        parse: gives one parse an item, in order.
        batch: any number of sentences; a slice of a sentence must be one, too.
        failures: of the calls before, with the same parser.

    Raises:
        ParserFailedError: there is no memory even for a short sentence, or the parser failed on
            `MOST_IN_A_ROW` sentences and then on one that it has parsed before, or on `PLAIN`.
        RuntimeError: a device failed.
    """
    failures = Failures() if failures is None else failures
    if not batch:
        return []
    try:
        parses = list(parse(batch))
    except Exception as error:  # whatever it is must not cost the other sentences
        if is_machine_error(error) and not is_memory_error(error):
            raise
        if len(batch) == 1:
            return [_rejection(parse, batch[0], error, failures)]
    else:
        failures.in_a_row, failures.last_parsed = 0, batch[-1]
        return [*parses]
    # Out of the handler, or the error's frames would keep the failed batch in memory.
    _free_memory()
    middle = len(batch) // 2
    return [
        *parse_or_reject(parse, batch[:middle], failures),
        *parse_or_reject(parse, batch[middle:], failures),
    ]


def _rejection(
    parse: Parse[ItemT, ParseT], item: ItemT, error: Exception, failures: Failures
) -> Refusal:
    """Returns why a sentence that failed alone is refused.

    Raises:
        ParserFailedError: the parser or its machine, not the sentence, is at fault.
    """
    failures.in_a_row += 1
    detail = f"{type(error).__name__}: {error}"
    short = is_memory_error(error)
    trace = error if failures.in_a_row == 1 and not short else None
    logger.warning("a sentence of %d tokens was rejected: %s", len(item), detail, exc_info=trace)
    if short and len(item) <= MODEST_TOKENS:
        raise ParserFailedError(
            f"no memory to parse a sentence of {len(item)} tokens ({detail}): {_memory_remedy()}",
            item,
        ) from error
    if not short and failures.in_a_row < MOST_IN_A_ROW:
        return Refusal("parser_error", detail)
    error.__traceback__ = None  # its frames hold what was computed of the sentence
    _free_memory()
    if short:
        _parse_modest(parse, item)
        failures.in_a_row = 0
        return Refusal("out_of_memory", f"{len(item)} tokens; {detail}")
    _prove(parse, item, detail, failures)
    return Refusal("parser_error", detail)


def _parse_modest(parse: Parse[ItemT, ParseT], item: ItemT) -> None:
    """Parses the first words of a sentence; a failure that is not the machine's says nothing.

    Raises:
        ParserFailedError: there is no memory for them either.
    """
    try:
        list(parse([item[:MODEST_TOKENS]]))  # type: ignore[list-item]
    except Exception as error:
        if is_memory_error(error):
            raise ParserFailedError(
                f"no memory to parse {MODEST_TOKENS} tokens ({error}): {_memory_remedy()}", item
            ) from error
        if is_machine_error(error):
            raise


def _prove(parse: Parse[ItemT, ParseT], item: ItemT, detail: str, failures: Failures) -> None:
    """Has the parser parse the last sentence that it could parse, or a plain one before the first.

    Raises:
        ParserFailedError: it cannot.
    """
    first = failures.last_parsed is None
    try:
        list(parse([PLAIN if first else failures.last_parsed]))  # type: ignore[list-item]
    except Exception:  # is told by what failed before
        known = "also on a plain one" if first else "now it fails on one that it has parsed before"
    else:
        failures.in_a_row = 0
        return
    raise ParserFailedError(
        f"the parser failed on {failures.in_a_row} sentences in a row, and {known}; "
        f"the last, of {len(item)} tokens, by {detail}: check its libraries and the device; "
        f"if it is memory: {_memory_remedy()}",
        item,
    )


def _memory_remedy() -> str:
    return (
        f"{own_memory()}, {free_memory()}; let fewer run side by side (--workers), raise the limit "
        "if there is one, or take a machine with more"
    )


def _free_memory() -> None:
    """Gives back what a failed batch held and what torch keeps for the next one."""
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
