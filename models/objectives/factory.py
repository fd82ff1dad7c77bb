"""From a training's configuration to its objective."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from models.config.training_config import TrainingConfig
from models.objectives.contrastive import ContrastiveObjective
from models.objectives.decoders.decoder import build_decoder
from models.objectives.discriminative import DiscriminativeObjective
from models.objectives.generative import GenerativeObjective
from models.objectives.joint import JointObjective


def build_objective(
    config: TrainingConfig, widths: Sequence[int], *, word_size: int, num_words: int
) -> nn.Module:
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


def generative_of(objective: nn.Module) -> GenerativeObjective | None:
    """Returns the part of an objective that predicts words, or None."""
    if isinstance(objective, JointObjective):
        objective = objective.generative
    return objective if isinstance(objective, GenerativeObjective) else None
