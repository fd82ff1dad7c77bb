"""From fencepost vectors to trees, whatever encoder they come from: span scores, and the best tree.

**The best label of every span** of a batch, without an index and with few passes over memory.
benepar scores the labels of a span from token i to j by its fenceposts' difference d = x_j - x_i:

    s = W₂ relu(γ (W₁ d + b₁ - mean) / σ + β) + b₂,   σ² = variance + ε

with layer normalization's mean and variance over H. The same is computed here as

    e = S (C W₁ x),   h = e_j - e_i + S C b₁,   σ² = |h|² / H + ε
    s = (W₂ |γ|) relu(h + σ β / |γ|) / σ + b₂

where C takes the mean away, which makes that of every difference zero, and S is the sign of γ. So
W₁ costs O(n) products instead of O(n²), and a span's H numbers are passed over four times between
two products (difference, norm, shift, rectification).

**The best binary tree**, for a whole batch at once (CKY in numpy). A span's score is that of its
best label, 0 for "no constituent"; the tree maximises the sum of its spans' scores (Stern et al.
2017, section 3; Kitaev & Klein 2018, equation 1).

Legend: B sentences, T positions (tokens of the longest one and two sentence marks), n tokens of the
longest one, w width of a span in tokens, D d_model, H d_label_hidden, K labels without the null
label, I starts, J ends of a block of spans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from treeviews.pipeline.parsers.chart_model import ChartNetwork
from treeviews.pipeline.parsers.fast_layers import FixedProduct
from treeviews.pipeline.trees.flat_trees import TOP_LABEL, ConstituencyParse

_SPANS_AT_ONCE = {"cpu": 512, "cuda": 1 << 17}
"""On a CPU few enough that their activations stay in a core's cache."""
_SMALLEST_SCALE = 1e-12
"""Stands for a γ of 0, by which nothing could be divided; too small to change a float32 score."""


class SpanScorer:
    """The label scorer of a chart parser with its weights rearranged for whole charts."""

    def __init__(self, module: ChartNetwork) -> None:
        """Takes the weights over as they are now; they may stand on any device."""
        first, norm, _, last = module.f_label
        self._force_root = bool(module.decoder.force_root_constituent)
        self._eps = norm.eps
        scale = norm.weight.detach()
        sign, size = torch.where(scale < 0, -1.0, 1.0), scale.abs().clamp_min(_SMALLEST_SCALE)
        centred = first.weight.detach() - first.weight.detach().mean(0)
        self._project = FixedProduct((centred * sign[:, None]).T)
        self._bias = (first.bias.detach() - first.bias.detach().mean()) * sign
        self._shift = norm.bias.detach() / size
        self._label = FixedProduct((last.weight.detach() * size).T)
        self._label_bias = last.bias.detach()
        self._spans_at_once = _SPANS_AT_ONCE.get(
            self._bias.device.type, max(_SPANS_AT_ONCE.values())
        )

    def chart(
        self, fenceposts_BTD: Tensor, lengths_B: Tensor
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Returns scores and ids of the spans' best labels, ``[B, n, n]`` by first and last token.

        Both are 0 where no label is the best. What stands below the diagonal or past a sentence's
        length means nothing.

        Args:
            fenceposts_BTD: ``[B, n + 1, D]`` float.
            lengths_B: int64, numbers of tokens.
        """
        num_sentences, num_posts, _ = fenceposts_BTD.shape
        n = num_posts - 1
        ends_BTH = self._project(fenceposts_BTD.flatten(0, 1)).unflatten(0, (num_sentences, -1))
        starts_BTH = ends_BTH - self._bias
        best = ends_BTH.new_zeros(num_sentences, n, n)
        labels = torch.zeros(num_sentences, n, n, dtype=torch.int64, device=best.device)
        for sentences, starts in self._blocks(num_sentences, n):
            top = self._best(ends_BTH[sentences, starts.start + 1 :], starts_BTH[sentences, starts])
            best[sentences, starts, starts.start :] = top.values
            labels[sentences, starts, starts.start :] = top.indices
        labels += 1
        null = best <= 0
        if self._force_root:
            null[torch.arange(num_sentences, device=null.device), 0, lengths_B - 1] = False
        best.masked_fill_(null, 0.0)
        labels.masked_fill_(null, 0)
        return best.cpu().numpy(), labels.cpu().numpy()

    def _blocks(self, num_sentences: int, n: int) -> Iterator[tuple[slice, slice]]:
        """Yields sentences and first tokens whose spans are scored at once.

        A block takes all ends after its first start, so that it is dense; the spans that begin
        after they end, which cost but mean nothing, are few where a block has few starts.
        """
        at_once = max(1, self._spans_at_once // n)
        for first_sentence in range(0, num_sentences, at_once):
            last_sentence = min(first_sentence + at_once, num_sentences)
            start = 0
            while start < n:
                spans_a_start = (last_sentence - first_sentence) * (n - start)
                stop = min(n, start + max(1, self._spans_at_once // spans_a_start))
                yield slice(first_sentence, last_sentence), slice(start, stop)
                start = stop

    def _best(self, ends_BJH: Tensor, starts_BIH: Tensor) -> torch.return_types.max:
        """Returns score and place of the best label, both ``[B, I, J]``."""
        hidden = ends_BJH[:, None] - starts_BIH[:, :, None]
        norm = torch.linalg.vector_norm(hidden, dim=-1, keepdim=True)
        deviation = norm.square_().div_(hidden.shape[-1]).add_(self._eps).sqrt_()
        hidden.addcmul_(deviation, self._shift).relu_()
        scores = self._label(hidden.flatten(0, -2)).view(*hidden.shape[:-1], -1)
        torch.addcdiv(self._label_bias, scores, deviation, out=scores)
        return scores.max(-1)


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
        lengths_B = torch.tensor(lengths[here[0]], device=part.device)
        scores[here], best_labels[here] = scorer.chart(part, lengths_B)
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
