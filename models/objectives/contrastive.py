"""Contrastive context prediction: tell a sentence's neighbours from the rest of the batch.

Simoulin & Crabbé 2021, section Contrastive learning: with f and g the views and c the critic,

    p(s+ | S) = exp c(f(s), g(s+)) / Σ_{s' in S} exp c(f(s), g(s')),    c(x, y) = xᵀ W y

where S holds one neighbour s+ and the negatives, which are the batch's sentences out of context.
This is the target "each": every neighbour of a sentence against the negatives alone, the mean over
its neighbours. The target "soft" is that of QuickThoughts (Logeswaran & Lee 2018, whose critic is
c(x, y) = xᵀ y): all neighbours stand in one sum, so they compete, and share the target equally.

Legend: B sentences of the batch, each an anchor and a candidate; H1, H2 widths of the views.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.objectives.objective import (
    LookUp,
    Objective,
    ObjectiveResult,
    SentenceContext,
    Sizes,
)


def context_targets(document: Tensor, sentence_index: Tensor, context_size: int) -> Tensor:
    """Returns which sentences are context of which, [B, B] bool, symmetric, diagonal False.

    Args:
        document: [B] int; equal for sentences of one document.
        sentence_index: [B] int; position in the document. A gap in it is a gap in the text.
        context_size: the largest distance.
    """
    distance = (sentence_index[:, None] - sentence_index[None, :]).abs()
    same_document = document[:, None] == document[None, :]
    return same_document & (distance <= context_size) & (distance > 0)


class ContrastiveObjective(Objective):
    """The loss over a batch's two views; holds the critic's parameters.

    Before the critic, ``normalise`` "batch_norm" brings each dimension to mean 0 and variance 1
    over the batch, with the scores over √H; "l2" brings each vector to length 1, with the scores
    over a trained temperature (Tang & de Sa 2018). With ``symmetric`` g(s) must find f(s+), too,
    and the loss is the mean of both directions.
    """

    def __init__(self, config: TrainingConfig, sizes: Sizes) -> None:
        """Makes the critic, W by Xavier.

        Raises:
            ValueError: an inner product of views of different width.
        """
        super().__init__()
        self.config = config
        first_size, second_size = sizes.widths
        self.weight: nn.Parameter | None = None
        self.log_temperature: nn.Parameter | None = None
        if config.critic == "bilinear":
            self.weight = nn.Parameter(torch.empty(first_size, second_size))
            nn.init.xavier_uniform_(self.weight)
        elif first_size != second_size:
            raise ValueError(
                f"the inner_product critic needs views of one width, got {first_size} and "
                f"{second_size}; use bilinear"
            )
        if config.normalise == "l2":
            # Differs from Tang & de Sa: the logarithm is trained, so it cannot turn negative.
            self.log_temperature = nn.Parameter(
                torch.tensor(log(config.temperature)), requires_grad=config.temperature_trained
            )
        self.norms = nn.ModuleList(
            nn.BatchNorm1d(size, affine=False)
            for size in (first_size, second_size)
            if config.normalise == "batch_norm"
        )

    def scores(self, first: Tensor, second: Tensor) -> Tensor:
        """Returns the critic's c(f(anchor), g(candidate)), [B, B], from views [B, H1], [B, H2]."""
        # One sentence alone has no variance to normalise by; it has no context either.
        if self.norms and (len(first) > 1 or not self.training):
            # Else scores of variance H saturate the softmax before anything is learnt: over √H
            # (Vaswani et al. 2017, section 3.2.1) they start at variance 1.
            scale = (first.shape[1] * second.shape[1]) ** -0.25
            first, second = self.norms[0](first) * scale, self.norms[1](second)
        elif self.config.normalise == "l2":
            first, second = F.normalize(first, dim=1), F.normalize(second, dim=1)
        if self.weight is not None:
            first = first @ self.weight
        scores = first @ second.T
        return scores if self.log_temperature is None else scores / self.log_temperature.exp()

    def forward(
        self, views: Sequence[Tensor], context: SentenceContext, look_up: LookUp | None = None
    ) -> ObjectiveResult:
        """Returns loss, accuracy and chance of a batch.

        The loss is the mean cross-entropy over the anchors, which are the sentences that have a
        neighbour in the batch; the others are candidates only. The accuracy is the share of
        anchors whose best-scored candidate is a positive, its chance that of a uniform guess.

        Args:
            views: f and g of each sentence, [B, H1] and [B, H2].
            context: of these sentences.
            look_up: not used.
        """
        del look_up
        first, second = views
        positives = context_targets(
            context.documents, context.sentence_index, self.config.context_size
        )
        scores = self.scores(first, second)
        directions = [scores, scores.T] if self.config.symmetric else [scores]
        excluded = self.config.anchor == "excluded"
        cross_entropy = _soft if self.config.targets == "soft" else _each
        directions = [_score_of_itself(s, excluded=excluded) for s in directions]
        losses = [cross_entropy(s, positives) for s in directions]
        best = [s.detach().argmax(1, keepdim=True) for s in directions]
        hits = [positives.gather(1, answer).squeeze(1) for answer in best]
        num_positives = positives.sum(1)
        num_candidates = len(positives) - int(excluded)
        num_anchors = (num_positives > 0).sum()
        log_tau = self.log_temperature
        # A row without positives is no anchor: its loss is 0 and it has no hit. (To select the
        # others would wait for the device.)
        total = len(directions) * num_anchors.clamp(min=1)
        return ObjectiveResult(
            loss=torch.stack(losses).sum() / total,
            accuracy=torch.stack(hits).sum() / total,
            chance=num_positives.sum() / (num_anchors * num_candidates).clamp(min=1),
            num_anchors=num_anchors,
            measures={} if log_tau is None else {"temperature": log_tau.detach().exp()},
        )


def _score_of_itself(scores: Tensor, *, excluded: bool) -> Tensor:
    """Returns ``scores`` [B, B] with the diagonal left out of every softmax, or 0 in it."""
    itself = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    return scores.masked_fill(itself, _never(scores) if excluded else 0.0)


def _never(scores: Tensor) -> float:
    """Returns a score whose exp is exactly 0; with -inf a row of one candidate would be NaN."""
    return torch.finfo(scores.dtype).min


def _soft(scores: Tensor, positives: Tensor) -> Tensor:
    """Returns each anchor's cross-entropy with equal targets over its positives, [B].

    Args:
        scores: [B, B]; anchors by candidates.
        positives: [B, B] bool.
    """
    return _mean_over_positives(-scores.log_softmax(1), positives)


def _each(scores: Tensor, positives: Tensor) -> Tensor:
    """Returns each anchor's -log p(s+ | S), the mean over its positives, [B]; as `_soft`."""
    negatives = scores.masked_fill(positives, _never(scores)).logsumexp(1, keepdim=True)
    return _mean_over_positives(torch.logaddexp(scores, negatives) - scores, positives)


def _mean_over_positives(values: Tensor, positives: Tensor) -> Tensor:
    """Returns the means over each row's positives, [B]; 0 for a row that has none."""
    weights = positives.to(values.dtype) / positives.sum(1, keepdim=True).clamp(min=1)
    return (weights * values.masked_fill(~positives, 0.0)).sum(1)
