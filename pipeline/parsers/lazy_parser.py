"""A parser that is known by its checksum at once and loaded when it is first asked."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from pipeline.base.bundled import parser_folder
from pipeline.base.refusal import Refusal
from pipeline.parsers.adapters.base import Sentence, SentenceParser
from pipeline.parsers.adapters.folder_files import checksum_of_parser_folder
from pipeline.trees.parses import Parse

logger = logging.getLogger(__name__)


class LazyParser:
    """A ``SentenceParser`` over a parser's folder, loaded when the first sentence is parsed.

    Whoever finds embeddings or parses in a cache needs its checksum alone, which is read from the
    folder in a fraction of the time that supar and benepar take to import.
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
        from pipeline.parsers.adapters.device import automatic_batch_tokens, automatic_device
        from pipeline.parsers.load import load_parser

        started = time.perf_counter()
        device = automatic_device(self._device)
        parser = load_parser(
            self.path,
            self._stage,
            device=device,
            batch_tokens=automatic_batch_tokens(device) or 0,
            expected_checksum=self.checksum,
        )
        self._process = os.getpid()
        logger.info("loaded parser %s in %.1f s", self.path, time.perf_counter() - started)
        return parser
