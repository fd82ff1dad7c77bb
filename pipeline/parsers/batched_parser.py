"""What all parser adapters do alike: refusals, batches of like length, retries, arithmetic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import torch

from pipeline.base.refusal import Refusal
from pipeline.parsers.devices import dtype_for, name_of
from pipeline.parsers.parser_batches import Failures, length_batches, parse_or_reject
from pipeline.parsers.parser_folder import ParserModel
from pipeline.parsers.sentence_parser import MAX_TOKENS, Sentence, reject_input

ModelT = TypeVar("ModelT", bound=ParserModel)
ParseT = TypeVar("ParseT")


class BatchedParser(ABC, Generic[ModelT, ParseT]):
    """A ``SentenceParser[ParseT]`` that parses sentences of like size together.

    Deterministic: apart from the last bits of a score, which depend on the shape of a matrix
    product, a sentence's batch has no influence on its answer.
    """

    default_batch_tokens: ClassVar[int]
    """Bound of a batch's size where none is given: what suits a CPU."""
    cut_batches: ClassVar[Callable[..., list[list[int]]]] = staticmethod(length_batches)
    """Gives the places of sentences in batches, of their sizes and ``max_tokens``."""

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
        batch_tokens: int = 0,
    ) -> None:
        """Takes a loaded model.

        Args:
            model: put into evaluation mode; its device is where parsing happens.
            name: readable, used in paths.
            checksum: of all that determines the answers but the arithmetic; the parser's own also
                names that where it is not the weights'. Empty for a model that is on no disk.
            precision: ``exact`` or ``fast``, see ``pipeline.parsers.devices``.
            max_tokens: longer sentences are rejected as ``too_long``; by default ``MAX_TOKENS`` or
                as many as the model takes.
            batch_tokens: bound of a batch's size, see `_sizes`; a longer sentence stands alone. 0:
                the parser's own. A setting of the machine.

        Raises:
            ValueError: the model has fewer positions than ``max_tokens`` needs, or the precision is
                unknown.
        """
        self._batch_tokens = batch_tokens or self.default_batch_tokens
        limit = self._position_limit(model)
        if max_tokens is not None and limit is not None and max_tokens > limit:
            raise ValueError(f"max_tokens={max_tokens}, but the model takes {limit}")
        wanted = MAX_TOKENS if max_tokens is None else max_tokens
        self._max_tokens = wanted if limit is None else min(wanted, limit)
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
        batch_tokens: int = 0,
        expected_checksum: str | None = None,
    ) -> Self:
        """Returns the parser of a folder; executes nothing from it and asks no hub.

        Args:
            path: a folder that a training or a conversion wrote; its name becomes the parser's.
            device: torch's name of where to parse.
            precision: ``exact``, or ``fast`` for arithmetic that may change a few answers.
            batch_tokens: bound of a batch's size; 0: the parser's own.
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
        measured = parse_or_reject(self._sizes, [sentences[position] for position in accepted])
        sizes: dict[int, int] = {}
        for position, size in zip(accepted, measured, strict=True):
            if isinstance(size, Refusal):
                answers[position] = size
            else:
                sizes[position] = size
        certain = self._certain_answers(sentences, sizes)
        answers.update(certain)
        doubtful = {position: size for position, size in sizes.items() if position not in certain}
        # Those left over are few of each length: small batches of them are padded less.
        max_tokens = 1 + self._batch_tokens // 3 if certain else self._batch_tokens
        for members in self._batches(doubtful, max_tokens=max_tokens):
            chosen = [sentences[position] for position in members]
            parsed = parse_or_reject(self._parse_batch, chosen, self._failures)
            answers.update(zip(members, parsed, strict=True))
        return [answers[position] for position in range(len(sentences))]

    def _batches(self, sizes: Mapping[int, int], *, max_tokens: int) -> list[list[int]]:
        """Returns the positions of sentences in batches, shortest first, given their sizes."""
        positions = list(sizes)
        batches = self.cut_batches(list(sizes.values()), max_tokens=max_tokens)
        return [[positions[place] for place in batch] for batch in batches]

    def _certain_answers(
        self, sentences: Sequence[Sentence], sizes: Mapping[int, int]
    ) -> dict[int, ParseT]:
        """Returns what a cheaper way is certain of, by position; the others are parsed exactly.

        Args:
            sizes: of the sentences that are to be parsed, by position.
        """
        return {}

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

    @abstractmethod
    def _parse_batch(self, sentences: Sequence[Sentence]) -> list[ParseT]:
        """Returns one parse a sentence."""
