"""Scores of a chart model's spans with gradients, its weights used with less work, and the losses.

The module and its weights are benepar's own ``ChartParser`` with a character LSTM; the functions
here compute the same scores, differing in rounding alone, by a cheaper route:

- the character LSTM runs once per distinct word;
- the label scorer's first linear layer runs on fenceposts, since W (x_j - x_i) = W x_j - W x_i,
  so it costs O(n) instead of O(n²);
- only real spans are scored, no padding and no lower triangle.

The margin loss is exact, with a gradient through O(n) spans instead of O(n²). For a sentence with
gold tree g it is max(0, max_t [s(t) + Δ(t, g)] - s(g)), where Δ counts the spans of t whose label
differs from the gold chart's (Stern et al. 2017, section 3.2). Only the spans of the two trees
carry a gradient, so all spans are scored without one to find t, and the spans of both trees are
scored again with one.

Legend: W distinct words, B sentences, T positions (tokens of the longest sentence and two sentence
marks), S spans, K labels without the null label, D d_model, H d_label_hidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from treeviews.pipeline.parsers.chart_adapter import read_table
from treeviews.pipeline.parsers.chart_decoding import best_spans
from treeviews.pipeline.parsers.chart_model import (
    START_ROW,
    STOP_ROW,
    ChartNetwork,
    WordTable,
    word_table,
)
from treeviews.pipeline.parsers.fast_layers import read_by_length

IGNORED_TAG = -100
"""What cross entropy leaves out: sentence marks and padding."""

_WIDTHS = (6, 9, 13, 24)
"""Words of up to so many characters, marks included, are read together."""


class SpanIndex(NamedTuple):
    """S spans of a batch, sorted by sentence; each ``[S]`` int64."""

    sentences: Tensor
    starts: Tensor
    ends: Tensor
    """Exclusive."""


class ChartInput(NamedTuple):
    """B sentences as a chart model reads them; T positions with the sentence marks."""

    words: WordTable
    """Their distinct words."""
    rows: Tensor
    """``[B, T]`` int64: each position's row in ``words``."""
    mask: Tensor
    """``[B, T]`` bool: False where a position is padding."""
    lengths: Tensor
    """``[B]`` int64, numbers of tokens."""


class ChartBatch(NamedTuple):
    """B sentences of like length with their trees, of S spans."""

    input: ChartInput
    gold: SpanIndex
    gold_labels: Tensor
    """``[S]`` int64, at least 1."""
    tags: Tensor
    """``[B, T]`` int64, ``IGNORED_TAG`` where there is none."""


def chart_input(sentences: Sequence[Sequence[str]], char_vocab: Mapping[str, int]) -> ChartInput:
    """Returns sentences as a model with these characters reads them."""
    words = sorted({token for sentence in sentences for token in sentence})
    row_of = {word: row for row, word in enumerate(words, start=2)}
    marked = [(START_ROW, *map(row_of.__getitem__, tokens), STOP_ROW) for tokens in sentences]
    lengths = torch.tensor([len(tokens) for tokens in sentences])
    mask = torch.arange(int(lengths.max()) + 2) < lengths[:, None] + 2
    rows = torch.zeros(mask.shape, dtype=torch.int64)
    rows[mask] = torch.tensor([row for sentence in marked for row in sentence])
    return ChartInput(word_table(words, char_vocab), rows, mask, lengths)


def read_words(model: ChartNetwork, table: WordTable) -> Tensor:
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


def encode_sentences(model: ChartNetwork, batch: ChartInput) -> tuple[Tensor, Tensor]:
    """Returns what a model with a character LSTM and a tag scorer makes of sentences.

    The vectors of the places between tokens, ``[B, T - 1, D]``, and the scores of tags,
    ``[B, T, number of tags]``; token i stands at position i + 1.
    """
    content = model.morpho_emb_dropout(read_words(model, batch.words)[batch.rows])
    states = model.encoder(model.add_timing(content), batch.mask)
    # As benepar does: every fencepost shall get an even split of content and position features.
    states = torch.cat([states[..., 0::2], states[..., 1::2]], -1)
    half = states.shape[-1] // 2
    fenceposts = torch.cat([states[:, :-1, :half], states[:, 1:, half:]], -1)
    return fenceposts, model.f_tag(states)


def label_scores(model: ChartNetwork, projection: Tensor, spans: SpanIndex) -> Tensor:
    """Returns ``[S, K]``: each span's score of every label; the null label's is 0 throughout.

    Args:
        model: whose label scorer is used.
        projection: the label scorer's first linear map of all fenceposts, ``[B, T - 1, H]``.
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


def chart_losses(model: ChartNetwork, batch: ChartBatch) -> tuple[Tensor, Tensor]:
    """Returns the margin loss of the trees and the cross entropy of the tags, means over tokens."""
    fenceposts, tag_scores = encode_sentences(model, batch.input)
    lengths = batch.input.lengths
    violations = margin_loss(model, fenceposts, lengths, batch.gold, batch.gold_labels)
    tag_scores = tag_scores.float().flatten(0, 1)
    tag_loss = F.cross_entropy(tag_scores, batch.tags.flatten(), ignore_index=IGNORED_TAG)
    return violations.sum() / lengths.sum(), tag_loss


def margin_loss(
    model: ChartNetwork, fenceposts: Tensor, lengths: Tensor, gold: SpanIndex, gold_labels: Tensor
) -> Tensor:
    """Returns the margin losses of a batch, ``[B]`` float.

    Args:
        model: whose label scorer is trained.
        fenceposts: ``[B, T - 1, D]`` float, from ``encode_sentences``.
        lengths: ``[B]`` int64, numbers of tokens.
        gold: the S spans of the gold trees.
        gold_labels: ``[S]`` int64, their labels' ids, at least 1.
    """
    projection = F.linear(fenceposts, model.f_label[0].weight)
    with torch.no_grad():
        worst, worst_labels, differs = _worst_trees(
            model, projection.detach(), lengths, gold, gold_labels
        )
    violation = torch.zeros(len(lengths)).index_add(0, worst.sentences, differs.float())
    for spans, labels, sign in ((worst, worst_labels, 1.0), (gold, gold_labels, -1.0)):
        real = labels > 0  # the null label scores 0 everywhere
        kept = SpanIndex(*(part[real] for part in spans))
        scores = label_scores(model, projection, kept)
        chosen = scores.gather(1, labels[real][:, None] - 1)[:, 0].float()
        violation = violation.index_add(0, kept.sentences, chosen * sign)
    return violation.relu()


def _worst_trees(
    model: ChartNetwork, projection: Tensor, lengths: Tensor, gold: SpanIndex, gold_labels: Tensor
) -> tuple[SpanIndex, Tensor, Tensor]:
    """Returns the trees of the highest s(t) + Δ(t, g): spans, labels and where labels differ."""
    n = int(lengths.max())
    chart = torch.zeros(len(lengths), n, n, dtype=torch.int64)
    chart[gold.sentences, gold.starts, gold.ends - 1] = gold_labels
    spans = all_spans(lengths)
    cells = (spans.sentences, spans.starts, spans.ends - 1)
    gold_at = chart[cells]
    scores = label_scores(model, projection, spans).float() + 1.0
    constituents = gold_at.nonzero()[:, 0]
    scores[constituents, gold_at[constituents] - 1] -= 1.0
    best, labels = scores.max(1)
    labels += 1
    null_score = (gold_at > 0).to(best.dtype)
    is_whole = (spans.starts == 0) & (spans.ends == lengths[spans.sentences])
    null = (null_score >= best) & ~is_whole
    best, labels = torch.where(null, null_score, best), labels.masked_fill(null, 0)
    best_chart = np.zeros(chart.shape, np.float32)
    best_chart[tuple(cell.numpy() for cell in cells)] = best.numpy()
    chosen = SpanIndex(*torch.from_numpy(best_spans(best_chart, lengths.tolist())))
    label_chart = torch.zeros_like(chart)
    label_chart[cells] = labels
    chosen_cells = (chosen.sentences, chosen.starts, chosen.ends - 1)
    chosen_labels = label_chart[chosen_cells]
    return chosen, chosen_labels, chosen_labels != chart[chosen_cells]
