"""Trains benepar's chart model from bracketed treebanks.

benepar's distribution has the model alone; the reading of treebanks, examples, loss, optimiser
and schedule are ours. Differs from the training of Kitaev & Klein 2018 in that batches hold
sentences of like length, that both losses are means over tokens (so that every sentence weighs
the same whatever its batch), that the learning rate falls along a cosine, and that the weights
kept are a moving average.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from benepar.parse_chart import ChartParser
from numpy.typing import DTypeLike
from torch import Tensor

from pipeline.base.settings import Count
from pipeline.parser_training.constituency.chart_scores import chart_losses
from pipeline.parser_training.constituency.examples import (
    ChartBatch,
    ExampleSet,
    build_vocabularies,
)
from pipeline.parser_training.epochs.optimizer import OptimizerConfig
from pipeline.parser_training.epochs.training import (
    ParserTraining,
    ParserTrainingConfig,
    check_known,
    check_sizes_given,
)
from pipeline.parsers.chart_adapter import BeneparConstituencyParser
from pipeline.parsers.chart_model import (
    ChartModelConfig,
    ConstituencyModel,
    load_constituency_model,
    new_constituency_model,
    save_constituency_model,
    to_benepar_label,
)
from pipeline.parsers.evaluate_parser import evaluate_constituency_parser
from pipeline.trees.treebanks import BracketedSentence, no_sentence_in, read_bracketed

logger = logging.getLogger(__name__)

DEFAULT_OPTIMIZER = OptimizerConfig(
    num_epochs=36,
    learning_rate=1.5e-3,
    warmup_epochs=1.5,
    adam_betas=(0.9, 0.98),
    clip_norm=1.0,
    averaging=0.998,
    precision="float32",
)
"""Of the bundled parser."""


class ConstituencyTrainingConfig(ParserTrainingConfig):
    """What determines a trained constituency parser; the best epoch has the best bracket F1."""

    train_documents: tuple[Path, ...] = ()
    """A CoNLL-U file for each train file, which tells its sentences' documents; or none at all."""
    dev_documents: tuple[Path, ...] = ()
    model: ChartModelConfig = ChartModelConfig()
    optimizer: OptimizerConfig = DEFAULT_OPTIMIZER
    min_character_count: Count = 3
    """Rarer characters count as unknown. Without effect on an initial parser, whose are kept."""
    batch_tokens: Count = 500
    """Bound of a batch's padded size."""
    tag_loss_scale: float = 0.3
    """Weight of the tagging loss beside the bracket loss, both per token."""

    def _check_together(self) -> None:
        super()._check_together()
        for name in ("train", "dev"):
            files, documents = getattr(self, f"{name}_files"), getattr(self, f"{name}_documents")
            if documents and len(files) != len(documents):
                raise ValueError(f"{len(documents)} {name}_documents for {len(files)} {name}_files")
        limit = self.model.max_length - 2
        if self.max_sentence_tokens > limit:
            raise ValueError(
                f"max_sentence_tokens={self.max_sentence_tokens}, but the model takes {limit}"
            )

    @property
    def further_files(self) -> tuple[Path, ...]:
        """Returns those that tell the documents."""
        return self.train_documents + self.dev_documents


class ConstituencyTraining(
    ParserTraining[ConstituencyTrainingConfig, BracketedSentence, ChartBatch]
):
    """A chart model in training."""

    loss_names = ("bracket_loss", "tag_loss")
    metrics_dtype: ClassVar[DTypeLike] = np.float32
    sizes_name = "model"

    @staticmethod
    def sizes_of(parser: Path) -> ChartModelConfig:
        """Returns the parser's sizes; dropouts as they are by default."""
        return _with_dropouts_of(ChartModelConfig(), load_constituency_model(parser)[0].config)

    def _read(self, part: str) -> list[BracketedSentence]:
        files: tuple[Path, ...] = getattr(self.config, f"{part}_files")
        documents: tuple[Path, ...] = getattr(self.config, f"{part}_documents")
        excluded = self.config.exclude_document_prefixes
        sentences: list[BracketedSentence] = []
        for file, of_file in zip(files, documents or [None] * len(files), strict=True):
            sentences += read_bracketed(file, documents=of_file, exclude_document_prefixes=excluded)
        if not sentences:
            raise ValueError(no_sentence_in(files, excluded))
        return sentences

    def _start(self, sentences: list[BracketedSentence]) -> ChartParser:
        model = _start_model(self.config, sentences)
        self._vocabularies = model.vocabularies
        self._examples = ExampleSet(
            sentences, model.vocabularies, altered_share=self.config.altered_share
        )
        logger.info("%d labels", len(model.vocabularies.labels))
        return model.network

    def _batches(self, seed: int) -> Sequence[ChartBatch]:
        return list(self._examples.batches(self.config.batch_tokens, seed=seed))

    def _losses(self, batch: ChartBatch) -> tuple[Tensor, Sequence[Tensor]]:
        losses = chart_losses(self.state.network, batch)
        loss = losses.brackets + self.config.tag_loss_scale * losses.tags
        return loss, [losses.brackets, losses.tags]

    def _averaged_model(self) -> ConstituencyModel:
        return ConstituencyModel(self.config.model, self._vocabularies, self.state.averaged)

    def dev_scores(self) -> tuple[Mapping[str, Any], float, str]:
        """Returns the scores, the one that chooses the epoch, and that one in words."""
        parser = BeneparConstituencyParser(self._averaged_model(), name="dev")
        scores = evaluate_constituency_parser(parser, self.dev)
        return scores.as_json(), scores.evalb.f1, f"F1 {scores.evalb.f1:.2f}"

    def save(self, folder: Path) -> str:
        """Writes the averaged weights as a parser folder and returns its checksum."""
        return save_constituency_model(folder, self._averaged_model())

    @staticmethod
    def headline(dev: Mapping[str, Any]) -> dict[str, float]:
        """Returns F1 and tag accuracy in the conventions of EVALB."""
        evalb = dev["evalb"]
        return {"bracket F1 dev": evalb["f1"], "tag accuracy dev": evalb["tag_accuracy"]}


def _start_model(
    config: ConstituencyTrainingConfig, sentences: list[BracketedSentence]
) -> ConstituencyModel:
    """Returns the model before the first step."""
    if config.initial_parser is not None:
        model, _ = load_constituency_model(config.initial_parser)
        labels = (to_benepar_label(label) for s in sentences for label in s.parse.labels)
        check_known(config.initial_parser, "labels", labels, model.vocabularies.labels)
        tags = (tag for s in sentences for tag in s.parse.tags)
        check_known(config.initial_parser, "tags", tags, model.vocabularies.tags)
        own = _with_dropouts_of(config.model, model.config)
        check_sizes_given(config.initial_parser, own, config.model)
        fresh = new_constituency_model(config.model, model.vocabularies)
        fresh.network.load_state_dict(model.network.state_dict())
        return fresh
    vocabularies = build_vocabularies(sentences, min_character_count=config.min_character_count)
    return new_constituency_model(config.model, vocabularies)


def _with_dropouts_of(training: ChartModelConfig, sizes: ChartModelConfig) -> ChartModelConfig:
    return sizes.changed(dropout=training.dropout, char_dropout=training.char_dropout)
