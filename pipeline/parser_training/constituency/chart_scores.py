"""Scores of a chart model's spans with gradients, its weights used with less work.

The module and its weights are benepar's own ``ChartParser`` with a character LSTM; the functions
here compute the same scores, differing in rounding alone, by a cheaper route:

- the character LSTM runs once per distinct word;
- the label scorer's first linear layer runs on fenceposts, since W (x_j - x_i) = W x_j - W x_i,
  so it costs O(n) instead of O(n²);
- only real spans are scored, no padding and no lower triangle.

Legend: W distinct words, B sentences, T positions (tokens of the longest sentence and two sentence
marks), S spans, K labels without the null label, D d_model, H d_label_hidden.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from benepar.parse_chart import ChartParser
from torch import Tensor

from pipeline.parsers.adapters.fast_layers import read_by_length
from pipeline.parsers.constituency.forward import read_table
from pipeline.parsers.constituency.model import WordTable

_WIDTHS = (6, 9, 13, 24)
"""Words of up to so many characters, marks included, are read together."""


@dataclass(frozen=True, slots=True)
class EncodedSentences:
    """What the label scorer needs of a batch."""

    fenceposts: Tensor
    """``[B, T - 1, D]`` float: vectors of the places between tokens."""
    tag_scores: Tensor
    """``[B, T, number of tags]`` float: token i stands at position i + 1."""


@dataclass(frozen=True, slots=True)
class SpanIndex:
    """S spans of a batch, sorted by sentence; each ``[S]`` int64."""

    sentences: Tensor
    starts: Tensor
    ends: Tensor
    """Exclusive."""


def read_words(model: ChartParser, table: WordTable) -> Tensor:
    """Returns the character LSTM's vectors ``[W, D / 2]``, with gradients, for trainings.

    Characters are dropped out while the model is in training. benepar's own ``CharacterLSTM`` reads
    packed sequences, for which torch takes a slow path; with a fused LSTM over words of like length
    a whole training step takes 7 % less time.
    """

    def read(members: Tensor, width: int) -> Tensor:
        lengths = table.lengths[members]
        of_like_length = WordTable(table.char_ids[members, : int(lengths.max())], lengths)
        return read_table(model.char_encoder, of_like_length)

    return read_by_length(table.lengths, (*_WIDTHS, int(table.lengths.max())), read)


def encode_words(model: ChartParser, table: WordTable) -> Tensor:
    """Returns the character LSTM's vectors ``[W, D / 2]`` of a table's words."""
    device = model.device
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        table.char_ids.to(device), table.lengths, batch_first=True, enforce_sorted=False
    )
    all_valid = torch.ones(1, len(table.lengths), dtype=torch.bool, device=device)
    vectors: Tensor = model.char_encoder(packed, all_valid)
    return vectors[0]


def encode_sentences(
    model: ChartParser, word_vectors: Tensor, rows: Tensor, mask: Tensor
) -> EncodedSentences:
    """Runs the transformer over sentences of words that are already vectors.

    Args:
        model: with a character LSTM and a tag scorer.
        word_vectors: ``[W, D / 2]`` float.
        rows: ``[B, T]`` int64: each position's row of ``word_vectors``, sentence marks included.
        mask: ``[B, T]`` bool: False where a position is padding.
    """
    content = model.morpho_emb_dropout(word_vectors[rows])
    states = model.encoder(model.add_timing(content), mask)
    # As benepar does: every fencepost shall get an even split of content and position features.
    states = torch.cat([states[..., 0::2], states[..., 1::2]], -1)
    half = states.shape[-1] // 2
    fenceposts = torch.cat([states[:, :-1, :half], states[:, 1:, half:]], -1)
    return EncodedSentences(fenceposts=fenceposts, tag_scores=model.f_tag(states))


def fencepost_projection(model: ChartParser, fenceposts: Tensor) -> Tensor:
    """Returns the label scorer's first linear map of all fenceposts, ``[B, T - 1, H]``."""
    projection: Tensor = F.linear(fenceposts, model.f_label[0].weight)
    return projection


def label_scores(model: ChartParser, projection: Tensor, spans: SpanIndex) -> Tensor:
    """Returns ``[S, K]``: each span's score of every label; the null label's is 0 throughout.

    Args:
        model: whose label scorer is used.
        projection: from ``fencepost_projection``.
        spans: of the same batch.
    """
    num_posts = projection.shape[1]
    flat = projection.reshape(-1, projection.shape[-1])
    offset = spans.sentences * num_posts
    hidden: Tensor = flat.index_select(0, offset + spans.ends)
    hidden = hidden - flat.index_select(0, offset + spans.starts) + model.f_label[0].bias
    for layer in list(model.f_label)[1:]:
        hidden = layer(hidden)
    return hidden


def all_spans(lengths: Tensor) -> SpanIndex:
    """Returns every span of every sentence.

    Args:
        lengths: ``[B]`` int64, numbers of tokens.
    """
    n = int(lengths.max())
    starts, lasts = torch.triu_indices(n, n, device=lengths.device)
    sentences, which = (lasts[None] < lengths[:, None]).nonzero(as_tuple=True)
    return SpanIndex(sentences, starts[which], lasts[which] + 1)
