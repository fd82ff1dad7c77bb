"""What all parser adapters do alike: refusals, batches of like length, retries, arithmetic.

A batch that fails is halved until the culprit stands alone, so that one bad sentence costs no
other, and a broken machine is not hidden. Memory is the one resource that a batch can lack though
each of its sentences would fit, and that a long sentence can lack though all others fit; a device
that fails in any other way fails for every sentence and ends the job.
"""

from __future__ import annotations

import gc
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import torch

from treeviews.pipeline.base.machine import free_memory, own_memory
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsers.devices import automatic_batch_tokens, fast_dtype
from treeviews.pipeline.parsers.fast_layers import length_batches
from treeviews.pipeline.parsers.parser_folder import ParserModel
from treeviews.pipeline.parsers.sentence_parser import (
    MAX_TOKENS,
    ParserFailedError,
    Sentence,
    reject_input,
)

logger = logging.getLogger(__name__)

ItemT = TypeVar("ItemT", bound=Sequence[Any])
ParseT = TypeVar("ParseT")
Parse = Callable[[Sequence[ItemT]], Iterable[ParseT]]

SHORT_SENTENCE = 40
"""Tokens; a machine without memory for as many has none to parse with at all."""

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


def parse_or_reject(parse: Parse[ItemT, ParseT], batch: Sequence[ItemT]) -> list[ParseT | Refusal]:
    """Returns one parse or rejection an item; a failing batch is halved down to the culprit.

    Reasons: ``parser_error``, and ``out_of_memory`` for a long sentence that exhausts memory alone.

    Args:
        parse: gives one parse an item, in order.
        batch: any number of sentences.

    Raises:
        ParserFailedError: there is no memory even for a short sentence.
        RuntimeError: a device failed.
    """
    if not batch:
        return []
    try:
        return list(parse(batch))
    except Exception as error:  # whatever it is must not cost the other sentences
        if is_machine_error(error) and not is_memory_error(error):
            raise
        if len(batch) == 1:
            return [_rejection(batch[0], error)]
    # Out of the handler, or the error's frames would keep the failed batch in memory.
    _free_memory()
    middle = len(batch) // 2
    return [*parse_or_reject(parse, batch[:middle]), *parse_or_reject(parse, batch[middle:])]


def _rejection(item: Sequence[Any], error: Exception) -> Refusal:
    """Returns why a sentence that failed alone is refused.

    Raises:
        ParserFailedError: the machine, not the sentence, is at fault.
    """
    detail, is_short_of_memory = f"{type(error).__name__}: {error}", is_memory_error(error)
    if is_short_of_memory and len(item) <= SHORT_SENTENCE:
        raise ParserFailedError(
            f"no memory to parse a sentence of {len(item)} tokens ({detail}): {own_memory()}, "
            f"{free_memory()}; let fewer run side by side (--workers), raise the limit if there is "
            "one, or take a machine with more",
            item,
        ) from error
    logger.warning("a sentence of %d tokens was rejected: %s", len(item), detail)
    if is_short_of_memory:
        return Refusal("out_of_memory", f"{len(item)} tokens; {detail}")
    return Refusal("parser_error", detail)


def _free_memory() -> None:
    """Gives back what a failed batch held and what torch keeps for the next one."""
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


class BatchedParser(ABC, Generic[ParseT]):
    """A ``SentenceParser[ParseT]`` that parses sentences of like size together.

    Deterministic: apart from the last bits of a score, which depend on the shape of a matrix
    product, a sentence's batch has no influence on its answer.
    """

    default_batch_tokens: ClassVar[int]
    """Bound of a batch's size on a CPU where none is given."""
    is_padded: ClassVar[bool] = True
    """Whether all sentences of a batch take as much of it as the longest."""

    precision: str
    """Arithmetic of the encoder: ``float32``, ``bfloat16`` or ``float16``."""

    def __init__(
        self,
        model: ParserModel[Any],
        *,
        name: str,
        precision: str = "exact",
        batch_tokens: int = 0,
    ) -> None:
        """Takes a loaded model.

        Args:
            model: put into evaluation mode; its device is where parsing happens.
            name: readable, used in paths.
            precision: ``exact`` or ``fast``, see ``pipeline.parsers.devices``; the parser's
                checksum is the model's, with the arithmetic where it is not that of the weights.
            batch_tokens: bound of a batch's size, see `_sizes`; a longer sentence stands alone. 0:
                what suits the device. A setting of the machine.
        """
        self._max_tokens = min(MAX_TOKENS, self._position_limit(model) or MAX_TOKENS)
        weight = next(model.network.eval().parameters())
        self._device = weight.device
        self._batch_tokens = batch_tokens or automatic_batch_tokens(
            weight.device, on_cpu=self.default_batch_tokens
        )
        self._dtype = fast_dtype(weight.device) if precision == "fast" else weight.dtype
        self.precision = str(self._dtype).removeprefix("torch.")
        self.name = name
        is_exact = self._dtype == weight.dtype
        self.checksum = model.checksum if is_exact else f"{model.checksum}-{self.precision}"
        self._take(model)

    @torch.inference_mode()
    def parse(self, sentences: Sequence[Sentence]) -> list[ParseT | Refusal]:
        """Returns one tree or rejection per sentence, in input order; never raises for input.

        Any non-empty string is a token. Reasons of rejection: ``empty``, ``empty_token``,
        ``too_long``, ``parser_error``, ``out_of_memory``, and those that `_sizes` gives.

        Raises:
            ParserFailedError: there is no memory to parse with.
            RuntimeError: the device did.
        """
        answers: dict[int, ParseT | Refusal] = {
            position: rejection
            for position, sentence in enumerate(sentences)
            if (rejection := reject_input(sentence, self._max_tokens))
        }
        accepted = [position for position in range(len(sentences)) if position not in answers]
        measured = parse_or_reject(self._sizes, [sentences[position] for position in accepted])
        known = dict(zip(accepted, measured, strict=True))
        answers.update((at, size) for at, size in known.items() if isinstance(size, Refusal))
        sizes = {at: size for at, size in known.items() if not isinstance(size, Refusal)}
        certain = self._certain_answers(sentences, sizes)
        answers.update(certain)
        doubtful = {position: size for position, size in sizes.items() if position not in certain}
        # Those left over are few of each length: small batches of them are padded less.
        max_tokens = 1 + self._batch_tokens // 3 if certain else self._batch_tokens
        for members in self._batches(doubtful, max_tokens=max_tokens):
            chosen = [sentences[position] for position in members]
            parsed = parse_or_reject(self._parse_batch, chosen)
            answers.update(zip(members, parsed, strict=True))
        return [answers[position] for position in range(len(sentences))]

    def _batches(self, sizes: Mapping[int, int], *, max_tokens: int) -> list[list[int]]:
        """Returns the positions of sentences in batches, shortest first, given their sizes."""
        positions = list(sizes)
        lengths = list(sizes.values())
        batches = length_batches(lengths, max_tokens=max_tokens, is_padded=self.is_padded)
        return [[positions[place] for place in batch] for batch in batches]

    def _certain_answers(
        self, sentences: Sequence[Sentence], sizes: Mapping[int, int]
    ) -> dict[int, ParseT]:
        """Returns what a cheaper way is certain of, by position; the others are parsed exactly.

        Args:
            sizes: of the sentences that are to be parsed, by position.
        """
        return {}

    def _position_limit(self, model: Any) -> int | None:
        """Returns how many tokens a sentence of the model may have; None: any number."""
        return None

    @staticmethod
    @abstractmethod
    def load_model(path: Path, /) -> ParserModel[Any]:
        """Returns the model of a parser folder; executes nothing from it."""

    @abstractmethod
    def _take(self, model: Any) -> None:
        """Prepares the model for prediction in ``self._dtype`` on ``self._device``."""

    @abstractmethod
    def _sizes(self, sentences: Sequence[Sentence]) -> list[int | Refusal]:
        """Reads sentences ahead; returns what each takes of a batch, or why it cannot be read."""

    @abstractmethod
    def _parse_batch(self, sentences: Sequence[Sentence]) -> list[ParseT]:
        """Returns one parse a sentence."""
