"""What the trainings of all dependency parsers share: gold trees in, attachment scores out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np

from pipeline.parser_training.epochs.training import ParserTraining, ParserTrainingConfig
from pipeline.parsers.evaluate_parser import evaluate_dependency_parser
from pipeline.parsers.fast_layers import shuffled_length_batches
from pipeline.parsers.sentence_parser import SentenceParser
from pipeline.trees.flat_trees import DependencyParse
from pipeline.trees.treebanks import TreebankSentence, read_treebank

ConfigT = TypeVar("ConfigT", bound=ParserTrainingConfig)
BatchT = TypeVar("BatchT")


class TreebankTraining(ParserTraining[ConfigT, TreebankSentence, BatchT]):
    """A dependency parser in training; the best epoch has the best LAS."""

    loss_names = ("loss",)

    def _read(self, part: str) -> list[TreebankSentence]:
        return read_treebank(
            getattr(self.config, f"{part}_files"),
            exclude_document_prefixes=self.config.exclude_document_prefixes,
        )

    @abstractmethod
    def _lengths(self) -> Sequence[int]:
        """Returns what each training sentence counts for in a batch."""

    @abstractmethod
    def _batch(self, members: Sequence[int], random: np.random.Generator) -> BatchT:
        """Returns the sentences of these positions; ``random`` draws what is hidden or altered."""

    def _batches(self, seed: int) -> Sequence[BatchT]:
        random = np.random.default_rng((self.config.seed, self.state.epoch + 1, 1))
        members = shuffled_length_batches(
            self._lengths(), max_tokens=self.config.batch_tokens, random=random
        )
        return [self._batch(of_batch, random) for of_batch in members]

    @abstractmethod
    def _averaged_parser(self) -> SentenceParser[DependencyParse]:
        """Returns a parser with the averaged weights."""

    def dev_scores(self) -> tuple[Mapping[str, Any], float, str]:
        """Returns the scores, the one that chooses the epoch, and that one in words."""
        scores = evaluate_dependency_parser(self._averaged_parser(), self.dev)
        return asdict(scores), scores.las, f"LAS {scores.las:.2f}"

    @staticmethod
    def headline(dev: Mapping[str, Any]) -> dict[str, float]:
        """Returns the attachment scores."""
        return {"LAS dev": dev["las"], "UAS dev": dev["uas"]}
