"""The learning rate as a function of the step."""

from __future__ import annotations

import math

from models.training_config import TrainingConfig


def learning_rate_at(step: int, num_steps: int, config: TrainingConfig) -> float:
    """Returns the learning rate of a step.

    It rises linearly over the warm-up, then stays (``constant``) or falls to zero after the last
    step, along a line or half a cosine.

    Args:
        step: 0 for the first one.
        num_steps: steps of the whole training.
    """
    warmup = round(config.warmup_fraction * num_steps)
    if step < warmup:
        return config.learning_rate * (step + 1) / (warmup + 1)
    done = (step - warmup) / max(1, num_steps - warmup)
    factor = {
        "constant": 1.0,
        "linear": 1.0 - done,
        "cosine": (1.0 + math.cos(math.pi * done)) / 2,
    }[config.schedule]
    return config.learning_rate * factor
