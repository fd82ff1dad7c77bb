"""Trains supar's biaffine dependency model from CoNLL-U treebanks.

Differs from supar's own trainer, which breaks on current torch: the epoch loop is ours, the
weights that are kept are a moving average, the learning rate falls to zero along a cosine, and
rare words are replaced by the unknown word at random (Kiperwasser & Goldberg 2016, section 4).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from torch import Tensor

from pipeline.base.settings import Count, Natural
from pipeline.parser_training.dependency.loss import GoldBatch, GoldTreebank, dependency_loss
from pipeline.parser_training.dependency.treebank_training import TreebankTraining
from pipeline.parser_training.dependency.word_embedding import (
    PretrainedVectors,
    add_pretrained_vectors,
    extended_by_vectors,
    read_pretrained_vectors,
    vector_files,
    with_plain_embedding,
)
from pipeline.parser_training.epochs.training import (
    ParserTrainingConfig,
    check_known,
    check_sizes_given,
)
from pipeline.parsers.dependency_adapter import SuparDependencyParser
from pipeline.parsers.dependency_model import (
    DependencyModel,
    DependencyVocabulary,
    Dropouts,
    Network,
    NetworkSizes,
    build_network,
    load_dependency_model,
    save_dependency_model,
)
from pipeline.trees.treebanks import TreebankSentence

logger = logging.getLogger(__name__)


class DependencyTrainingConfig(ParserTrainingConfig):
    """What determines a trained dependency parser; the best epoch has the best LAS."""

    word_vectors: Path | None = None
    """Folder of pretrained vectors that are added to the learned ones, or none."""
    num_word_vectors: Natural = 0
    """How many of them, most frequent words first; 0 for all. A parser's file holds each."""
    sizes: NetworkSizes = NetworkSizes()
    dropouts: Dropouts = Dropouts()
    min_word_frequency: Count = 2
    """Rarer words share the unknown word's vector; their spelling is still read. Without effect on
    an initial parser, whose words are kept."""
    unknown_word_alpha: float = 0.25
    """A word seen f times becomes the unknown word with probability alpha / (alpha + f)."""

    def _check_together(self) -> None:
        super()._check_together()
        if self.num_word_vectors and self.word_vectors is None:
            raise ValueError("num_word_vectors bounds word vectors, of which none are given")

    @property
    def further_files(self) -> tuple[Path, ...]:
        """Returns those of the word vectors."""
        return () if self.word_vectors is None else vector_files(self.word_vectors)


class DependencyTraining(TreebankTraining[DependencyTrainingConfig, GoldBatch]):
    """A biaffine dependency model in training."""

    @staticmethod
    def sizes_of(parser: Path) -> NetworkSizes:
        """Returns the parser's."""
        return load_dependency_model(parser)[0].sizes

    def _start(self, sentences: list[TreebankSentence]) -> Network:
        network, vocabulary = _start_network(self.config, sentences)
        self._treebank = GoldTreebank(
            sentences,
            vocabulary,
            unknown_word_alpha=self.config.unknown_word_alpha,
            has_vectors=self.config.word_vectors is not None,
            altered_share=self.config.altered_share,
        )
        logger.info("%d words", len(vocabulary.words))
        return network

    def _lengths(self) -> Sequence[int]:
        return self._treebank.lengths

    def _batch(self, members: Sequence[int], random: np.random.Generator) -> GoldBatch:
        return self._treebank.batch(members, random)

    def _losses(self, batch: GoldBatch) -> tuple[Tensor, Sequence[Tensor]]:
        loss = dependency_loss(
            self.state.network,
            batch,
            self._treebank.vocabulary,
            recurrent_weight_dropout=self.config.dropouts.recurrent_weight,
        )
        return loss, [loss]

    def _averaged_model(self) -> DependencyModel:
        network = with_plain_embedding(self.state.averaged)
        return DependencyModel(network, self.config.sizes, self._treebank.vocabulary)

    def _averaged_parser(self) -> SuparDependencyParser:
        return SuparDependencyParser(self._averaged_model(), name="dev")

    def save(self, folder: Path) -> str:
        """Writes the averaged weights as a parser folder and returns its checksum."""
        return save_dependency_model(self._averaged_model(), folder)


def _start_network(
    config: DependencyTrainingConfig, sentences: list[TreebankSentence]
) -> tuple[Network, DependencyVocabulary]:
    """Returns the network before the first step, and its vocabulary."""
    vectors = None
    if config.word_vectors is not None:
        vectors = read_pretrained_vectors(config.word_vectors, config.num_word_vectors)
        vectors = vectors.lower_cased()
    if config.initial_parser is not None:
        return _go_on_from(config.initial_parser, config, vectors, sentences)
    learned = DependencyVocabulary.build(sentences, min_word_frequency=config.min_word_frequency)
    if vectors is None:
        return build_network(config.sizes, learned, config.dropouts), learned
    vocabulary = learned.extended(vectors.words)
    network = build_network(config.sizes, vocabulary, config.dropouts)
    add_pretrained_vectors(network, vocabulary, vectors, num_learned=len(learned.words))
    return network, vocabulary


def _go_on_from(
    folder: Path,
    config: DependencyTrainingConfig,
    vectors: PretrainedVectors | None,
    sentences: list[TreebankSentence],
) -> tuple[Network, DependencyVocabulary]:
    model, _ = load_dependency_model(folder)
    check_sizes_given(folder, model.sizes, config.sizes)
    relations = (name for sentence in sentences for name in sentence.deprels)
    check_known(folder, "relations", relations, model.vocabulary.relations)
    if vectors is not None:
        return extended_by_vectors(model, vectors, config.dropouts)
    network = build_network(model.sizes, model.vocabulary, config.dropouts)
    network.load_state_dict(model.network.state_dict())
    return network, model.vocabulary
