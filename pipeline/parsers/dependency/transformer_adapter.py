"""supar's biaffine dependency model over a transformer: its folder, and how sentences are parsed.

The network and its arithmetic are supar's, from the states the trees are made as in the other
dependency parser; a folder holds what supar's checkpoint leaves to a hub. A sentence longer than
the transformer's positions is read in overlapping windows, as supar does. Legend: B sentences, T
positions (the artificial root + tokens), F subwords or characters of a token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from supar.models.dep import BiaffineDependencyModel as BiaffineNetwork
from torch import Tensor
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from pipeline.base.config_fields import Config
from pipeline.base.refusal import Refusal, shortened
from pipeline.parsers.adapters.adapter import BatchedParser
from pipeline.parsers.adapters.base import Sentence
from pipeline.parsers.adapters.device import products_in
from pipeline.parsers.adapters.fitting import check_sizes
from pipeline.parsers.adapters.folder_files import TRANSFORMER_DEPENDENCY
from pipeline.parsers.checkpoints.transformer_folder import read_transformer_parser
from pipeline.parsers.dependency.decoding import trees_of_states
from pipeline.parsers.dependency.model import VocabularyEntries
from pipeline.parsers.dependency.vocabulary import ROOT_WORD, DependencyVocabulary
from pipeline.trees.parses import DependencyParse

_CACHED_WORDS = 100_000
_OWN_SIZES = ("n_rels", "n_arc_mlp", "n_rel_mlp")
_SIZES = {
    "lstm": ("n_words", "n_embed", "n_feat_embed", "n_lstm_hidden", "n_lstm_layers"),
    "char": ("n_chars", "n_char_embed", "n_char_hidden"),
    "bert": ("n_bert_layers",),
}
"""Encoder or feature of supar's network -> its arguments that weights have in their shapes."""


@dataclass(frozen=True, slots=True)
class SubwordRules(Config):
    """How supar turns a token into subwords."""

    called: ClassVar[str] = "subword rule"

    pad_id: int
    unknown_id: int
    root_id: int
    """The one subword of the artificial root."""
    max_per_token: int
    """Further subwords of a token are not seen."""
    space_before: bool
    """Whether a token is read with a space before it, as GPT-2's and RoBERTa's are."""


@dataclass(frozen=True)
class TransformerDependencyModel:
    """A network with all that its input is made with."""

    network: BiaffineNetwork
    tokenizer: PreTrainedTokenizerBase
    subwords: SubwordRules
    relations: list[str]
    vocabulary: DependencyVocabulary | None
    """Of the words and characters beside the subwords; None if there are none."""


@dataclass(frozen=True, slots=True)
class TransformerDependencyDescription(Config):
    """What a parser folder says of a model."""

    called: ClassVar[str] = "parser description"

    network: Mapping[str, Any]
    """Arguments of supar's model but for the transformer."""
    subwords: SubwordRules
    relations: tuple[str, ...]
    vocabulary: VocabularyEntries | None


def transformer_prefix(encoder: str) -> str:
    """Returns how supar's names of a transformer's weights begin."""
    return "encoder.bert." if encoder == "bert" else "bert_embed.bert."


def load_transformer_dependency_model(
    folder: Path, *, expected_checksum: str | None = None
) -> tuple[TransformerDependencyModel, str]:
    """Returns the model of a parser folder and its checksum; see `read_transformer_parser`."""
    return read_transformer_parser(
        folder,
        TRANSFORMER_DEPENDENCY,
        _build,
        prefix=lambda model: transformer_prefix(model.network.args.encoder),
        expected_checksum=expected_checksum,
    )


def _build(
    config: dict[str, Any], tensors: Mapping[str, Tensor], transformer: Path
) -> TransformerDependencyModel:
    """Returns supar's model: the transformer's weights are read, the others are random."""
    description = TransformerDependencyDescription.from_dict(config)
    network, words = description.network, description.vocabulary
    parts = {network["encoder"], *network["feat"]}
    if not parts <= _SIZES.keys():
        raise ValueError(f"encoder and feat name {shortened(sorted(map(str, parts)))}")
    names = [*_OWN_SIZES, *(name for part in parts for name in _SIZES[part])]
    check_sizes({name: network.get(name) for name in names}, tensors)
    return TransformerDependencyModel(
        network=BiaffineNetwork(**network, bert=str(transformer)),
        tokenizer=AutoTokenizer.from_pretrained(transformer, trust_remote_code=False),
        subwords=description.subwords,
        relations=list(description.relations),
        vocabulary=None if words is None else words.vocabulary(),
    )


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
        self._model, self._network = model, model.network
        self._vocabulary_of_subwords: dict[str, int] = model.tokenizer.get_vocab()
        self._subwords: dict[str, list[int]] = {}

    def _sizes(self, sentences: Sequence[Sentence]) -> list[int | Refusal]:
        return [1 + sum(len(self._subword_ids(token)) for token in s) for s in sentences]

    def _parse_batch(self, sentences: Sequence[Sentence]) -> list[DependencyParse]:
        lengths = torch.tensor([len(tokens) + 1 for tokens in sentences], device=self._device)
        with products_in(self._dtype, self._device):
            states = self._network.encode(*self._input(sentences)).float()
        return trees_of_states(self._network, states, lengths, self._model.relations)

    def _input(self, sentences: Sequence[Sentence]) -> tuple[Tensor, list[Tensor]]:
        """Returns supar's two arguments: what it calls the words, and further features."""
        rules, vocabulary = self._model.subwords, self._model.vocabulary
        subwords = [[[rules.root_id], *map(self._subword_ids, tokens)] for tokens in sentences]
        subwords_BTF = self._padded(subwords, rules.pad_id)
        if vocabulary is None:
            return subwords_BTF, []
        rooted = [[ROOT_WORD, *tokens] for tokens in sentences]
        words = [[[vocabulary.word_id(token)] for token in tokens] for tokens in rooted]
        words_BT = self._padded(words, vocabulary.word_pad_id).squeeze(-1)
        if "char" not in self._network.args.feat:
            return words_BT, [subwords_BTF]
        characters = [[vocabulary.character_ids(token) for token in tokens] for tokens in rooted]
        return words_BT, [self._padded(characters, vocabulary.character_pad_id), subwords_BTF]

    def _padded(self, rows: Sequence[Sequence[Sequence[int]]], pad_id: int) -> Tensor:
        """Returns int64 ``[B, T, F]``."""
        num_positions = max(len(row) for row in rows)
        width = max(len(ids) for row in rows for ids in row)
        padded = torch.full((len(rows), num_positions, width), pad_id)
        for b, row in enumerate(rows):
            for t, ids in enumerate(row):
                padded[b, t, : len(ids)] = torch.tensor(ids)
        return padded.to(self._device)

    def _subword_ids(self, token: str) -> list[int]:
        """Returns at least one id, and at most as many as supar reads of a token."""
        found = self._subwords.get(token)
        if found is None:
            rules, known = self._model.subwords, self._vocabulary_of_subwords
            text = " " + token if rules.space_before else token
            ids = [known.get(p, rules.unknown_id) for p in self._model.tokenizer.tokenize(text)]
            ids = [rules.unknown_id if i == rules.pad_id else i for i in ids]
            found = (ids or [rules.unknown_id])[: rules.max_per_token]
            if len(self._subwords) >= _CACHED_WORDS:
                self._subwords.clear()
            self._subwords[token] = found
        return found
