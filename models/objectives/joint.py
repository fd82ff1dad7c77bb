"""Generative and discriminative objective together: Tang & de Sa's GD (2018, appendix)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.objectives.discriminative import DiscriminativeObjective
from treeviews.models.objectives.generative import GenerativeObjective
from treeviews.models.objectives.objective import (
    LookUp,
    Objective,
    ObjectiveResult,
    SentenceContext,
    Sizes,
)


class JointObjective(Objective):
    """The sum of both losses; the first view serves both."""

    def __init__(self, config: TrainingConfig, sizes: Sizes) -> None:
        """Makes both.

        Args:
            config: with ``generative_weight``, of that loss beside the other one; the paper does
                not say.

        Raises:
            ValueError: see `DiscriminativeObjective`.
        """
        super().__init__()
        self.generative = GenerativeObjective(config, sizes)
        self.discriminative = DiscriminativeObjective(config, sizes)
        self.generative_weight = config.generative_weight

    @property
    def word_decoder(self) -> Any:
        """See `Objective`."""
        return self.generative.decoder

    def set_word_counts(self, counts: Tensor) -> None:
        """See `GenerativeObjective`."""
        self.generative.set_word_counts(counts)

    def forward(
        self, views: Sequence[Tensor], context: SentenceContext, look_up: LookUp
    ) -> ObjectiveResult:
        """Returns the sum of the losses; accuracy, chance and anchors of the discriminative one.

        Args:
            views: of each sentence, [B, H] each.
            context: of these sentences, with their next words.
            look_up: gives the frozen word vectors.

        Raises:
            ValueError: the word counts were never set.
        """
        words = self.generative(views, context, look_up)
        pairs: ObjectiveResult = self.discriminative(views, context, look_up)
        return ObjectiveResult(
            loss=pairs.loss + self.generative_weight * words.loss,
            accuracy=pairs.accuracy,
            chance=pairs.chance,
            num_anchors=pairs.num_anchors,
            measures={
                **words.measures,
                **pairs.measures,
                "generative_loss": words.loss.detach(),
                "discriminative_loss": pairs.loss.detach(),
            },
        )

    def constrain(self) -> dict[str, Tensor]:
        """Puts the parameters of both back to where they must lie; returns scalars for the log."""
        return {**self.generative.constrain(), **self.discriminative.constrain()}
