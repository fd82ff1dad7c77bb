"""Generative and discriminative objective together (Tang & de Sa 2018, appendix, GD)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from models.objectives.base import LookUp, ObjectiveResult, SentenceContext
from models.objectives.discriminative import DiscriminativeObjective
from models.objectives.generative import GenerativeObjective


class JointObjective(nn.Module):
    """The sum of both losses; the first view serves both."""

    measure_names: tuple[str, ...]

    def __init__(
        self,
        generative: GenerativeObjective,
        discriminative: DiscriminativeObjective,
        generative_weight: float = 1.0,
    ) -> None:
        """Joins two objectives.

        Args:
            generative: of the first view.
            discriminative: of all views.
            generative_weight: of the first's loss beside the second's; the paper does not say.
        """
        super().__init__()
        self.generative = generative
        self.discriminative = discriminative
        self.generative_weight = generative_weight
        self.measure_names = (
            *generative.measure_names,
            *discriminative.measure_names,
            "generative_loss",
            "discriminative_loss",
        )

    def set_word_counts(self, counts: Tensor) -> None:
        """Sets what noise is drawn by; see `GenerativeObjective`."""
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
