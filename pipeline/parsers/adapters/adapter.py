"""What all parser adapters do alike: refusals, batches of like length, retries, arithmetic."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import torch

from pipeline.base.refusal import Refusal
from pipeline.parsers.adapters.base import MAX_TOKENS, Sentence, reject_input
from pipeline.parsers.adapters.batches import (
    Failures,
    is_machine_error,
    is_memory_error,
    length_batches,
    parse_or_reject,
)
from pipeline.parsers.adapters.device import dtype_for, name_of
from pipeline.parsers.adapters.parser_folder import ParserModel

logger = logging.getLogger(__name__)

ModelT = TypeVar("ModelT", bound=ParserModel)
ParseT = TypeVar("ParseT")


class BatchedParser(ABC, Generic[ModelT, ParseT]):
    """A ``SentenceParser[ParseT]`` that parses sentences of like size together.

    Deterministic: apart from the last bits of a score, which depend on the shape of a matrix
    product, a sentence's batch has no influence on its answer.
    """

    default_batch_tokens: ClassVar[int]
    """Bound of a batch's size where none is given: what suits a CPU."""

    precision: str
    """Arithmetic of the encoder: ``float32``, ``bfloat16`` or ``float16``."""

    def __init__(
        self,
        model: ModelT,
        *,
        name: str,
        checksum: str = "",
        precision: str = "exact",
        max_tokens: int | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        """Takes a loaded model.

        Args:
            model: put into evaluation mode; its device is where parsing happens.
            name: readable, used in paths.
            checksum: of all that determines the answers but the arithmetic; the parser's own also
                names that where it is not the weights'. Empty for a model that is on no disk.
            precision: ``exact`` or ``fast``, see ``pipeline.parsers.adapters.device``.
            max_tokens: longer sentences are rejected as ``too_long``; by default ``MAX_TOKENS`` or
                as many as the model takes.
            batch_tokens: bound of a batch's size, see `_sizes`; a longer sentence stands alone. A
                setting of the machine.

        Raises:
            ValueError: the model has fewer positions than ``max_tokens`` needs, no token fits in a
                batch, or the precision is unknown.
        """
        self._batch_tokens = self.default_batch_tokens if batch_tokens is None else batch_tokens
        if self._batch_tokens < 1:
            raise ValueError(f"batch_tokens must be at least 1, got {batch_tokens}")
        limit = self._position_limit(model)
        if max_tokens is not None and limit is not None and max_tokens > limit:
            raise ValueError(f"max_tokens={max_tokens}, but the model takes {limit}")
        most = MAX_TOKENS if max_tokens is None else max_tokens
        self._max_tokens = most if limit is None else min(most, limit)
        weight = next(model.network.eval().parameters())
        self._device = weight.device
        self._dtype = dtype_for(precision, weight.device, exact=weight.dtype)
        self.precision = name_of(self._dtype)
        self.name = name
        is_exact = self._dtype == weight.dtype
        self.checksum = checksum if is_exact else f"{checksum}-{self.precision}"
        self._failures = Failures()
        self._take(model)

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        device: str = "cpu",
        precision: str = "exact",
        batch_tokens: int | None = None,
        expected_checksum: str | None = None,
    ) -> Self:
        """Returns the parser of a folder; executes nothing from it and asks no hub.

        Args:
            path: a folder that a training or a conversion wrote; its name becomes the parser's.
            device: torch's name of where to parse.
            precision: ``exact``, or ``fast`` for arithmetic that may change a few answers.
            batch_tokens: bound of a batch's size; None: the parser's own.
            expected_checksum: where given, the folder must have exactly this checksum.

        Raises:
            ValueError: a file is missing, damaged, or of another kind; names the file and the
                remedy.
        """
        model, checksum = cls._load_model(path, expected_checksum=expected_checksum)
        model.network.to(device)
        return cls(
            model,
            name=path.resolve().name,
            checksum=checksum,
            precision=precision,
            batch_tokens=batch_tokens,
        )

    @torch.inference_mode()
    def parse(self, sentences: Sequence[Sentence]) -> list[ParseT | Refusal]:
        """Returns one tree or rejection per sentence, in input order; never raises for input.

        Any non-empty string is a token. Reasons of rejection: ``empty``, ``empty_token``,
        ``too_long``, ``parser_error``, ``out_of_memory``, and those that `_sizes` gives.

        Raises:
            ParserFailedError: memory or the parser failed.
            RuntimeError: the device did.
        """
        answers: dict[int, ParseT | Refusal] = {}
        for position, sentence in enumerate(sentences):
            if rejection := reject_input(sentence, self._max_tokens):
                answers[position] = rejection
        accepted = [position for position in range(len(sentences)) if position not in answers]
        found = parse_or_reject(self._sizes, [sentences[position] for position in accepted])
        sizes: dict[int, int] = {}
        for position, size in zip(accepted, found, strict=True):
            if isinstance(size, Refusal):
                answers[position] = size
            else:
                sizes[position] = size
        certain = self._certain_answers(sentences, sizes)
        answers.update(certain)
        doubtful = {position: size for position, size in sizes.items() if position not in certain}
        # Those left over are few of each length: small batches of them are padded less.
        most = 1 + self._batch_tokens // 3 if certain else self._batch_tokens
        self._fill(answers, sentences, doubtful, max_tokens=most)
        return [answers[position] for position in range(len(sentences))]

    def _certain_answers(
        self, sentences: Sequence[Sentence], sizes: Mapping[int, int]
    ) -> dict[int, ParseT]:
        """Returns what a cheaper way is certain of, by position.

        Where that way fails, which the log tells, the exact way finds out whose fault it is.

        Raises:
            RuntimeError: a device failed.
        """
        certain: dict[int, ParseT] = {}
        try:
            for position, answer in self._cheap_answers(sentences, sizes):
                certain[position] = answer
        except Exception as error:
            if is_machine_error(error) and not is_memory_error(error):
                raise
            logger.warning(
                "%s: reduced precision failed; what is left of %d sentences is parsed in %s",
                self.name,
                len(sizes),
                self.precision,
                exc_info=error,
            )
        return certain

    def _cheap_answers(
        self, sentences: Sequence[Sentence], sizes: Mapping[int, int]
    ) -> Iterator[tuple[int, ParseT]]:
        found = self._cheaper_way([sentences[position] for position in sizes])
        if found is None:
            return
        parse, most = found
        fit = [position for position in sizes if len(sentences[position]) <= most]
        of_fit = [sizes[position] for position in fit]
        for batch in self._batches(of_fit, max_tokens=self._batch_tokens):
            members = [fit[index] for index in batch]
            parsed = parse([sentences[position] for position in members])
            for position, answer in zip(members, parsed, strict=True):
                if answer is not None:
                    yield position, answer

    def _fill(
        self,
        answers: dict[int, ParseT | Refusal],
        sentences: Sequence[Sentence],
        sizes: Mapping[int, int],
        *,
        max_tokens: int,
    ) -> None:
        """Parses the sentences at some positions, those of like size together."""
        positions = list(sizes)
        for batch in self._batches(list(sizes.values()), max_tokens=max_tokens):
            members = [positions[index] for index in batch]
            chosen = [sentences[position] for position in members]
            parsed = parse_or_reject(self._parse_batch, chosen, self._failures)
            answers.update(zip(members, parsed, strict=True))

    def _cheaper_way(
        self, sentences: Sequence[Sentence]
    ) -> tuple[Callable[[Sequence[Sentence]], list[ParseT | None]], int] | None:
        """Returns what parses a batch at less cost, and up to how many tokens a sentence.

        It answers None for each sentence that it is not certain of.

        Args:
            sentences: all that are to be parsed.
        """
        return None

    def _position_limit(self, model: ModelT) -> int | None:
        """Returns how many tokens a sentence of the model may have; None: any number."""
        return None

    @staticmethod
    @abstractmethod
    def _load_model(path: Path, /, *, expected_checksum: str | None = None) -> tuple[Any, str]:
        """Returns the model of a parser folder and its checksum."""

    @abstractmethod
    def _take(self, model: ModelT) -> None:
        """Prepares the model for prediction in ``self._dtype`` on ``self._device``."""

    @abstractmethod
    def _sizes(self, sentences: Sequence[Sentence]) -> list[int | Refusal]:
        """Reads sentences ahead; returns what each takes of a batch, or why it cannot be read."""

    def _batches(self, sizes: Sequence[int], *, max_tokens: int) -> Iterable[list[int]]:
        """Returns the sentences' positions in batches, shortest first."""
        return length_batches(sizes, max_tokens=max_tokens)

    @abstractmethod
    def _parse_batch(self, sentences: Sequence[Sentence]) -> list[ParseT]:
        """Returns one parse a sentence."""
