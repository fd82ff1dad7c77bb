"""One forward pass over supar's biaffine dependency model, shared by training and parsing.

Dozat & Manning 2017, "Deep biaffine attention for neural dependency parsing", sections 2.1-2.3.
The modules and weights are supar's, the traversal is ours: every LSTM direction is one fused call,
and relations are scored on the chosen arc only, not on all T x T.
Legend: B sentences, T positions (the artificial root + tokens), Y distinct words, D features,
M arcs to be labelled, R relations.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from supar.modules import Biaffine
from torch import Tensor, nn

from pipeline.parsers.adapters.fused_lstm import bidirectional_layer
from pipeline.parsers.dependency.fixed_scorers import ARCS_AT_ONCE, FixedRelations
from pipeline.parsers.dependency.network import BiaffineNetwork
from pipeline.parsers.dependency.token_batch import TokenBatch

MASKED = -1e30
"""Arc score of a padding position as head."""


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
