"""The best label of every span of a batch, without an index and with few passes over memory.

benepar scores the labels of a span from token i to j by its fenceposts' difference d = x_j - x_i:

    s = W₂ relu(γ (W₁ d + b₁ - mean) / σ + β) + b₂,   σ² = variance + ε

with layer normalization's mean and variance over H. The same is computed here as

    e = S (C W₁ x),   h = e_j - e_i + S C b₁,   σ² = |h|² / H + ε
    s = (W₂ |γ|) relu(h + σ β / |γ|) / σ + b₂

where C takes the mean away, which makes that of every difference zero, and S is the sign of γ. So
W₁ costs O(n) products instead of O(n²), and a span's H numbers are passed over four times between
two products (difference, norm, shift, rectification).

Legend: B sentences, n tokens of the longest one, D d_model, H d_label_hidden, K labels without the
null label, I starts, J ends of a block of spans.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from benepar.parse_chart import ChartParser
from numpy.typing import NDArray
from torch import Tensor

from pipeline.parsers.adapters.fast_layers import FixedProduct

_SPANS_AT_ONCE = {"cpu": 512, "cuda": 1 << 17}
"""On a CPU few enough that their activations stay in a core's cache."""
_SMALLEST_SCALE = 1e-12
"""Stands for a γ of 0, by which nothing could be divided; too small to change a float32 score."""


@dataclass(frozen=True, slots=True)
class LabelChart:
    """Each span's best label, both ``[B, n, n]`` by first and last token.

    What stands below the diagonal or past a sentence's length means nothing.
    """

    scores: NDArray[np.float32]
    """0 where no label is the best."""
    labels: NDArray[np.int64]
    """0 where no label is the best."""


class SpanScorer:
    """The label scorer of a chart parser with its weights rearranged for whole charts."""

    def __init__(self, module: ChartParser) -> None:
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

    def chart(self, fenceposts_BTD: Tensor, lengths_B: Tensor) -> LabelChart:
        """Returns the best labels of a batch's spans.

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
        return LabelChart(best.cpu().numpy(), labels.cpu().numpy())

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
