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
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.pipeline.parsers.dependency_model import DependencyVocabulary, Network, TokenBatch
from treeviews.pipeline.parsers.fast_layers import (
    FixedProduct,
    WordCache,
    bidirectional_layer,
    last_states,
    read_by_length,
)

if TYPE_CHECKING:
    from supar.modules import MLP, Biaffine

_WIDTHS = (5, 8, 12)
"""Words of up to so many characters are read together: most are far shorter than the longest."""

MASKED = -1e30
"""Arc score of a padding position as head."""
ARCS_AT_ONCE = {"cpu": 128, "cuda": 1 << 14}
_RELATIONS_AT_ONCE = 17
"""Relations of these arcs that are scored at a time: what is held of both fits a core's cache (0.85
MB at 97 features), which takes two thirds of the time that all 51 relations at once take."""


def encode_spellings(
    network: Network, words: Sequence[str], vocabulary: DependencyVocabulary
) -> Tensor:
    """Returns ``[Y, D]``, one row for each word, with gradients where they are enabled."""

    def read(members: Tensor, width: int) -> Tensor:
        of_like_length = [words[member] for member in members.tolist()]
        return _read(network, of_like_length, width, vocabulary)

    longest = vocabulary.max_word_characters
    lengths = torch.tensor([min(len(word), longest) or 1 for word in words])  # the root's is 1
    return read_by_length(lengths, _widths(vocabulary), read)


def spelling_cache(
    network: Network, vocabulary: DependencyVocabulary, *, capacity: int
) -> WordCache:
    """Returns an empty cache of the features of up to ``capacity`` words."""
    table = network.word_embed.weight.new_empty(capacity, network.char_embed.n_out).fill_(0)
    read = partial(_read, network, vocabulary=vocabulary)
    return WordCache(read, table=table, widths=_widths(vocabulary))


def _widths(vocabulary: DependencyVocabulary) -> list[int]:
    longest = vocabulary.max_word_characters
    return [*(width for width in _WIDTHS if width < longest), longest]


def _read(
    network: Network, words: Sequence[str], width: int, vocabulary: DependencyVocabulary
) -> Tensor:
    """Returns the features of words, which are padded at the end to characters ``[Y, C]``."""
    spelled = [vocabulary.character_ids(word) for word in words]
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
    score = _arc_scorer(network.rel_attn)
    at_once = ARCS_AT_ONCE.get(heads.device.type, max(ARCS_AT_ONCE.values()))
    heads = F.pad(heads, (0, 1), value=1.0)  # the bias' constant 1
    parts = zip(dependents.split(at_once), heads.split(at_once), strict=True)
    return torch.cat([score(some, heads_of_some) for some, heads_of_some in parts]).float()


def _arc_scorer(biaffine: Biaffine | FixedRelations) -> Callable[[Tensor, Tensor], Tensor]:
    """Returns a function from dependents ``[M, D]`` and heads ``[M, D + 1]`` to ``[M, R]``."""
    if isinstance(biaffine, FixedRelations):
        return biaffine
    num_relations, width, _ = biaffine.weight.shape
    weight = biaffine.weight.permute(1, 0, 2).reshape(width, -1)

    def score(dependents_MD: Tensor, heads_MD: Tensor) -> Tensor:
        projected = (F.pad(dependents_MD, (0, 1), value=1.0) @ weight).view(
            -1, num_relations, width
        )
        return torch.bmm(projected, heads_MD[..., None]).squeeze(-1)

    return score


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
    fixed = with_encoder_in(network, dtype)
    for name in ("arc_mlp_d", "arc_mlp_h", "rel_mlp_d", "rel_mlp_h"):
        setattr(fixed, name, _FixedMlp(getattr(network, name)))
    fixed.arc_attn = _FixedBiaffine(network.arc_attn)
    fixed.rel_attn = FixedRelations(network.rel_attn)
    return fixed


def with_encoder_in(network: Network, dtype: torch.dtype) -> Network:
    """Returns a network that shares all but its encoder, whose products are of another type.

    Args:
        network: not changed.
        dtype: the encoder is shared, too, where its weights are of this type.
    """
    other = copy.copy(network)
    other._modules = dict(network._modules)
    if dtype != next(network.encoder.parameters()).dtype:
        other.encoder = copy.deepcopy(network.encoder).to(dtype)
    return other


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
    """Scores the relations of arcs, some relations at a time; both sides have a bias."""

    def __init__(self, biaffine: Biaffine) -> None:
        """Takes the weight over as it is now."""
        super().__init__()
        weight = biaffine.weight.detach()
        at_once = _RELATIONS_AT_ONCE if weight.device.type == "cpu" else len(weight)
        self._products = [_relations_side(some) for some in weight.split(at_once)]

    def forward(self, dependents_MD: Tensor, heads_MD: Tensor) -> Tensor:
        """Returns ``[M, R]``; the heads have a constant 1 behind their features."""
        width = heads_MD.shape[-1]
        scores = []
        for product in self._products:
            forms_MRD = product(dependents_MD).view(len(heads_MD), -1, width)
            scores.append(forms_MRD.mul_(heads_MD[:, None]).sum(-1))
        return torch.cat(scores, -1)


def _relations_side(weight_RDD: Tensor) -> FixedProduct:
    """Returns the product that makes of dependents the relations' linear forms in heads."""
    weight = weight_RDD.permute(1, 0, 2).flatten(1)
    return FixedProduct(weight[:-1], weight[-1], block_rows=ARCS_AT_ONCE["cpu"])
