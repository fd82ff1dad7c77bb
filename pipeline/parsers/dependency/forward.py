"""One forward pass over supar's biaffine dependency model, shared by training and parsing.

Dozat & Manning 2017, "Deep biaffine attention for neural dependency parsing", sections 2.1-2.3.
The modules and weights are supar's, the traversal is ours: every LSTM direction is one fused call,
and relations are scored on the chosen arc only, not on all T x T.
Legend: B sentences, T positions (the artificial root + tokens), Y distinct words, D features,
M arcs to be labelled, R relations.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pipeline.parsers.dependency.network import BiaffineNetwork
from pipeline.parsers.dependency.token_batch import TokenBatch
from pipeline.parsers.fused_lstm import bidirectional_layer

MASKED = -1e30
"""Arc score of a padding position as head."""

_CACHED_ARCS = 128
"""Arcs whose R x D products are held at a time: in a core's cache they take a third of the time."""


def encode(
    network: BiaffineNetwork,
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


def arc_scores(network: BiaffineNetwork, states_BTD: Tensor, lengths_B: Tensor) -> Tensor:
    """Returns the score of every ``[sentence, dependent, head]`` as float32 ``[B, T, T]``."""
    scores: Tensor = network.arc_attn(
        network.arc_mlp_d(states_BTD), network.arc_mlp_h(states_BTD)
    ).float()
    beyond = torch.arange(scores.shape[-1], device=scores.device) >= lengths_B[:, None]
    return scores.masked_fill(beyond[:, None], MASKED)


def relation_scores(
    network: BiaffineNetwork, states_BTD: Tensor, heads_BT: Tensor, chosen_BT: Tensor
) -> Tensor:
    """Returns float32 ``[M, R]``: the relations of the chosen dependents to their given heads.

    Args:
        heads_BT: int64 head of every position.
        chosen_BT: bool; the M positions to score, row by row.
    """
    dependents = network.rel_mlp_d(states_BTD)
    heads = network.rel_mlp_h(states_BTD)
    heads = heads.gather(1, heads_BT[..., None].expand(-1, -1, heads.shape[-1]))
    return _bilinear(dependents[chosen_BT], heads[chosen_BT], network.rel_attn.weight).float()


def _bilinear(dependents_MD: Tensor, heads_MD: Tensor, weight_RDD: Tensor) -> Tensor:
    """Returns ``[M, R]``: the bilinear form of each relation, a few arcs at a time."""
    num_relations, width, _ = weight_RDD.shape
    weight = weight_RDD.permute(1, 0, 2).reshape(width, -1)
    scores = []
    for dependents, heads in zip(
        F.pad(dependents_MD, (0, 1), value=1.0).split(_CACHED_ARCS),  # the biases' constant 1
        F.pad(heads_MD, (0, 1), value=1.0).split(_CACHED_ARCS),
        strict=True,
    ):
        projected = (dependents @ weight).view(-1, num_relations, width)
        scores.append(torch.bmm(projected, heads[..., None]).squeeze(-1))
    return torch.cat(scores)


def _cell_weights(cell: nn.LSTMCell, recurrent_weight_dropout: float) -> list[Tensor]:
    recurrent = cell.weight_hh
    if recurrent_weight_dropout:
        recurrent = F.dropout(recurrent, recurrent_weight_dropout)
    return [cell.weight_ih, recurrent, cell.bias_ih, cell.bias_hh]
