"""Trains supar's biaffine dependency model from CoNLL-U treebanks.

Differs from supar's own trainer, which breaks on current torch: the epoch loop is ours, the
weights that are kept are a moving average, the learning rate falls to zero along a cosine, and
rare words are replaced by the unknown word at random (Kiperwasser & Goldberg 2016, section 4).
Legend as in `pipeline.parsers.dependency_forward`.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from treeviews.pipeline.base.settings import Count, Natural
from treeviews.pipeline.parser_training.pretrained_words import (
    extended_by_vectors,
    read_pretrained_vectors,
    with_plain_embedding,
)
from treeviews.pipeline.parser_training.train_parser import (
    FINAL_MARKS,
    ConfigT,
    ParserTraining,
    ParserTrainingConfig,
    alter,
)
from treeviews.pipeline.parsers.dependency_adapter import SuparDependencyParser
from treeviews.pipeline.parsers.dependency_forward import (
    arc_scores,
    encode,
    encode_spellings,
    relation_scores,
)
from treeviews.pipeline.parsers.dependency_model import (
    ROOT_WORD,
    DependencyDescription,
    DependencyModel,
    DependencyVocabulary,
    Dropouts,
    Network,
    NetworkSizes,
    TokenBatch,
    build_network,
    load_dependency_model,
    token_batch,
)
from treeviews.pipeline.parsers.fast_layers import shuffled_length_batches
from treeviews.pipeline.parsers.parser_folder import ParserModel, read_network_description
from treeviews.pipeline.trees.treebanks import TreebankSentence
from treeviews.pipeline.vectors.vector_folder import files_of

logger = logging.getLogger(__name__)

FULLY_HIDDEN_SHARE = 0.25
"""Of the hidden words of a network with pretrained vectors; the others keep their vector."""


class GoldTrees(NamedTuple):
    """The trees of B sentences."""

    lengths: Tensor
    """``[B]`` int64: tokens + 1."""
    heads: Tensor
    """``[B, T]`` int64; 0 at the root and at padding."""
    relations: Tensor
    """``[B, T]`` int64; likewise."""

    @classmethod
    def of(
        cls, sentences: Sequence[TreebankSentence], relation_ids: Mapping[str, int]
    ) -> GoldTrees:
        """Returns the sentences' trees as numbers."""
        lengths = np.array([len(sentence.tokens) + 1 for sentence in sentences])
        heads = np.zeros((len(sentences), int(lengths.max())), dtype=np.int64)
        relations = np.zeros_like(heads)
        for row, (sentence, length) in enumerate(zip(sentences, lengths, strict=True)):
            heads[row, 1:length] = sentence.heads
            relations[row, 1:length] = [relation_ids[name] for name in sentence.deprels]
        return cls(*map(torch.from_numpy, (lengths, heads, relations)))


class TreebankTraining(ParserTraining[ConfigT, TreebankSentence]):
    """A dependency parser of any kind in training; the best epoch has the best LAS."""

    stage = "dependencies"
    loss_names = ("loss",)

    def _take(
        self, sentences: list[TreebankSentence], sizes: Sequence[int], relations: Sequence[str]
    ) -> None:
        """Takes the training sentences, what each counts for in a batch, and their relations."""
        self._sentences, self._sizes = sentences, sizes
        self._relation_ids = {name: i for i, name in enumerate(relations)}

    def _batches(self, seed: int) -> Sequence[tuple[Any, GoldTrees]]:
        random = np.random.default_rng((self.config.seed, self.state.epoch + 1, 1))
        batches = shuffled_length_batches(
            self._sizes, max_tokens=self.config.batch_tokens, random=random
        )
        return [self.batch(members, random) for members in batches]

    def batch(self, members: Sequence[int], random: np.random.Generator) -> tuple[Any, GoldTrees]:
        """Returns the sentences of these positions, some of them altered, and their trees."""
        share = self.config.altered_share
        sentences = [
            alter(self._sentences[position], share, random, dependencies_without_final_mark)
            for position in members
        ]
        trees = GoldTrees.of(sentences, self._relation_ids)
        return self._inputs([sentence.tokens for sentence in sentences], random), trees

    @abstractmethod
    def _inputs(self, sentences: Sequence[Sequence[str]], random: np.random.Generator) -> Any:
        """Returns what the network reads of the sentences; ``random`` draws what is hidden."""

    @abstractmethod
    def _states(self, inputs: Any) -> Tensor:
        """Returns contextual states ``[B, T, D]`` of what the network reads."""

    def _losses(self, batch: tuple[Any, GoldTrees]) -> tuple[Tensor, Sequence[Tensor]]:
        inputs, trees = batch
        loss = loss_of_states(self.state.network, self._states(inputs), trees)
        return loss, [loss]

    @staticmethod
    def headline(dev: Mapping[str, Any]) -> dict[str, float]:
        """Returns the attachment scores."""
        return {"LAS dev": dev["las"], "UAS dev": dev["uas"]}


def loss_of_states(network: Network, states_BTD: Tensor, trees: GoldTrees) -> Tensor:
    """Returns the mean cross-entropy of the gold heads plus that of their gold relations.

    Dozat & Manning 2017, section 2.3; relations are learnt on gold heads.

    Args:
        states_BTD: of the artificial root at position 0, then of each token.
    """
    positions = torch.arange(states_BTD.shape[1], device=states_BTD.device)
    real_BT = (positions > 0) & (positions < trees.lengths[:, None])
    arcs = arc_scores(network, states_BTD, trees.lengths)
    relations = relation_scores(network, states_BTD, trees.heads, real_BT)
    arc_loss = F.cross_entropy(arcs[real_BT], trees.heads[real_BT])
    return arc_loss + F.cross_entropy(relations, trees.relations[real_BT])


class DependencyTrainingConfig(ParserTrainingConfig):
    """What determines a trained dependency parser; the best epoch has the best LAS."""

    word_vectors: Path | None = None
    """Folder of pretrained vectors that are added to those of an initial parser, or none."""
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
        if self.word_vectors is not None and self.initial_parser is None:
            raise ValueError("--vectors are added to a trained parser; give that as --initial")

    @property
    def further_files(self) -> tuple[Path, ...]:
        """Returns those of the word vectors."""
        folder = self.word_vectors
        return () if folder is None else tuple(folder / name for name in files_of(folder))

    @classmethod
    def sizes_of(cls, parser: Path) -> NetworkSizes:
        """Returns the parser's."""
        return read_network_description(parser, DependencyDescription).sizes


class DependencyTraining(TreebankTraining[DependencyTrainingConfig]):
    """A biaffine dependency model in training."""

    settings = DependencyTrainingConfig
    adapter = SuparDependencyParser

    def _start(self, sentences: list[TreebankSentence]) -> DependencyModel:
        model = self._first_model(sentences)
        self._vocabulary = vocabulary = model.description.vocabulary
        self._take(sentences, [len(s.tokens) for s in sentences], vocabulary.relations)
        self._hidden = hiding_probability(sentences, vocabulary, self.config.unknown_word_alpha)
        logger.info("%d words", len(vocabulary.words))
        return model

    def _first_model(self, sentences: list[TreebankSentence]) -> DependencyModel:
        config, dropouts = self.config, self.config.dropouts
        if config.initial_parser is None:
            vocabulary = DependencyVocabulary.build(
                sentences, min_word_frequency=config.min_word_frequency
            )
            description = DependencyDescription(sizes=config.sizes, vocabulary=vocabulary)
            return ParserModel(build_network(description, dropouts), description)
        model = load_dependency_model(config.initial_parser)
        relations = {name for sentence in sentences for name in sentence.deprels}
        known = model.description.vocabulary.relations
        self._check_initial(model.description.sizes, relations=(relations, known))
        if config.word_vectors is not None:
            words, matrix = read_pretrained_vectors(config.word_vectors, config.num_word_vectors)
            return extended_by_vectors(model, words, matrix, dropouts)
        network = build_network(model.description, dropouts)
        network.load_state_dict(model.network.state_dict())
        return replace(model, network=network)

    def _inputs(
        self, sentences: Sequence[Sequence[str]], random: np.random.Generator
    ) -> TokenBatch:
        inputs = token_batch(sentences, self._vocabulary)
        words = self._hide_rare(inputs.words.numpy(), random)
        return replace(inputs, words=torch.from_numpy(words))

    def _hide_rare(
        self, words: NDArray[np.int64], random: np.random.Generator
    ) -> NDArray[np.int64]:
        """Returns the words, some of them the unknown word.

        Where the network adds pretrained vectors, a hidden word mostly is one known from the
        vectors alone, which is what a rare word of other text is.
        """
        hidden = random.random(words.shape) < self._hidden[words]
        unknown = self._vocabulary.unknown_word_id
        if self.config.word_vectors is None:
            return np.where(hidden, unknown, words)
        fully = random.random(words.shape) < FULLY_HIDDEN_SHARE
        vector_only = words + len(self._vocabulary.words)
        return np.where(hidden, np.where(fully, unknown, vector_only), words)

    def _states(self, inputs: TokenBatch) -> Tensor:
        network = self.state.network
        return encode(
            network,
            inputs,
            encode_spellings(network, inputs.distinct_words, self._vocabulary),
            recurrent_weight_dropout=self.config.dropouts.recurrent_weight,
        )

    def averaged_model(self) -> DependencyModel:
        """Returns the model with the averaged weights, pretrained vectors among them."""
        return replace(self._model, network=with_plain_embedding(self.state.averaged))


def hiding_probability(
    sentences: Sequence[TreebankSentence], vocabulary: DependencyVocabulary, alpha: float
) -> NDArray[np.float64]:
    """Returns with which probability each word of the vocabulary becomes the unknown word."""
    counts = Counter(vocabulary.word_id(token) for s in sentences for token in s.tokens)
    frequencies = np.array([counts[row] for row in range(len(vocabulary.words))], np.float64)
    frequencies[[vocabulary.word_pad_id, vocabulary.word_id(ROOT_WORD)]] = np.inf
    probability: NDArray[np.float64] = alpha / (alpha + frequencies)
    return probability


def dependencies_without_final_mark(sentence: TreebankSentence) -> TreebankSentence:
    """Returns the sentence without its last token, where that is a mark on which nothing hangs."""
    last = len(sentence.tokens)
    is_mark = sentence.tokens[-1] in FINAL_MARKS and sentence.deprels[-1] == "punct"
    if last < 2 or not is_mark or last in sentence.heads:
        return sentence
    return replace(
        sentence,
        tokens=sentence.tokens[:-1],
        heads=sentence.heads[:-1],
        deprels=sentence.deprels[:-1],
        xpos=sentence.xpos[:-1],
    )
