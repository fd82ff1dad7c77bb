"""Parses sentences with supar's biaffine dependency model over a transformer.

The network and its arithmetic are supar's, from the states the trees are made as in the other
dependency parser. A sentence longer than the transformer's positions is read in overlapping
windows, as supar does. Legend: B sentences, T positions (the artificial root + tokens), D features,
F subwords of a token, C characters.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from pipeline.base.refusal import Refusal
from pipeline.parsers.adapters.adapter import BatchedParser
from pipeline.parsers.adapters.base import Sentence
from pipeline.parsers.adapters.device import products_in
from pipeline.parsers.dependency.decoding import trees_of_states
from pipeline.parsers.dependency.subwords import SubwordReader, padded
from pipeline.parsers.dependency.transformer_model import (
    TransformerDependencyModel,
    load_transformer_dependency_model,
)
from pipeline.parsers.dependency.vocabulary import ROOT_WORD
from pipeline.trees.parses import DependencyParse


class TransformerDependencyParser(BatchedParser[TransformerDependencyModel, DependencyParse]):
    """A ``SentenceParser[DependencyParse]`` over a biaffine dependency model with a transformer.

    Differs from supar in that the name of the padding, where it is a token, counts as unknown, that
    unknown words are not added to the vocabulary, and that a sentence stands in a batch with those
    of like length, so an answer may depend on its batch by rounding alone. No sentence has too many
    subwords.
    """

    default_batch_tokens = 4000
    """Padded size in subwords."""

    _load_model = staticmethod(load_transformer_dependency_model)

    def _take(self, model: TransformerDependencyModel) -> None:
        self._model, self.network = model, model.network
        self.relations = model.relations
        self._reader = SubwordReader(model.tokenizer, model.subwords)

    def _sizes(self, sentences: Sequence[Sentence]) -> list[int | Refusal]:
        return [self._reader.num_subwords(tokens) for tokens in sentences]

    def states(self, sentences: Sequence[Sentence]) -> tuple[Tensor, Tensor]:
        """Returns contextual states, float32 ``[B, T, D]``, and the sentences' lengths ``[B]``."""
        lengths = torch.tensor([len(tokens) + 1 for tokens in sentences], device=self._device)
        with products_in(self._dtype, self._device):
            return self.network.encode(*self._input(sentences)).float(), lengths

    def _parse_batch(self, sentences: Sequence[Sentence]) -> list[DependencyParse]:
        return trees_of_states(self.network, *self.states(sentences), self.relations)

    def _input(self, sentences: Sequence[Sentence]) -> tuple[Tensor, list[Tensor]]:
        """Returns supar's two arguments: what it calls the words, and further features."""
        vocabulary = self._model.vocabulary
        subwords_BTF = self._reader.batch(sentences).to(self._device)
        if vocabulary is None:
            return subwords_BTF, []
        rooted = [[ROOT_WORD, *tokens] for tokens in sentences]
        words = [[[vocabulary.word_id(token)] for token in tokens] for tokens in rooted]
        words_BT = padded(words, vocabulary.word_pad_id).squeeze(-1).to(self._device)
        if "char" not in self.network.args.feat:
            return words_BT, [subwords_BTF]
        spelled = [[vocabulary.character_ids(token) for token in tokens] for tokens in rooted]
        characters_BTC = padded(spelled, vocabulary.character_pad_id).to(self._device)
        return words_BT, [characters_BTC, subwords_BTF]
