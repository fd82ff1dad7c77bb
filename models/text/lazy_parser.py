"""A parser that is loaded when the first sentence is parsed.

Whoever finds embeddings or parses in a cache needs its checksum alone, which is read from the
folder in a fraction of the time that supar and benepar take to import.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from pipeline.parsers.base import Sentence, SentenceParser
from pipeline.parsers.folder_files import checksum_of_parser_folder
from pipeline.refusal import Refusal
from pipeline.trees.parses import Parse

logger = logging.getLogger(__name__)


class LazyParser:
    """A ``SentenceParser`` over a parser's folder."""

    def __init__(self, stage: str, path: Path, *, device: str = "cpu") -> None:
        """Reads the folder's checksum and no more.

        Args:
            stage: what it parses, ``dependencies`` or ``constituents``.
            path: the parser's folder.
            device: torch's name of where to parse.

        Raises:
            ValueError: a file is missing.
        """
        self.name = path.resolve().name
        self.checksum = checksum_of_parser_folder(path)
        self._stage, self._path, self._device = stage, path, device

    def parse(self, sentences: Sequence[Sentence]) -> Sequence[Parse | Refusal]:
        """Returns one parse or rejection per sentence, in input order.

        Raises:
            ValueError: the folder holds another kind of parser, or has changed meanwhile.
            MemoryError, RuntimeError: memory or a device failed.
        """
        return self._parser.parse(sentences)

    @cached_property
    def _parser(self) -> SentenceParser[Parse]:
        started = time.perf_counter()
        parser = self._load()
        logger.info("loaded parser %s in %.1f s", self._path, time.perf_counter() - started)
        return parser

    def _load(self) -> SentenceParser[Parse]:
        from pipeline.parsers.load import load_parser

        return load_parser(
            self._path, self._stage, device=self._device, expected_checksum=self.checksum
        )


def lazy_parsers(paths: Mapping[str, Path], device: str) -> dict[str, SentenceParser[Parse]]:
    """Returns the parser of each stage, not loaded yet.

    Raises:
        ValueError: a folder lacks a file.
    """
    return {stage: LazyParser(stage, path, device=device) for stage, path in paths.items()}
