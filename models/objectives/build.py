"""From a training's configuration to its objective, and two of them as one.

Generative and discriminative objective together are Tang & de Sa's GD (2018, appendix).
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.objectives.base import LookUp, Objective, ObjectiveResult, SentenceContext
from treeviews.models.objectives.contrastive import ContrastiveObjective
from treeviews.models.objectives.decoders import build_decoder
from treeviews.models.objectives.discriminative import DiscriminativeObjective
from treeviews.models.objectives.generative import GenerativeObjective


def build_objective(
    config: TrainingConfig, widths: Sequence[int], *, word_size: int, num_words: int
) -> Objective:
    """Returns a new `Objective`, its weights drawn from torch's current random state.

    Args:
        widths: H_v of each view.
        word_size: E.
        num_words: V, the unknown word included.

    Raises:
        ValueError: views of widths that the objective cannot compare.
    """
    if config.objective == "contrastive":
        return ContrastiveObjective(first_size=widths[0], second_size=widths[1], config=config)
    if config.objective == "discriminative":
        return DiscriminativeObjective(widths, config)
    decoder = build_decoder(config, sentence_size=widths[0], word_size=word_size)
    generative = GenerativeObjective(decoder, num_words, config)
    if config.objective == "generative":
        return generative
    discriminative = DiscriminativeObjective(widths, config)
    return JointObjective(generative, discriminative, config.generative_weight)


def generative_of(objective: Objective) -> GenerativeObjective | None:
    """Returns the part of an objective that predicts words, or None."""
    if isinstance(objective, JointObjective):
        objective = objective.generative
    return objective if isinstance(objective, GenerativeObjective) else None


class JointObjective(Objective):
    """The sum of both losses; the first view serves both."""

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
