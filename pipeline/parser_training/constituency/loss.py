"""The margin loss of chart parsing, exact, with a gradient through O(n) spans instead of O(n²).

For a sentence with gold tree g the loss is max(0, max_t [s(t) + Δ(t, g)] - s(g)), where Δ counts
the spans of t whose label differs from the gold chart's (Stern et al. 2017, section 3.2). Only the
spans of the two trees carry a gradient, so all spans are scored without one to find t, and the
spans of both trees are scored again with one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from benepar.parse_chart import ChartParser
from torch import Tensor

from pipeline.parser_training.constituency.chart_scores import (
    SpanIndex,
    all_spans,
    encode_sentences,
    fencepost_projection,
    label_scores,
    read_words,
)
from pipeline.parser_training.constituency.examples import IGNORED_TAG, ChartBatch
from pipeline.parsers.constituency.decoding import best_spans


@dataclass(frozen=True, slots=True)
class ChartLosses:
    """Both training losses of a batch, means over its tokens."""

    brackets: Tensor
    tags: Tensor


def chart_losses(model: ChartParser, batch: ChartBatch) -> ChartLosses:
    """Returns the margin loss of the trees and the cross entropy of the tags."""
    vectors = read_words(model, batch.words)
    encoded = encode_sentences(model, vectors, batch.rows, batch.mask)
    violations = margin_loss(
        model, encoded.fenceposts, batch.lengths, batch.gold, batch.gold_labels
    )
    tag_scores = encoded.tag_scores.float().flatten(0, 1)
    return ChartLosses(
        brackets=violations.sum() / batch.lengths.sum(),
        tags=F.cross_entropy(tag_scores, batch.tags.flatten(), ignore_index=IGNORED_TAG),
    )


def margin_loss(
    model: ChartParser, fenceposts: Tensor, lengths: Tensor, gold: SpanIndex, gold_labels: Tensor
) -> Tensor:
    """Returns the margin losses of a batch, ``[B]`` float.

    Args:
        model: whose label scorer is trained.
        fenceposts: ``[B, T - 1, D]`` float, from ``encode_sentences``.
        lengths: ``[B]`` int64, numbers of tokens.
        gold: the S spans of the gold trees.
        gold_labels: ``[S]`` int64, their labels' ids, at least 1.
    """
    projection = fencepost_projection(model, fenceposts)
    with torch.no_grad():
        worst, worst_labels, differs = _worst_trees(
            model, projection.detach(), lengths, gold, gold_labels
        )
    violation = torch.zeros(len(lengths)).index_add(0, worst.sentences, differs.float())
    for spans, labels, sign in ((worst, worst_labels, 1.0), (gold, gold_labels, -1.0)):
        real = labels > 0  # the null label scores 0 everywhere
        kept = SpanIndex(spans.sentences[real], spans.starts[real], spans.ends[real])
        scores = label_scores(model, projection, kept)
        chosen = scores.gather(1, labels[real][:, None] - 1)[:, 0].float()
        violation = violation.index_add(0, kept.sentences, chosen * sign)
    return violation.relu()


def _worst_trees(
    model: ChartParser, projection: Tensor, lengths: Tensor, gold: SpanIndex, gold_labels: Tensor
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
