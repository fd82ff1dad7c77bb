"""Parses a batch so that one bad sentence costs no other, and a broken machine is not hidden."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import torch

from pipeline.rejection import Rejection

logger = logging.getLogger(__name__)

ItemT = TypeVar("ItemT", bound=Sequence[Any])
ParseT = TypeVar("ParseT")

_MACHINE_ERRORS: tuple[type[BaseException], ...] = (
    MemoryError,
    torch.OutOfMemoryError,
    *((torch.AcceleratorError,) if hasattr(torch, "AcceleratorError") else ()),  # since torch 2.8
)
_MACHINE_WORDS = ("cuda", "cudnn", "cublas", "hip error", "mps backend", "defaultcpuallocator")
"""What plain ``RuntimeError``s of torch name when a device or its memory fails."""


def is_machine_error(error: BaseException) -> bool:
    """Says whether memory or a device failed, so that any other sentence would fail as well."""
    if isinstance(error, _MACHINE_ERRORS):
        return True
    message = str(error).lower()
    return isinstance(error, RuntimeError) and any(word in message for word in _MACHINE_WORDS)


def parse_or_reject(
    parse: Callable[[Sequence[ItemT]], Iterable[ParseT]], batch: Sequence[ItemT]
) -> list[ParseT | Rejection]:
    """Returns one parse or ``parser_error`` an item; a failing batch is halved down to the culprit.

    Args:
        parse: gives one parse an item, in order.
        batch: at least one sentence.

    Raises:
        MemoryError, RuntimeError: see ``is_machine_error``.
    """
    try:
        return list(parse(batch))
    except Exception as error:  # whatever it is must not cost the other sentences
        if is_machine_error(error):
            raise
        if len(batch) == 1:
            logger.warning("a sentence of %d tokens was rejected", len(batch[0]), exc_info=True)
            return [Rejection("parser_error", f"{type(error).__name__}: {error}")]
    middle = len(batch) // 2
    return parse_or_reject(parse, batch[:middle]) + parse_or_reject(parse, batch[middle:])
