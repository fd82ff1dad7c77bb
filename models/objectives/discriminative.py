"""Discriminative objective: sentences of one context agree across two views.

Tang & de Sa 2018, section 2.3, equation 3, with f and g the views and z their vectors:

    a_ij = a_ji = cos(zf_i, zg_j) + cos(zg_i, zf_j)
    L = - Σ_{|i-j| <= c} log p_ij,    p_ij = exp(a_ij / τ) / Σ_n exp(a_in / τ)

The sentence itself, i = j, is a pair like the others. Each view's top principal component is
removed first (section 2.4): the direction that the batch's vectors share most. T power iterations
estimate it (appendix 2, algorithm 1) as the first eigenvector of the uncentred covariance
C = Σ_n z_n z_nᵀ, which is mostly the vectors' mean. Of one view alone a_ij = cos(z_i, z_j).

Legend: B sentences of the batch, N vectors, H width of each view.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.objectives.contrastive import context_targets
from treeviews.models.objectives.objective import (
    LookUp,
    Objective,
    ObjectiveResult,
    SentenceContext,
    Sizes,
)


class DiscriminativeObjective(Objective):
    """The loss over a batch's one or two views; holds the temperature."""

    def __init__(self, config: TrainingConfig, sizes: Sizes) -> None:
        """Makes the temperature, which starts as configured.

        Raises:
            ValueError: the views are of unlike width; names the remedy.
        """
        super().__init__()
        if len(set(sizes.widths)) > 1:
            config.check_widths()
        self.config = config
        # Differs from the paper: the logarithm is trained, so that τ cannot turn negative.
        self.log_temperature = nn.Parameter(
            torch.tensor(math.log(config.temperature)), requires_grad=config.temperature_trained
        )

    def agreement(self, views: Sequence[Tensor]) -> Tensor:
        """Returns a_ij, [B, B], of the views' vectors [B, H]."""
        directions = [self._directions(view) for view in views]
        cosines = directions[0] @ directions[-1].T
        return cosines if len(views) == 1 else cosines + cosines.T

    def forward(
        self, views: Sequence[Tensor], context: SentenceContext, look_up: LookUp | None = None
    ) -> ObjectiveResult:
        """Returns loss, accuracy and chance of a batch.

        The loss is the mean over all positive pairs. Anchors are the sentences with a neighbour in
        the batch. The others are candidates and, where anchors are included, pairs with
        themselves; a batch of nothing else has no context to learn from and its loss is 0.
        The accuracy is the share of anchors whose best-scored other sentence is a neighbour.

        Differs from the paper, whose normaliser is a window of N sentences centred on i: it is the
        batch, as training on batches of N has it.

        Args:
            views: of each sentence, [B, H] each.
            context: of these sentences.
            look_up: not used.
        """
        del look_up
        agreement = self.agreement(views)
        neighbours = context_targets(
            context.documents, context.sentence_index, self.config.context_size
        )
        itself = torch.eye(len(neighbours), dtype=torch.bool, device=neighbours.device)
        temperature = self.log_temperature.exp()
        logits = agreement / temperature
        # Its exp is exactly 0; with -inf a batch of one sentence would be NaN.
        of_others = logits.masked_fill(itself, torch.finfo(logits.dtype).min)
        included = self.config.anchor == "included"
        log_p = (logits if included else of_others).log_softmax(1)
        pairs = neighbours | itself if included else neighbours
        loss = -log_p.masked_fill(~pairs, 0.0).sum() / pairs.sum().clamp(min=1)
        num_neighbours = neighbours.sum(1)
        num_anchors = (num_neighbours > 0).sum()
        is_hit = neighbours.gather(1, of_others.detach().argmax(1, keepdim=True))
        return ObjectiveResult(
            loss=loss * (num_anchors > 0),
            accuracy=is_hit.sum() / num_anchors.clamp(min=1),
            chance=num_neighbours.sum() / (num_anchors * (len(neighbours) - 1)).clamp(min=1),
            num_anchors=num_anchors,
            measures={"temperature": temperature.detach()},
        )

    def _directions(self, view: Tensor) -> Tensor:
        """Returns a view's vectors as cosines take them, [B, H], of length 1.

        Zero vectors stay zero, without a gradient, and so does what rounding leaves of a vector
        that is nothing but the component: its direction is an accident.
        """
        rest = view
        if self.config.remove_top_component:
            rest = without_top_component(view, self.config.power_iterations)
        rounding = 100 * torch.finfo(view.dtype).eps
        length: Tensor = rest.norm(dim=1, keepdim=True)
        is_gone = length <= rounding * view.detach().norm(dim=1, keepdim=True)
        return rest * length.masked_fill(is_gone, torch.inf).reciprocal()


# The component.


@torch.no_grad()
def top_component(vectors: Tensor, iterations: int) -> Tensor:
    """Returns the estimated first principal component, [H], of length 1; zero if all vectors are.

    The paper iterates w ← Z Zᵀ w on the smaller of the two products, Z Zᵀ [N, N] where N <= H, and
    Zᵀw is then the component. Products with Z and Zᵀ in turn are the same iteration on either of
    them. None is formed: ten products with vectors cost less than a single one of matrices.

    Args:
        vectors: [N, H], one a row; they are not centred.
        iterations: T.
    """
    # Unit weights give the vectors' mean, which lies near the component. They are made uneven, lest
    # vectors that sum to zero have none.
    place = torch.arange(len(vectors), dtype=vectors.dtype, device=vectors.device)
    component = _unit(vectors.T @ (1 + 0.5 * place.cos()))
    for _ in range(iterations):
        component = _unit(vectors.T @ _unit(vectors @ component))
    return component


def without_top_component(vectors: Tensor, iterations: int) -> Tensor:
    """Returns vectors [N, H] without their part along the batch's `top_component`.

    The paper leaves open whether gradients pass through the component. Here they do not: it is a
    constant of the batch, as it is at test time.
    """
    component = top_component(vectors.detach(), iterations)
    return torch.addr(vectors, vectors @ component, component, alpha=-1)


def _unit(vector: Tensor) -> Tensor:
    """Returns the vector with length 1, zero if it is zero."""
    unit: Tensor = vector / vector.norm().clamp(min=torch.finfo(vector.dtype).tiny)
    return unit
