"""Features that a word's spelling gives, read once for each distinct word.

Lample et al. 2016, "Neural architectures for named entity recognition", section 4.1.
Legend: Y distinct words, C characters, D features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from pipeline.parsers.dependency.fused_lstm import bidirectional_layer
from pipeline.parsers.dependency.network import BiaffineNetwork
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary

_WIDTHS = (5, 8, 12)
"""Words of up to so many characters are read together: most are far shorter than the longest."""
_CACHE_CHUNK = 64
"""Words that the cache reads at a time, always."""


def encode_spellings(
    network: BiaffineNetwork, words: Sequence[str], vocabulary: DependencyVocabulary
) -> Tensor:
    """Returns ``[Y, D]``, one row for each word, with gradients where they are enabled."""
    parts, positions = [], []
    for members, characters, lengths in _groups(words, vocabulary):
        parts.append(_read(network, characters, lengths))
        positions.extend(members)
    order = torch.from_numpy(np.argsort(positions))
    features = torch.cat(parts)
    return features.index_select(0, order.to(features.device))


class SpellingCache:
    """Remembers the features of the words of earlier batches, up to a number of words.

    Words are always read in arrays of the same shape: a matrix product rounds its last bits by
    its shape, and a word's features must not depend on which words were read before.
    """

    def __init__(
        self, network: BiaffineNetwork, vocabulary: DependencyVocabulary, *, capacity: int
    ) -> None:
        self._network, self._vocabulary = network, vocabulary
        parameter = network.word_embed.weight
        self._table = torch.empty(
            capacity, network.char_embed.n_out, dtype=parameter.dtype, device=parameter.device
        )
        self._rows: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def features(self, words: Sequence[str]) -> Tensor:
        """Returns ``[Y, D]`` for distinct words; a full cache is emptied first.

        Raises:
            ValueError: more words than the cache has room for.
        """
        capacity = len(self._table)
        if len(words) > capacity:
            raise ValueError(f"{len(words)} distinct words in a cache of {capacity}")
        missing = [word for word in words if word not in self._rows]
        if len(self._rows) + len(missing) > capacity:
            self._rows.clear()
            missing = list(words)
        for members, characters, lengths in _groups(missing, self._vocabulary):
            for start in range(0, len(members), _CACHE_CHUNK):
                self._store(
                    [missing[position] for position in members[start : start + _CACHE_CHUNK]],
                    characters[start : start + _CACHE_CHUNK],
                    lengths[start : start + _CACHE_CHUNK],
                )
        rows = torch.tensor([self._rows[word] for word in words], device=self._table.device)
        return self._table.index_select(0, rows)

    def _store(self, words: list[str], characters_YC: Tensor, lengths_Y: Tensor) -> None:
        fill = _CACHE_CHUNK - len(words)
        full = torch.cat((characters_YC, characters_YC[:1].expand(fill, -1)))
        full_lengths = torch.cat((lengths_Y, lengths_Y[:1].expand(fill)))
        first = len(self._rows)
        features = _read(self._network, full, full_lengths)
        self._table[first : first + len(words)] = features[: len(words)]
        self._rows.update({word: first + offset for offset, word in enumerate(words)})


def _groups(
    words: Sequence[str], vocabulary: DependencyVocabulary
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Yields words of similar length: their positions, characters ``[Y, C]`` and lengths."""
    spelled = [vocabulary.character_ids(word) for word in words]
    shorter = 0
    for width in (
        *(w for w in _WIDTHS if w < vocabulary.max_word_characters),
        vocabulary.max_word_characters,
    ):
        members = [i for i, ids in enumerate(spelled) if shorter < len(ids) <= width]
        shorter = width
        if members:
            characters = np.full((len(members), width), vocabulary.character_pad_id)
            for row, position in enumerate(members):
                characters[row, : len(spelled[position])] = spelled[position]
            lengths = torch.tensor([len(spelled[position]) for position in members])
            yield members, torch.from_numpy(characters), lengths


def _read(network: BiaffineNetwork, characters_YC: Tensor, lengths_Y: Tensor) -> Tensor:
    encoder, device = network.char_embed, network.word_embed.weight.device
    lengths_Y = lengths_Y.to(device)
    lstm = encoder.lstm
    states_CYD = bidirectional_layer(
        encoder.embed(characters_YC.to(device).T),
        lengths_Y,
        (lstm.weight_ih_l0, lstm.weight_hh_l0, lstm.bias_ih_l0, lstm.bias_hh_l0),
        (
            lstm.weight_ih_l0_reverse,
            lstm.weight_hh_l0_reverse,
            lstm.bias_ih_l0_reverse,
            lstm.bias_hh_l0_reverse,
        ),
    )
    forward, backward = states_CYD.chunk(2, -1)
    words = torch.arange(len(lengths_Y), device=device)
    # Read to its last character forward, and to its first backward.
    last = torch.cat((forward[lengths_Y - 1, words], backward[0]), -1)
    features: Tensor = encoder.projection(encoder.dropout(last))
    return features
