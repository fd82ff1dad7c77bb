"""What views can be trained to do, each objective declared once.

What a training may ask for and combine, the objective that is built and the batches that it needs
come from `OBJECTIVES`. Loads no torch: an objective is named, and imported where it is built.

Sources: see `models.config.training_config`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ObjectiveKind:
    """What is known of an objective without its module."""

    module: str
    """``module:name`` of the `Objective`, within `models.objectives` if the module begins with a
    point. It is called with the configuration and the `Sizes` of views and words."""
    num_views: tuple[int, ...] = (2,)
    """How many views it can train."""
    anchors: tuple[str, ...] = ("excluded", "included")
    """Values of ``anchor`` that it knows; none if it has no candidates."""
    predicts_words: bool = False
    """Whether it has a decoder, whose inverse is one more view of the finished model."""
    compares_views: bool = False
    """Whether all views must be of one width."""


OBJECTIVES: dict[str, ObjectiveKind] = {
    "contrastive": ObjectiveKind(
        ".contrastive:ContrastiveObjective", anchors=("excluded", "zeroed")
    ),
    "generative": ObjectiveKind(
        ".generative:GenerativeObjective", num_views=(1,), anchors=(), predicts_words=True
    ),
    "discriminative": ObjectiveKind(
        ".discriminative:DiscriminativeObjective", num_views=(1, 2), compares_views=True
    ),
    "both": ObjectiveKind(".joint:JointObjective", predicts_words=True, compares_views=True),
}
"""Those that a training can ask for; both: generative and discriminative."""
