"""What views can be trained to do, each objective declared once.

What a training may ask for and combine, the objective that is built and the batches that it needs
come from `OBJECTIVES`. Loads no torch: an objective is named, and imported where it is built.

Sources: see `models.config.training_config`.
"""

from __future__ import annotations

from dataclasses import dataclass

from treeviews.pipeline.base.mistakes import did_you_mean


@dataclass(frozen=True, slots=True)
class ObjectiveKind:
    """What is known of an objective without its module."""

    module: str
    """``module:name`` of the `Objective`, within `models.objectives` if the module begins with a
    point. It is called with the configuration and the `Sizes` of views and words."""
    settings: tuple[str, ...] = ()
    """Fields of `TrainingConfig` that only some objectives read, this one among them."""
    num_views: tuple[int, ...] = (2,)
    """How many views it can train."""
    anchors: tuple[str, ...] = ("excluded", "included")
    """Values of ``anchor`` that it knows; none if it has no candidates."""
    predicts_words: bool = False
    """Whether it has a decoder, whose inverse is one more view of the finished model."""
    compares_views: bool = False
    """Whether all views must be of one width."""


_IN_CONTEXT = ("context_size", "anchor", "temperature", "temperature_trained")
_AGREEING = (*_IN_CONTEXT, "remove_top_component", "power_iterations")
_PREDICTING = (
    *("init", "negatives", "shared_negatives", "noise_power", "decoder", "orthonormal_rate"),
    *("coupling_layers", "coupling_partition", "coupling_width", "coupling_depth"),
    "coupling_activation",
)

OBJECTIVES: dict[str, ObjectiveKind] = {
    "contrastive": ObjectiveKind(
        ".contrastive:ContrastiveObjective",
        (*_IN_CONTEXT, "normalise", "symmetric", "critic", "targets"),
        anchors=("excluded", "zeroed"),
    ),
    "generative": ObjectiveKind(
        ".generative:GenerativeObjective",
        _PREDICTING,
        num_views=(1,),
        anchors=(),
        predicts_words=True,
    ),
    "discriminative": ObjectiveKind(
        ".discriminative:DiscriminativeObjective",
        _AGREEING,
        num_views=(1, 2),
        compares_views=True,
    ),
    "both": ObjectiveKind(
        ".generative:JointObjective",
        (*_AGREEING, *_PREDICTING, "generative_weight"),
        predicts_words=True,
        compares_views=True,
    ),
}
"""Those that a training can ask for; both: generative and discriminative."""


def checked_objective(objective: str) -> str:
    """Returns the objective of a training; a ValueError says which there are."""
    if objective not in OBJECTIVES:
        known, meant = ", ".join(OBJECTIVES), did_you_mean(objective, known=OBJECTIVES)
        raise ValueError(f"objective must be one of {known}, not {objective}{meant}")
    return objective
