"""The best binary tree over span scores, for a whole batch at once (CKY in numpy).

A span's score is that of its best label, 0 for "no constituent"; the tree maximises the sum of its
spans' scores (Stern et al. 2017, section 3; Kitaev & Klein 2018, equation 1).

Legend: B sentences, n tokens of the longest one, w width of a span in tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


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
