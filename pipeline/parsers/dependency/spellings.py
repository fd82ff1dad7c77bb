"""Features that a word's spelling gives, read once for each distinct word.

Lample et al. 2016, "Neural architectures for named entity recognition", section 4.1.
Legend: Y distinct words, C characters, D features.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pipeline.parsers.adapters.fused_lstm import last_states, read_by_length
from pipeline.parsers.adapters.word_cache import WordCache
from pipeline.parsers.dependency.network import BiaffineNetwork
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary

_WIDTHS = (5, 8, 12)
"""Words of up to so many characters are read together: most are far shorter than the longest."""


def encode_spellings(
    network: BiaffineNetwork, words: Sequence[str], vocabulary: DependencyVocabulary
) -> Tensor:
    """Returns ``[Y, D]``, one row for each word, with gradients where they are enabled."""
    spelled = [vocabulary.character_ids(word) for word in words]

    def read(members: Tensor, width: int) -> Tensor:
        of_like_length = [spelled[member] for member in members.tolist()]
        return _read(network, *_characters(of_like_length, width, vocabulary))

    lengths = torch.tensor([len(ids) for ids in spelled])
    return read_by_length(lengths, _widths(vocabulary), read)


def spelling_cache(
    network: BiaffineNetwork, vocabulary: DependencyVocabulary, *, capacity: int
) -> WordCache:
    """Returns an empty cache of the features of up to ``capacity`` words."""
    parameter = network.word_embed.weight
    table = parameter.new_empty(capacity, network.char_embed.n_out).fill_(0)

    def read(words: list[str], width: int) -> Tensor:
        spelled = [vocabulary.character_ids(word) for word in words]
        return _read(network, *_characters(spelled, width, vocabulary))

    return WordCache(read, table=table, widths=_widths(vocabulary))


def _widths(vocabulary: DependencyVocabulary) -> list[int]:
    longest = vocabulary.max_word_characters
    return [*(width for width in _WIDTHS if width < longest), longest]


def _characters(
    spelled: Sequence[Sequence[int]], width: int, vocabulary: DependencyVocabulary
) -> tuple[Tensor, Tensor]:
    """Returns characters ``[Y, C]``, padded at the end, and the words' lengths ``[Y]``."""
    characters = np.full((len(spelled), width), vocabulary.character_pad_id)
    for row, ids in enumerate(spelled):
        characters[row, : len(ids)] = ids
    return torch.from_numpy(characters), torch.tensor([len(ids) for ids in spelled])


def _read(network: BiaffineNetwork, characters_YC: Tensor, lengths_Y: Tensor) -> Tensor:
    encoder, device = network.char_embed, network.word_embed.weight.device
    last = last_states(
        encoder.lstm, encoder.embed(characters_YC.to(device).T), lengths_Y.to(device)
    )
    features: Tensor = encoder.projection(encoder.dropout(last))
    return features
