"""Gold sentences as training batches, and their loss. Legend as in `forward`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from pipeline.parser_training.epochs.alterations import alter, dependencies_without_final_mark
from pipeline.parsers.dependency_forward import (
    arc_scores,
    encode,
    encode_spellings,
    relation_scores,
)
from pipeline.parsers.dependency_model import (
    ROOT_WORD,
    DependencyVocabulary,
    Network,
    TokenBatch,
    token_batch,
)
from pipeline.trees.treebanks import TreebankSentence


@dataclass(frozen=True)
class GoldTrees:
    """The trees of B sentences."""

    lengths: Tensor
    """``[B]`` int64: tokens + 1."""
    heads: Tensor
    """``[B, T]`` int64; 0 at the root and at padding."""
    relations: Tensor
    """``[B, T]`` int64; likewise."""


@dataclass(frozen=True)
class GoldBatch:
    """B sentences with their trees."""

    inputs: TokenBatch
    trees: GoldTrees


FULLY_HIDDEN_SHARE = 0.25
"""Of the hidden words of a network with pretrained vectors; the others keep their vector."""


class GoldSentences:
    """Training sentences, some of them altered at random, and their trees as numbers."""

    def __init__(
        self,
        sentences: Sequence[TreebankSentence],
        relations: Sequence[str],
        *,
        altered_share: float = 0.0,
    ) -> None:
        """Takes the sentences.

        Args:
            relations: the network's.
            altered_share: see `ParserTrainingConfig`.
        """
        self._sentences = sentences
        self._relation_ids = {name: i for i, name in enumerate(relations)}
        self._altered_share = altered_share

    def drawn(
        self, members: Sequence[int], random: np.random.Generator
    ) -> tuple[list[list[str]], GoldTrees]:
        """Returns the tokens of the sentences at the given positions, and their trees."""
        chosen = [
            alter(
                self._sentences[position],
                self._altered_share,
                random,
                dependencies_without_final_mark,
            )
            for position in members
        ]
        lengths = np.array([len(sentence.tokens) + 1 for sentence in chosen])
        heads = np.zeros((len(chosen), int(lengths.max())), dtype=np.int64)
        relations = np.zeros_like(heads)
        for row, (sentence, length) in enumerate(zip(chosen, lengths, strict=True)):
            heads[row, 1:length] = sentence.heads
            relations[row, 1:length] = [self._relation_ids[name] for name in sentence.deprels]
        trees = GoldTrees(*map(torch.from_numpy, (lengths, heads, relations)))
        return [sentence.tokens for sentence in chosen], trees


class GoldTreebank:
    """A treebank, numbered by a vocabulary, that hides rare words at random.

    A hidden word is the unknown word. Where the network adds pretrained vectors, it mostly is a
    word known from the vectors alone, which is what a rare word of other text is.
    """

    def __init__(
        self,
        sentences: Sequence[TreebankSentence],
        vocabulary: DependencyVocabulary,
        *,
        unknown_word_alpha: float,
        has_vectors: bool = False,
        altered_share: float = 0.0,
    ) -> None:
        """Counts the words.

        Args:
            unknown_word_alpha, altered_share: see `ParserTrainingConfig`.
            has_vectors: whether the word embedding is a ``VectorWordEmbedding``.
        """
        self._gold = GoldSentences(sentences, vocabulary.relations, altered_share=altered_share)
        self.lengths = [len(sentence.tokens) for sentence in sentences]
        """In tokens, at most."""
        self.vocabulary = vocabulary
        self._has_vectors = has_vectors
        seen = Counter(vocabulary.word_id(token) for s in sentences for token in s.tokens)
        frequencies = np.array(
            [seen[row] for row in range(len(vocabulary.words))], dtype=np.float64
        )
        frequencies[[vocabulary.word_pad_id, vocabulary.word_id(ROOT_WORD)]] = np.inf
        self._hide_probability = unknown_word_alpha / (unknown_word_alpha + frequencies)

    def batch(self, members: Sequence[int], random: np.random.Generator) -> GoldBatch:
        """Returns the sentences at the given positions."""
        sentences, trees = self._gold.drawn(members, random)
        inputs = token_batch(sentences, self.vocabulary)
        words = torch.from_numpy(self._hide_rare(inputs.words.numpy(), random))
        return GoldBatch(inputs=replace(inputs, words=words), trees=trees)

    def _hide_rare(
        self, words: NDArray[np.int64], random: np.random.Generator
    ) -> NDArray[np.int64]:
        hidden = random.random(words.shape) < self._hide_probability[words]
        unknown = self.vocabulary.unknown_word_id
        if not self._has_vectors:
            return np.where(hidden, unknown, words)
        fully = random.random(words.shape) < FULLY_HIDDEN_SHARE
        vector_only = words + len(self.vocabulary.words)
        return np.where(hidden, np.where(fully, unknown, vector_only), words)


def dependency_loss(
    network: Network,
    batch: GoldBatch,
    vocabulary: DependencyVocabulary,
    *,
    recurrent_weight_dropout: float,
) -> Tensor:
    """Returns the mean cross-entropy of the gold heads plus that of their gold relations.

    Dozat & Manning 2017, section 2.3; relations are learnt on gold heads.
    """
    inputs = batch.inputs
    states = encode(
        network,
        inputs,
        encode_spellings(network, inputs.distinct_words, vocabulary),
        recurrent_weight_dropout=recurrent_weight_dropout,
    )
    return loss_of_states(network, states, batch.trees)


def loss_of_states(network: Network, states_BTD: Tensor, trees: GoldTrees) -> Tensor:
    """Returns the loss of contextual states, wherever these come from.

    Args:
        states_BTD: of the artificial root at position 0, then of each token.
    """
    positions = torch.arange(states_BTD.shape[1], device=states_BTD.device)
    real_BT = (positions > 0) & (positions < trees.lengths[:, None])
    arcs = arc_scores(network, states_BTD, trees.lengths)
    relations = relation_scores(network, states_BTD, trees.heads, real_BT)
    arc_loss = F.cross_entropy(arcs[real_BT], trees.heads[real_BT])
    return arc_loss + F.cross_entropy(relations, trees.relations[real_BT])
