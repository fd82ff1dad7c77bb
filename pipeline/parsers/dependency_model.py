"""A biaffine dependency parser: sizes, vocabularies, network, the parser folder on disk.

Dozat & Manning 2017, "Deep biaffine attention for neural dependency parsing", sections 2.1-2.3.
Legend: B sentences, T positions (the artificial root + tokens).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from treeviews.pipeline.base.settings import Count, Settings, ShareBelow1
from treeviews.pipeline.parsers.parser_folder import (
    Layers,
    NamedParts,
    NetworkDescription,
    ParserModel,
    read_model,
)
from treeviews.pipeline.trees.treebanks import TreebankSentence

if TYPE_CHECKING:
    from supar.models.dep import BiaffineDependencyModel as BiaffineNetwork

Network: TypeAlias = Any
"""supar's ``BiaffineDependencyModel``, or a `bare_network` for prediction alone."""

PAD, UNKNOWN, ROOT = "<pad>", "<unk>", "<bos>"
"""supar's special entries; ``ROOT`` stands at position 0 of every sentence."""
SPECIALS = [PAD, UNKNOWN, ROOT]

ROOT_WORD = ""
"""Stands for the artificial root among tokens, of which none is empty."""

LEAK = 0.1
"""Of the rectifiers behind the projections, as supar has it."""


class NetworkSizes(Settings):
    """Widths of the network; with the vocabularies they determine every weight's shape."""

    called: ClassVar[str] = "network size"

    word_embedding: Count = 64
    character_embedding: Count = 50
    character_hidden: Count = 128
    """Both directions together."""
    character_features: Count = 100
    lstm_hidden: Count = 192
    """One direction."""
    lstm_layers: Layers = 3
    arc_mlp: Count = 192
    relation_mlp: Count = 64

    def _check_together(self) -> None:
        if self.character_hidden % 2:
            raise ValueError(f"character_hidden must be even, got {self.character_hidden}")


SUPAR_SIZES = {
    "word_embedding": "n_embed",
    "character_embedding": "n_char_embed",
    "character_hidden": "n_char_hidden",
    "character_features": "n_feat_embed",
    "lstm_hidden": "n_lstm_hidden",
    "lstm_layers": "n_lstm_layers",
    "arc_mlp": "n_arc_mlp",
    "relation_mlp": "n_rel_mlp",
}
"""Our name of a size -> supar's."""


class Dropouts(Settings):
    """Probabilities with which parts of the network are switched off in training."""

    called: ClassVar[str] = "dropout"

    embedding: ShareBelow1 = 0.33
    """Of a token's whole word vector or whole character vector."""
    lstm: ShareBelow1 = 0.33
    """Of a feature at all positions of a sentence, at the input of each layer and at the end."""
    recurrent_weight: ShareBelow1 = 0.1
    """Of a single recurrent weight (DropConnect, Merity et al. 2018).
    Differs from supar, which drops the recurrent state: a fused LSTM has no place for that."""
    mlp: ShareBelow1 = 0.33


class DependencyVocabulary(Settings):
    """Every known word, character and relation, by index; looking up never adds an entry."""

    called: ClassVar[str] = "vocabulary entry"

    max_word_characters: Count = 20
    """Further characters of a word are not seen."""
    relations: tuple[str, ...]
    characters: tuple[str, ...]
    """The specials included."""
    words: tuple[str, ...]
    """Lower-cased, the specials included; the index is the row of the embedding matrix."""

    def _check_together(self) -> None:
        for name, entries in (("words", self.words), ("characters", self.characters)):
            missing = [special for special in SPECIALS if special not in entries]
            if missing:
                raise ValueError(f"vocabulary {name} lacks {', '.join(missing)}")

    @classmethod
    def build(
        cls, sentences: Sequence[TreebankSentence], *, min_word_frequency: int
    ) -> DependencyVocabulary:
        """Returns the vocabulary of a training treebank, frequent entries first."""
        words = Counter(token.lower() for s in sentences for token in s.tokens)
        characters = Counter(character for s in sentences for t in s.tokens for character in t)
        relations = Counter(relation for s in sentences for relation in s.deprels)
        return cls(
            words=(*SPECIALS, *_by_frequency(words, min_word_frequency, without=SPECIALS)),
            characters=(*SPECIALS, *_by_frequency(characters, 1)),
            relations=tuple(_by_frequency(relations, 1)),
        )

    def extended(self, words: Sequence[str]) -> DependencyVocabulary:
        """Returns this vocabulary with the lower-cased words it lacks behind its own."""
        known = set(self.words)
        return self.changed(words=(*self.words, *(word for word in words if word not in known)))

    @cached_property
    def _word_ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def _character_ids(self) -> dict[str, int]:
        return {character: i for i, character in enumerate(self.characters)}

    @property
    def word_pad_id(self) -> int:
        """Row of the padding entry among the words."""
        return self._word_ids[PAD]

    @property
    def character_pad_id(self) -> int:
        """Row of the padding entry among the characters."""
        return self._character_ids[PAD]

    @property
    def unknown_word_id(self) -> int:
        """Row that all unknown words share."""
        return self._word_ids[UNKNOWN]

    def word_id(self, word: str) -> int:
        """Returns the row of a lower-cased word; a token spelled like a special is unknown."""
        if word == ROOT_WORD:
            return self._word_ids[ROOT]
        lowered = word.lower()
        if lowered in SPECIALS:
            return self.unknown_word_id
        return self._word_ids.get(lowered, self.unknown_word_id)

    def character_ids(self, word: str) -> list[int]:
        """Returns the rows of a word's first characters, case kept; the root is one special."""
        if word == ROOT_WORD:
            return [self._character_ids[ROOT]]
        unknown = self._character_ids[UNKNOWN]
        return [self._character_ids.get(c, unknown) for c in word[: self.max_word_characters]]


def _by_frequency(
    counts: Counter[str], min_frequency: int, *, without: Sequence[str] = ()
) -> list[str]:
    kept = [entry for entry, n in counts.items() if n >= min_frequency and entry not in without]
    return sorted(kept, key=lambda entry: (-counts[entry], entry))


class DependencyDescription(NetworkDescription):
    """What a parser folder says of a network, whose embeddings the vocabulary indexes."""

    kind: ClassVar[str] = "supar-biaffine-dependency"

    sizes: NetworkSizes
    vocabulary: DependencyVocabulary


DependencyModel: TypeAlias = ParserModel[DependencyDescription]


def load_dependency_model(folder: Path, *, bare: bool = False) -> DependencyModel:
    """Returns the model of a parser folder, its weights as float32; see `read_model`.

    Args:
        folder: the parser's.
        bare: whether the network is for prediction alone, see `bare_network`.
    """
    return read_model(folder, DependencyDescription, bare_network if bare else build_network)


def build_network(
    description: DependencyDescription, dropouts: Dropouts | None = None
) -> BiaffineNetwork:
    """Returns supar's model with fresh random weights and the given sizes."""
    from supar.models.dep import BiaffineDependencyModel

    dropouts, sizes = dropouts or Dropouts(), description.sizes
    vocabulary = description.vocabulary
    return BiaffineDependencyModel(
        n_words=len(vocabulary.words),
        n_rels=len(vocabulary.relations),
        n_chars=len(vocabulary.characters),
        encoder="lstm",
        feat=["char"],
        **{theirs: getattr(sizes, ours) for ours, theirs in SUPAR_SIZES.items()},
        n_pretrained=sizes.word_embedding,  # equal to n_embed: no pretrained vectors
        char_pad_index=vocabulary.character_pad_id,
        embed_dropout=dropouts.embedding,
        encoder_dropout=dropouts.lstm,
        mlp_dropout=dropouts.mlp,
        pad_index=vocabulary.word_pad_id,
        unk_index=vocabulary.unknown_word_id,
    )


def bare_network(description: DependencyDescription) -> Network:
    """Returns the modules that `for_prediction` reads, by supar's names.

    It predicts nothing itself. Without supar, which imports nltk and scipy's statistics: three
    seconds before the first sentence. Training and conversion build supar's own network.
    """
    sizes, vocabulary = description.sizes, description.vocabulary
    states, hidden, features = (
        2 * sizes.lstm_hidden,
        sizes.character_hidden,
        sizes.character_features,
    )
    first = sizes.word_embedding + features

    def cells() -> nn.ModuleList:
        widths = [first, *[states] * (sizes.lstm_layers - 1)]
        return nn.ModuleList(nn.LSTMCell(width, sizes.lstm_hidden) for width in widths)

    def projection(out: int) -> NamedParts:
        return NamedParts(linear=nn.Linear(states, out), activation=nn.LeakyReLU(LEAK))

    def bilinear_forms(*shape: int) -> NamedParts:
        return NamedParts(weight=nn.Parameter(torch.empty(shape)))

    width = sizes.character_embedding
    relation_width = sizes.relation_mlp + 1
    return NamedParts(
        word_embed=nn.Embedding(len(vocabulary.words), sizes.word_embedding),
        char_embed=NamedParts(
            embed=nn.Embedding(len(vocabulary.characters), width),
            lstm=nn.LSTM(width, hidden // 2, batch_first=True, bidirectional=True),
            dropout=nn.Identity(),
            projection=nn.Identity() if hidden == features else nn.Linear(hidden, features),
            n_out=features,
        ),
        embed_dropout=lambda *items: items,
        encoder=NamedParts(f_cells=cells(), b_cells=cells(), dropout=0.0),
        encoder_dropout=nn.Identity(),
        arc_mlp_d=projection(sizes.arc_mlp),
        arc_mlp_h=projection(sizes.arc_mlp),
        rel_mlp_d=projection(sizes.relation_mlp),
        rel_mlp_h=projection(sizes.relation_mlp),
        arc_attn=bilinear_forms(1, sizes.arc_mlp + 1, sizes.arc_mlp),
        rel_attn=bilinear_forms(len(vocabulary.relations), relation_width, relation_width),
    )


@dataclass(frozen=True)
class TokenBatch:
    """Index tensors of B sentences, padded at the end, on one device."""

    words: Tensor
    """``[B, T]`` int64; rows of the word embedding."""
    spellings: Tensor
    """``[B, T]`` int64; position of each word in ``distinct_words``; 0 at the root."""
    lengths: Tensor
    """``[B]`` int64; tokens + 1."""
    distinct_words: list[str]
    """Surface forms, each once."""

    @property
    def token_mask(self) -> Tensor:
        """Returns bool ``[B, T]``: true for real tokens, false for the root and padding."""
        positions = torch.arange(self.words.shape[1], device=self.words.device)
        return (positions > 0) & (positions < self.lengths[:, None])


def token_batch(
    sentences: Sequence[Sequence[str]],
    vocabulary: DependencyVocabulary,
    *,
    device: torch.device | None = None,
) -> TokenBatch:
    """Returns the index tensors of some sentences; the vocabulary stays as it is.

    Args:
        sentences: at least one; no token is empty.
    """
    lengths = np.array([len(tokens) + 1 for tokens in sentences])
    words = np.full((len(sentences), int(lengths.max())), vocabulary.word_pad_id)
    spellings = np.zeros_like(words)
    numbers = {ROOT_WORD: 0}
    word_ids = [vocabulary.word_id(ROOT_WORD)]
    for row, tokens in enumerate(sentences):
        for token in tokens:
            if token not in numbers:
                numbers[token] = len(word_ids)
                word_ids.append(vocabulary.word_id(token))
        here = [0, *(numbers[token] for token in tokens)]
        spellings[row, : len(here)] = here
        words[row, : len(here)] = [word_ids[number] for number in here]
    arrays = (words, spellings, lengths)
    words_BT, spellings_BT, lengths_B = (torch.from_numpy(a).to(device) for a in arrays)
    return TokenBatch(words_BT, spellings_BT, lengths_B, list(numbers))
