"""Contrastive context prediction: tell a sentence's neighbours from the rest of the batch.

Simoulin & Crabbé 2021, section Contrastive learning: with f and g the views and c the critic,

    p(s+ | S) = exp c(f(s), g(s+)) / Σ_{s' in S} exp c(f(s), g(s')),    c(x, y) = xᵀ W y

where S is the batch of successive sentences. A sentence with several neighbours has soft targets,
equal over them (Logeswaran & Lee 2018, QuickThoughts, whose critic is c(x, y) = xᵀ y).

Differs from Simoulin & Crabbé, whose sum below the line holds one positive and the negatives: as
in QuickThoughts, all neighbours of a sentence stand in one sum, so they compete with each other.

Legend: B sentences of the batch, each an anchor and a candidate; H1, H2 widths of the views.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.variants import Anchor, Critic, Normalise


@dataclass(frozen=True, slots=True)
class ContrastiveConfig:
    """What the papers leave open or do differently; the defaults are Simoulin & Crabbé's."""

    context_size: int = 1
    """Sentences at most this far away in the same document are positives."""
    critic: Critic = "bilinear"
    normalise: Normalise = "none"
    """What is done to each view before the critic: nothing, as published; "batch_norm", each
    dimension to mean 0 and variance 1 over the batch, with the scores over √H; "l2", each vector
    to length 1, with the scores over a trained temperature that starts at 1 (Tang & de Sa 2018)."""
    symmetric: bool = False
    """Whether g(s) must find f(s+), too; the loss is then the mean of both directions."""
    anchor: Anchor = "excluded"
    """The anchor as its own candidate: left out, or with score 0 in the softmax (QuickThoughts)."""

    def __post_init__(self) -> None:
        """Refuses values out of range.

        Raises:
            ValueError: names the field and the values it may have.
        """
        if self.context_size < 1:
            raise ValueError(f"context_size must be 1 or more, got {self.context_size}")
        for name, values in (("critic", Critic), ("normalise", Normalise), ("anchor", Anchor)):
            if (value := getattr(self, name)) not in get_args(values):
                raise ValueError(f"unknown {name} {value!r}; known: {', '.join(get_args(values))}")


@dataclass(frozen=True, slots=True)
class ContrastiveResult:
    """Scalars of one batch, as tensors so that nobody waits for a device; all but loss detached."""

    loss: Tensor
    """Mean cross-entropy over the anchors; 0, with zero gradients, if there is none."""
    accuracy: Tensor
    """Share of anchors whose best-scored candidate is a positive."""
    chance: Tensor
    """The accuracy of a uniformly random guess: mean of positives / candidates."""
    num_anchors: Tensor
    """Sentences of the batch that have a neighbour in it; the others are candidates only."""


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


class ContrastiveObjective(nn.Module):
    """The loss over a batch's two views; holds the critic's parameters."""

    def __init__(self, *, first_size: int, second_size: int, config: ContrastiveConfig) -> None:
        """Makes the critic, W by Xavier.

        Args:
            first_size: H1, the width of f.
            second_size: H2, the width of g.
            config: the variant.

        Raises:
            ValueError: an inner product of views of different width.
        """
        super().__init__()
        self.config = config
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
            self.log_temperature = nn.Parameter(torch.zeros(()))
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
        self, first: Tensor, second: Tensor, document: Tensor, sentence_index: Tensor
    ) -> ContrastiveResult:
        """Returns loss, accuracy and chance of a batch.

        Args:
            first: [B, H1]; f of each sentence.
            second: [B, H2]; g of each sentence.
            document: [B] int; equal for sentences of one document.
            sentence_index: [B] int; position in the document.
        """
        positives = context_targets(document, sentence_index, self.config.context_size)
        scores = self.scores(first, second)
        directions = [scores, scores.T] if self.config.symmetric else [scores]
        excluded = self.config.anchor == "excluded"
        results = [_loss_and_accuracy(s, positives, exclude_self=excluded) for s in directions]
        num_positives = positives.sum(1)
        num_candidates = len(positives) - int(excluded)
        num_anchors = (num_positives > 0).sum()
        return ContrastiveResult(
            loss=torch.stack([loss for loss, _ in results]).mean(),
            accuracy=torch.stack([accuracy for _, accuracy in results]).mean(),
            chance=num_positives.sum() / (num_anchors * num_candidates).clamp(min=1),
            num_anchors=num_anchors,
        )


def _loss_and_accuracy(
    scores: Tensor, positives: Tensor, *, exclude_self: bool
) -> tuple[Tensor, Tensor]:
    """Returns mean cross-entropy and accuracy over the rows of ``scores`` that have positives.

    Args:
        scores: [B, B]; anchors by candidates.
        positives: [B, B] bool.
        exclude_self: leave the diagonal out of the softmax; otherwise it has score 0 there.
    """
    itself = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    # The least finite number, as -inf makes a row of one candidate NaN; its exp is exactly 0.
    own_score = torch.finfo(scores.dtype).min if exclude_self else 0.0
    scores = scores.masked_fill(itself, own_score)
    num_positives = positives.sum(1)
    # Rows without positives weigh nothing. (Selecting the others would wait for the device.)
    targets = positives.to(scores.dtype) / num_positives.clamp(min=1)[:, None]
    num_anchors = (num_positives > 0).sum().clamp(min=1)
    log_probabilities = scores.log_softmax(1).masked_fill(~positives, 0.0)
    loss = -(targets * log_probabilities).sum() / num_anchors
    is_hit = positives.gather(1, scores.detach().argmax(1, keepdim=True))
    return loss, is_hit.sum() / num_anchors
