"""One forward pass over supar's biaffine dependency model, shared by training and parsing.

Dozat & Manning 2017, "Deep biaffine attention for neural dependency parsing", sections 2.1-2.3;
words are spelled as by Lample et al. 2016, "Neural architectures for named entity recognition",
section 4.1. The modules and weights are supar's, the traversal is ours: every LSTM direction is one
fused call, spelling is read once for each distinct word, and relations are scored on the chosen arc
only, not on all T x T. For prediction, weights are laid out once for the fastest products
(`for_prediction`).
Legend: B sentences, T positions (the artificial root + tokens), Y distinct words, C characters,
D features, M arcs to be labelled, R relations.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pipeline.parsers.adapters.fast_layers import (
    FixedProduct,
    WordCache,
    bidirectional_layer,
    last_states,
    read_by_length,
)
from pipeline.parsers.dependency.model import Network
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary, TokenBatch

if TYPE_CHECKING:
    from supar.modules import MLP, Biaffine

_WIDTHS = (5, 8, 12)
"""Words of up to so many characters are read together: most are far shorter than the longest."""

MASKED = -1e30
"""Arc score of a padding position as head."""
ARCS_AT_ONCE = {"cpu": 128, "cuda": 1 << 14}
"""Arcs whose R x D products are held at a time: in a core's cache they take a third of the time."""


def encode_spellings(
    network: Network, words: Sequence[str], vocabulary: DependencyVocabulary
) -> Tensor:
    """Returns ``[Y, D]``, one row for each word, with gradients where they are enabled."""
    spelled = [vocabulary.character_ids(word) for word in words]

    def read(members: Tensor, width: int) -> Tensor:
        of_like_length = [spelled[member] for member in members.tolist()]
        return _read(network, of_like_length, width, vocabulary)

    lengths = torch.tensor([len(ids) for ids in spelled])
    return read_by_length(lengths, _widths(vocabulary), read)


def spelling_cache(
    network: Network, vocabulary: DependencyVocabulary, *, capacity: int
) -> WordCache:
    """Returns an empty cache of the features of up to ``capacity`` words."""
    table = network.word_embed.weight.new_empty(capacity, network.char_embed.n_out).fill_(0)

    def read(words: list[str], width: int) -> Tensor:
        spelled = [vocabulary.character_ids(word) for word in words]
        return _read(network, spelled, width, vocabulary)

    return WordCache(read, table=table, widths=_widths(vocabulary))


def _widths(vocabulary: DependencyVocabulary) -> list[int]:
    longest = vocabulary.max_word_characters
    return [*(width for width in _WIDTHS if width < longest), longest]


def _read(
    network: Network,
    spelled: Sequence[Sequence[int]],
    width: int,
    vocabulary: DependencyVocabulary,
) -> Tensor:
    """Returns the features of words, which are padded at the end to characters ``[Y, C]``."""
    characters_YC = np.full((len(spelled), width), vocabulary.character_pad_id)
    for row, ids in enumerate(spelled):
        characters_YC[row, : len(ids)] = ids
    lengths_Y = torch.tensor([len(ids) for ids in spelled])
    encoder, device = network.char_embed, network.word_embed.weight.device
    embedded = encoder.embed(torch.from_numpy(characters_YC).to(device).T)
    last = last_states(encoder.lstm, embedded, lengths_Y.to(device))
    features: Tensor = encoder.projection(encoder.dropout(last))
    return features


def encode(
    network: Network,
    batch: TokenBatch,
    spellings_YD: Tensor,
    *,
    recurrent_weight_dropout: float = 0.0,
) -> Tensor:
    """Returns contextual states ``[B, T, D]``; positions beyond a length hold no meaning.

    Args:
        spellings_YD: features of ``batch.distinct_words``.
        recurrent_weight_dropout: probability, applied only while the network is in training mode.
    """
    words, spellings = network.embed_dropout(
        network.word_embed(batch.words), F.embedding(batch.spellings, spellings_YD)
    )
    encoder, training = network.encoder, network.training
    # Time first: what a fused LSTM wants.
    states = torch.cat((words, spellings), -1).transpose(0, 1).to(encoder.f_cells[0].bias_ih.dtype)
    for forward, backward in zip(encoder.f_cells, encoder.b_cells, strict=True):
        if training:
            # One mask for all positions of a sentence (Gal & Ghahramani 2016, section 4).
            states = states * F.dropout(torch.ones_like(states[:1]), encoder.dropout)
        weights = [
            _cell_weights(cell, recurrent_weight_dropout if training else 0.0)
            for cell in (forward, backward)
        ]
        states = bidirectional_layer(states, batch.lengths, *weights)
    contextual: Tensor = network.encoder_dropout(states.transpose(0, 1).to(words.dtype))
    return contextual


def arc_scores(network: Network, states_BTD: Tensor, lengths_B: Tensor) -> Tensor:
    """Returns the score of every ``[sentence, dependent, head]`` as float32 ``[B, T, T]``."""
    scores: Tensor = network.arc_attn(
        network.arc_mlp_d(states_BTD), network.arc_mlp_h(states_BTD)
    ).float()
    beyond = torch.arange(scores.shape[-1], device=scores.device) >= lengths_B[:, None]
    return scores.masked_fill(beyond[:, None], MASKED)


def relation_scores(
    network: Network, states_BTD: Tensor, heads_BT: Tensor, chosen_BT: Tensor
) -> Tensor:
    """Returns float32 ``[M, R]``: the relations of the chosen dependents to their given heads.

    Args:
        heads_BT: int64 head of every position.
        chosen_BT: bool; the M positions to score, row by row.
    """
    dependents = network.rel_mlp_d(states_BTD)
    heads = network.rel_mlp_h(states_BTD)
    heads = heads.gather(1, heads_BT[..., None].expand(-1, -1, heads.shape[-1]))
    dependents, heads = dependents[chosen_BT], heads[chosen_BT]
    project = _dependents_side(network.rel_attn)
    at_once = ARCS_AT_ONCE.get(heads.device.type, max(ARCS_AT_ONCE.values()))
    scores = [
        torch.bmm(project(some), heads_of_some[..., None]).squeeze(-1)
        for some, heads_of_some in zip(
            dependents.split(at_once),
            F.pad(heads, (0, 1), value=1.0).split(at_once),  # the bias' constant 1
            strict=True,
        )
    ]
    return torch.cat(scores).float()


def _dependents_side(biaffine: Biaffine | FixedRelations) -> Callable[[Tensor], Tensor]:
    """Returns a function from ``[M, D]`` to the relations' bilinear forms in heads, one an arc.

    They are ``[M, R, D + 1]``, the last for the heads' bias.
    """
    if isinstance(biaffine, FixedRelations):
        return biaffine
    num_relations, width, _ = biaffine.weight.shape
    weight = biaffine.weight.permute(1, 0, 2).reshape(width, -1)
    return lambda dependents_MD: (F.pad(dependents_MD, (0, 1), value=1.0) @ weight).view(
        -1, num_relations, width
    )


def _cell_weights(cell: nn.LSTMCell, recurrent_weight_dropout: float) -> list[Tensor]:
    recurrent = cell.weight_hh
    if recurrent_weight_dropout:
        recurrent = F.dropout(recurrent, recurrent_weight_dropout)
    return [cell.weight_ih, recurrent, cell.bias_ih, cell.bias_hh]


def for_prediction(network: Network, dtype: torch.dtype) -> Network:
    """Returns a network for prediction alone, which shares all but its scorers and its encoder.

    Args:
        network: not changed.
        dtype: of the encoder's products; its weights are shared where they are of this type.
    """
    fixed = copy.copy(network)
    fixed._modules = dict(network._modules)
    if dtype != next(network.encoder.parameters()).dtype:
        fixed.encoder = copy.deepcopy(network.encoder).to(dtype)
    for name in ("arc_mlp_d", "arc_mlp_h", "rel_mlp_d", "rel_mlp_h"):
        setattr(fixed, name, _FixedMlp(getattr(network, name)))
    fixed.arc_attn = _FixedBiaffine(network.arc_attn)
    fixed.rel_attn = FixedRelations(network.rel_attn)
    return fixed


class _FixedMlp(nn.Module):
    def __init__(self, mlp: MLP) -> None:
        super().__init__()
        self._product = FixedProduct(mlp.linear.weight.T, mlp.linear.bias)
        self._activation = mlp.activation

    def forward(self, states_BTD: Tensor) -> Tensor:
        products = self._product(states_BTD.flatten(0, 1))
        activated: Tensor = self._activation(products.unflatten(0, states_BTD.shape[:2]))
        return activated


class _FixedBiaffine(nn.Module):
    """Scores every arc; the bias of the dependents' side only, as supar's arcs have it."""

    def __init__(self, biaffine: Biaffine) -> None:
        super().__init__()
        (weight,) = biaffine.weight.detach()
        self._product = FixedProduct(weight[:-1], weight[-1])

    def forward(self, dependents_BTD: Tensor, heads_BTD: Tensor) -> Tensor:
        projected = self._product(dependents_BTD.flatten(0, 1))
        return torch.bmm(projected.view_as(heads_BTD), heads_BTD.mT)


class FixedRelations(nn.Module):
    """The relations' side of the dependents; both sides have a bias."""

    def __init__(self, biaffine: Biaffine) -> None:
        """Takes the weight over as it is now."""
        super().__init__()
        self._num_relations, width, self._width = biaffine.weight.shape
        weight = biaffine.weight.detach().permute(1, 0, 2).reshape(width, -1)
        self._product = FixedProduct(weight[:-1], weight[-1], block_rows=ARCS_AT_ONCE["cpu"])

    def forward(self, dependents_MD: Tensor) -> Tensor:
        """Returns ``[M, R, D + 1]``, whose products with heads and their 1 are the scores."""
        projected: Tensor = self._product(dependents_MD)
        return projected.view(-1, self._num_relations, self._width)
