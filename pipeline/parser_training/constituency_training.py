"""Trains benepar's chart model from bracketed treebanks.

benepar's distribution has the model alone; the reading of treebanks, examples, loss, optimiser
and schedule are ours. Differs from the training of Kitaev & Klein 2018 in that batches hold
sentences of like length, that both losses are means over tokens (so that every sentence weighs
the same whatever its batch), that the learning rate falls along a cosine, and that the weights
kept are a moving average.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import DTypeLike
from torch import Tensor

from treeviews.pipeline.base.settings import Count
from treeviews.pipeline.parser_training.chart_loss import (
    IGNORED_TAG,
    ChartBatch,
    SpanIndex,
    chart_input,
    chart_losses,
)
from treeviews.pipeline.parser_training.train_parser import (
    FINAL_MARKS,
    ParserTraining,
    ParserTrainingConfig,
    alter,
)
from treeviews.pipeline.parser_training.training_state import OptimizerConfig
from treeviews.pipeline.parsers.chart_adapter import BeneparConstituencyParser
from treeviews.pipeline.parsers.chart_model import (
    RESERVED_CHARACTERS,
    ChartDescription,
    ChartModelConfig,
    ChartVocabularies,
    ConstituencyModel,
    build_chart_parser,
    from_benepar_label,
    load_constituency_model,
    to_benepar_label,
)
from treeviews.pipeline.parsers.fast_layers import cut_batches
from treeviews.pipeline.parsers.parser_folder import ParserModel, read_network_description
from treeviews.pipeline.trees.flat_trees import CHAIN_MARK, TOP_LABEL, ConstituencyParse
from treeviews.pipeline.trees.treebanks import BracketedSentence

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

    sizes_name: ClassVar[str] = "model"

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
        limit = self.model.max_length - 2
        if self.max_sentence_tokens > limit:
            raise ValueError(
                f"max_sentence_tokens={self.max_sentence_tokens}, but the model takes {limit}"
            )

    @classmethod
    def sizes_of(cls, parser: Path) -> ChartModelConfig:
        """Returns the parser's sizes; dropouts as they are by default."""
        sizes = read_network_description(parser, ChartDescription).model
        return _with_dropouts_of(ChartModelConfig(), sizes)


class ConstituencyTraining(ParserTraining[ConstituencyTrainingConfig, BracketedSentence]):
    """A chart model in training."""

    stage = "constituents"
    settings = ConstituencyTrainingConfig
    adapter = BeneparConstituencyParser
    loss_names = ("bracket_loss", "tag_loss")
    metrics_dtype: ClassVar[DTypeLike] = np.float32

    def _start(self, sentences: list[BracketedSentence]) -> ConstituencyModel:
        description = self._first_description(sentences)
        network = build_chart_parser(description)
        if self.config.initial_parser is not None:
            initial = load_constituency_model(self.config.initial_parser)
            network.load_state_dict(initial.network.state_dict())
        self._sentences, self._vocabularies = sentences, description.vocabularies
        labels = description.vocabularies.labels[1:]
        self._without_mark = partial(
            constituents_without_final_mark, labels=set(map(from_benepar_label, labels))
        )
        logger.info("%d labels", len(labels) + 1)
        return ParserModel(network, description)

    def _first_description(self, sentences: list[BracketedSentence]) -> ChartDescription:
        config = self.config
        if config.initial_parser is None:
            vocabularies = build_vocabularies(
                sentences, min_character_count=config.min_character_count
            )
            return ChartDescription(model=config.model, vocabularies=vocabularies)
        initial = read_network_description(config.initial_parser, ChartDescription)
        known = initial.vocabularies
        labels = {to_benepar_label(label) for s in sentences for label in s.parse.labels}
        tags = {tag for s in sentences for tag in s.parse.tags}
        sizes = _with_dropouts_of(config.model, initial.model)
        self._check_initial(sizes, labels=(labels, known.labels), tags=(tags, known.tags))
        return ChartDescription(model=config.model, vocabularies=known)

    def _batches(self, seed: int) -> Sequence[ChartBatch]:
        config, generator = self.config, torch.Generator().manual_seed(seed)
        sizes = [len(sentence.tokens) for sentence in self._sentences]
        shuffled = torch.randperm(len(sizes), generator=generator).tolist()
        shuffled.sort(key=sizes.__getitem__)
        groups = cut_batches(shuffled, sizes, config.batch_tokens)
        random = np.random.default_rng(seed)
        batches = []
        for which in torch.randperm(len(groups), generator=generator).tolist():
            drawn = (self._sentences[index] for index in groups[which])
            altered = [alter(s, config.altered_share, random, self._without_mark) for s in drawn]
            batches.append(chart_batch(altered, self._vocabularies))
        return batches

    def _losses(self, batch: ChartBatch) -> tuple[Tensor, Sequence[Tensor]]:
        brackets, tags = chart_losses(self.state.network, batch)
        return brackets + self.config.tag_loss_scale * tags, [brackets, tags]

    @staticmethod
    def headline(dev: Mapping[str, Any]) -> dict[str, float]:
        """Returns F1 and tag accuracy in the conventions of EVALB."""
        evalb = dev["evalb"]
        return {"bracket F1 dev": evalb["f1"], "tag accuracy dev": evalb["tag_accuracy"]}


def _with_dropouts_of(training: ChartModelConfig, sizes: ChartModelConfig) -> ChartModelConfig:
    return sizes.changed(dropout=training.dropout, char_dropout=training.char_dropout)


def build_vocabularies(
    sentences: Sequence[BracketedSentence], *, min_character_count: int
) -> ChartVocabularies:
    """Returns the vocabularies of a training set, sorted so that they do not depend on order.

    Args:
        sentences: the training set.
        min_character_count: rarer characters count as unknown, which trains the unknown one.

    Differs from benepar, which takes every character of the training set and so leaves the
    unknown character's embedding at its random start.
    """
    counts = Counter(character for s in sentences for token in s.tokens for character in token)
    frequent = {c for c, count in counts.items() if count >= min_character_count}
    labels = {to_benepar_label(label) for s in sentences for label in s.parse.labels}
    return ChartVocabularies(
        characters=(*RESERVED_CHARACTERS, *sorted(frequent - set(RESERVED_CHARACTERS))),
        labels=("", *sorted(labels)),
        tags=tuple(sorted({tag for s in sentences for tag in s.parse.tags})),
    )


def chart_batch(
    sentences: Sequence[BracketedSentence], vocabularies: ChartVocabularies
) -> ChartBatch:
    """Returns sentences and their trees as numbers."""
    characters, label_ids, tag_ids = (
        {entry: i for i, entry in enumerate(entries)}
        for entries in (vocabularies.characters, vocabularies.labels, vocabularies.tags)
    )
    batch = chart_input([sentence.tokens for sentence in sentences], characters)
    tags = torch.full(batch.rows.shape, IGNORED_TAG)
    spans: list[tuple[int, int, int, int]] = []
    for b, parse in enumerate(sentence.parse for sentence in sentences):
        tags[b, 1 : len(parse.tags) + 1] = torch.tensor([tag_ids[tag] for tag in parse.tags])
        labels = [label_ids[to_benepar_label(label)] for label in parse.labels]
        spans += zip([b] * len(labels), parse.starts, parse.ends, labels, strict=True)
    *gold, gold_labels = torch.tensor(spans).unbind(1)
    return ChartBatch(batch, SpanIndex(*gold), gold_labels, tags)


def constituents_without_final_mark(
    sentence: BracketedSentence, labels: Collection[str] | None = None
) -> BracketedSentence:
    """Returns the sentence without its last token, where that is a mark that is no constituent.

    A constituent that is left with one child joins it in a unary chain.

    Args:
        sentence: with its tree.
        labels: that the parser knows, chains included; None for all. A sentence whose tree would
            have another stays as it is.
    """
    parse, last = sentence.parse, len(sentence.tokens) - 1
    if last < 1 or sentence.tokens[-1] not in FINAL_MARKS or last in parse.starts:
        return sentence
    spans: list[tuple[int, int, str]] = []
    for start, end, label in zip(parse.starts, parse.ends, parse.labels, strict=True):
        chain = label
        if spans and spans[-1][:2] == (start, min(end, last)):
            above = spans.pop()[2]
            chain = label if above == TOP_LABEL else f"{above}{CHAIN_MARK}{label}"
        spans.append((start, min(end, last), chain))
    starts, ends, chains = map(list, zip(*spans, strict=True))
    if labels is not None and not set(chains) <= set(labels):
        return sentence
    cut = ConstituencyParse(starts=starts, ends=ends, labels=chains, tags=parse.tags[:-1])
    return replace(sentence, tokens=sentence.tokens[:-1], parse=cut)
