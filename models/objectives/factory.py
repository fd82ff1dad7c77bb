"""From a training's configuration to its objective."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from models.decoders.config import DecoderConfig
from models.decoders.factory import build_decoder
from models.objectives.contrastive import ContrastiveConfig, ContrastiveObjective
from models.objectives.discriminative import DiscriminativeConfig, DiscriminativeObjective
from models.objectives.generative import GenerativeConfig, GenerativeObjective
from models.objectives.joint import JointObjective
from models.training_config import TrainingConfig


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
        return _contrastive(config, widths)
    if config.objective == "discriminative":
        return _discriminative(config, widths)
    generative = _generative(config, widths[0], word_size, num_words)
    if config.objective == "generative":
        return generative
    return JointObjective(generative, _discriminative(config, widths), config.generative_weight)


def generative_of(objective: nn.Module) -> GenerativeObjective | None:
    """Returns the part of an objective that predicts words, or None."""
    if isinstance(objective, JointObjective):
        objective = objective.generative
    return objective if isinstance(objective, GenerativeObjective) else None


def _contrastive(config: TrainingConfig, widths: Sequence[int]) -> nn.Module:
    return ContrastiveObjective(
        first_size=widths[0],
        second_size=widths[1],
        config=ContrastiveConfig(
            context_size=config.context_size,
            critic=config.critic,
            normalise=config.normalise,
            symmetric=config.symmetric,
            anchor=config.anchor,
            targets=config.targets,
            temperature=config.temperature,
        ),
    )


def _discriminative(config: TrainingConfig, widths: Sequence[int]) -> DiscriminativeObjective:
    return DiscriminativeObjective(
        widths,
        DiscriminativeConfig(
            context_size=config.context_size,
            anchor=config.anchor,
            remove_top_component=config.remove_top_component,
            power_iterations=config.power_iterations,
            temperature=config.temperature,
        ),
    )


def _generative(
    config: TrainingConfig, sentence_size: int, word_size: int, num_words: int
) -> GenerativeObjective:
    decoder = build_decoder(
        DecoderConfig(
            decoder=config.decoder,
            orthonormal_rate=config.orthonormal_rate,
            coupling_layers=config.coupling_layers,
            partition=config.coupling_partition,
            coupling_width=config.coupling_width,
            coupling_depth=config.coupling_depth,
            coupling_activation=config.coupling_activation,
            init=config.init,
        ),
        sentence_size=sentence_size,
        word_size=word_size,
    )
    settings = GenerativeConfig(
        negatives=config.negatives,
        shared_negatives=config.shared_negatives,
        noise_power=config.noise_power,
    )
    return GenerativeObjective(decoder, num_words, settings)
