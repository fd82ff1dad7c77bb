"""From fencepost vectors to trees, whatever encoder they come from: a chart's best binary tree.

A span's score is that of its best label, 0 for "no constituent"; the tree maximises the sum of its
spans' scores (Stern et al. 2017, section 3; Kitaev & Klein 2018, equation 1), for a whole batch at
once (CKY in numpy).

Legend: B sentences, T positions (tokens of the longest sentence and two sentence marks), D d_model,
n tokens of the longest sentence, w width of a span in tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pipeline.parsers.constituency.span_scorer import SpanScorer
from pipeline.trees.flat import TOP_LABEL
from pipeline.trees.parses import ConstituencyParse


def trees_of_fenceposts(
    scorer: SpanScorer,
    fenceposts_BTD: Sequence[Tensor],
    tags: Sequence[list[str]],
    labels: Sequence[str],
) -> list[ConstituencyParse]:
    """Returns the best tree of each sentence.

    Args:
        scorer: of the model that the fenceposts come from.
        fenceposts_BTD: the batch in one or more parts, each float ``[B, T - 1, D]``: vectors of the
            places between tokens. Parts of equal lengths spare padding.
        tags: of each sentence of all parts, one a token.
        labels: names by id, the null label's first.

    Raises:
        FloatingPointError: a score is not a number, of which any tree could be made.
    """
    lengths = [len(of_sentence) for of_sentence in tags]
    longest = max(lengths)
    scores = np.zeros((len(lengths), longest, longest), np.float32)
    best_labels = np.zeros(scores.shape, np.int32)
    first = 0
    for part in fenceposts_BTD:
        num_sentences, num_tokens = len(part), part.shape[1] - 1
        here = slice(first, first + num_sentences), slice(num_tokens), slice(num_tokens)
        chart = scorer.chart(part, torch.tensor(lengths[here[0]], device=part.device))
        scores[here], best_labels[here] = chart.scores, chart.labels
        first += num_sentences
    _check_numbers(scores, lengths)
    return labelled_trees(best_spans(scores, lengths), best_labels, tags, labels)


def _check_numbers(scores: NDArray[np.float32], lengths: Sequence[int]) -> None:
    inside = np.arange(scores.shape[1]) < np.asarray(lengths)[:, None]
    finite = np.all(np.isfinite(scores), axis=1)
    if not np.all(finite | ~inside):
        raise FloatingPointError("scores are not finite; the parser's weights may be damaged")


def labelled_trees(
    spans: NDArray[np.int64],
    best_labels: NDArray[np.integer[Any]],
    tags: Sequence[list[str]],
    labels: Sequence[str],
) -> list[ConstituencyParse]:
    """Returns the spans of binary trees that bear a label, the whole sentence always.

    Args:
        spans: see `best_spans`.
        best_labels: ``[B, n, n]`` by first and last token, 0 where there is none.
        tags: of each sentence, one a token.
        labels: names by id, the null label's first.
    """
    sentences, starts, ends = spans
    label_ids = best_labels[sentences, starts, ends - 1]
    is_first = np.diff(sentences, prepend=-1) > 0
    kept = (label_ids > 0) | is_first
    names = [labels[label] or TOP_LABEL for label in label_ids[kept].tolist()]
    flat_starts, flat_ends = spans[1:, kept].tolist()
    stops = np.cumsum(np.bincount(sentences[kept])).tolist()
    return [
        ConstituencyParse(
            starts=flat_starts[start:stop],
            ends=flat_ends[start:stop],
            labels=names[start:stop],
            tags=of_sentence,
        )
        for start, stop, of_sentence in zip([0, *stops[:-1]], stops, tags, strict=True)
    ]


def best_spans(scores: NDArray[np.float32], lengths: Sequence[int]) -> NDArray[np.int64]:
    """Returns the spans of all sentences' best binary trees: ``[3, spans]`` sentence, start, end.

    Sentence after sentence, each tree in preorder. Time grows with B n³ and memory with B n². Of
    equally good splits the leftmost is taken, so that the answer does not depend on the batch.

    Args:
        scores: ``[B, n, n]``; entry ``[b, i, j]`` is the score of tokens i to j inclusive.
            Entries below the diagonal or past a sentence's length are ignored.
        lengths: B numbers of tokens, each from 1 to n.
    """
    splits = _best_splits(scores)
    whole = np.stack([np.arange(len(lengths)), np.zeros(len(lengths), np.int64), lengths])
    levels = [whole]
    while levels[-1].size:
        sentences, starts, ends = levels[-1]
        wide = ends - starts > 1
        sentences, starts, ends = sentences[wide], starts[wide], ends[wide]
        middles = starts + splits[sentences, starts, ends - starts]
        left, right = (sentences, starts, middles), (sentences, middles, ends)
        levels.append(np.concatenate([left, right], 1))
    spans = np.concatenate(levels, 1)
    sentences, starts, ends = spans
    return spans[:, np.lexsort((-ends, starts, sentences))]


def _best_splits(scores: NDArray[np.float32]) -> NDArray[np.int16]:
    """Returns ``[B, n, n + 1]``: tokens in the left part of the best split of (start, width)."""
    num_sentences, n, _ = scores.shape
    # The best total of a span, once by its start and once by its end, so that the left parts
    # (same start) and the right parts (same end) of all splits are contiguous in memory.
    by_start = np.zeros((num_sentences, n, n + 1), np.float32)
    by_end = np.zeros((num_sentences, n + 1, n + 1), np.float32)
    splits = np.zeros((num_sentences, n, n + 1), np.int16)
    starts = np.arange(n)
    by_start[:, :, 1] = by_end[:, 1:, 1] = scores[:, starts, starts]
    for width in range(2, n + 1):
        m = n - width + 1
        totals = by_start[:, :m, 1:width] + by_end[:, width:, width - 1 : 0 : -1]
        best = totals.argmax(-1)
        total = totals.max(-1)
        total += scores.diagonal(width - 1, 1, 2)
        by_start[:, :m, width] = by_end[:, width:, width] = total
        splits[:, :m, width] = best + 1
    return splits
