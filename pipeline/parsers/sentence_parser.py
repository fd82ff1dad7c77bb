"""What a parser is, and how to get one: sentences in, parses or reasoned refusals out.

Known without torch. Libraries are imported when a parser is loaded, which takes seconds.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from treeviews.pipeline.base.bundled import parser_folder
from treeviews.pipeline.base.refusal import Refusal, shortened
from treeviews.pipeline.parsers.parser_files import (
    ADAPTERS,
    DESCRIPTION_NAME,
    checksum_of_parser_folder,
    read_description,
)
from treeviews.pipeline.trees.flat_trees import Parse

logger = logging.getLogger(__name__)

Sentence = Sequence[str]

MAX_TOKENS = 510
"""Longer sentences are rejected: benepar has 512 positions, two of them for the sentence marks, and
both parses must be of the same sentences."""

ParserPrecision = Literal["exact", "fast"]
"""``exact`` is the arithmetic of the weights; ``fast`` whatever the device multiplies faster."""


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
    """A machine has no memory to parse even a short sentence with."""

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
            ParserFailedError: there is no memory to parse with, which is no sentence's fault.
            RuntimeError: a device did.
        """
        ...


def load_parser(
    path: Path,
    stage: str,
    *,
    device: str = "cpu",
    precision: str = "exact",
    batch_tokens: int = 0,
    expected_checksum: str | None = None,
) -> SentenceParser[Parse]:
    """Returns the parser of a folder, of whatever kind it is; its name is the folder's.

    Executes nothing from the folder and asks no hub.

    Args:
        stage: ``dependencies`` or ``constituents``, what the parser must give.
        device: torch's name of where to parse; ``auto`` takes a GPU where there is one.
        precision: ``exact``, or ``fast`` for arithmetic that may change a few answers.
        batch_tokens: bound of a batch's size, of subwords where the parser reads these; 0: what
            suits parser and device.
        expected_checksum: where given, the folder must have exactly this checksum.

    Raises:
        ValueError: a file is missing or damaged, the parser is of another kind, or there is no such
            device; says what to do.
    """
    from treeviews.pipeline.parsers.devices import resolve_device

    kind = read_description(path).kind
    actual, adapter_name = ADAPTERS.get(kind, (None, ""))
    if actual != stage:
        gives = f"which gives {actual}" if actual else "which this version does not know"
        raise ValueError(
            f"{path / DESCRIPTION_NAME}: a parser of kind {shortened(kind)}, {gives}, but one for "
            f"{stage} is needed here"
        )
    checksum = checksum_of_parser_folder(path)
    if expected_checksum not in {None, checksum}:
        raise ValueError(
            f"{path}: checksum {checksum} differs from the expected {expected_checksum}; restore "
            f"the parser's files or correct the expected checksum"
        )
    module, _, name = adapter_name.partition(".")
    adapter = getattr(import_module(f"treeviews.pipeline.parsers.{module}"), name)
    model = adapter.load_model(path)
    model.network.to(resolve_device(device))
    parser: SentenceParser[Parse] = adapter(
        model, name=path.resolve().name, precision=precision, batch_tokens=batch_tokens
    )
    return parser


class LazyParser:
    """A ``SentenceParser`` over a parser's folder, loaded when the first sentence is parsed.

    Whoever finds embeddings or parses in a cache needs its checksum alone, which is read from the
    folder in a fraction of the time that torch takes to import.
    """

    def __init__(self, stage: str, path: Path, *, device: str = "cpu") -> None:
        """Reads the folder's checksum and no more.

        Args:
            stage: what it parses, ``dependencies`` or ``constituents``.
            path: the parser's folder, or the name of one that ships.
            device: torch's name of where to parse; ``auto`` takes a GPU where there is one.

        Raises:
            ValueError: a file is missing.
        """
        self.path = parser_folder(path)
        self.name = self.path.resolve().name
        self.checksum = checksum_of_parser_folder(self.path)
        self._stage, self._device = stage, device
        self._process = os.getpid()

    def parse(self, sentences: Sequence[Sentence]) -> Sequence[Parse | Refusal]:
        """Returns one parse or rejection per sentence, in input order.

        Raises:
            ValueError: the folder holds another kind of parser, or has changed meanwhile.
            RuntimeError: memory, a device or a parser failed.
        """
        parser = self._parser
        if os.getpid() != self._process:
            import torch

            # A fork has none of the threads that it would wait for, as in torch's own workers.
            torch.set_num_threads(1)
            self._process = os.getpid()
        return parser.parse(sentences)

    @cached_property
    def _parser(self) -> SentenceParser[Parse]:
        started = time.perf_counter()
        parser = load_parser(
            self.path, self._stage, device=self._device, expected_checksum=self.checksum
        )
        self._process = os.getpid()
        logger.info("loaded parser %s in %.1f s", self.path, time.perf_counter() - started)
        return parser
