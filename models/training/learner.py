"""One step of learning: gradients of a batch, reduced over the ranks, then Adam at its rate."""

from __future__ import annotations

import math

import torch
from torch import nn

from models.config.training_config import TrainingConfig
from models.model.ranks import (
    Ranks,
    average_buffers,
    average_gradients,
    average_result,
    reduce_joint_gradients,
)
from models.model.sentence_model import SentenceModel, TrainingBatch

_FUSED_DEVICES = frozenset({"cpu", "cuda"})
"""Where PyTorch has Adam as one kernel."""


class Learner:
    """A model, its optimiser, and the ranks that train it together."""

    def __init__(self, model: SentenceModel, ranks: Ranks) -> None:
        """Args: model: on the device where it stays."""
        self.model = model
        self._ranks = ranks
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        self.optimiser = torch.optim.Adam(
            self._parameters,
            lr=model.config.learning_rate,
            weight_decay=model.config.weight_decay,
            fused=self._parameters[0].device.type in _FUSED_DEVICES,
        )

    def measure(self, batch: TrainingBatch) -> dict[str, float]:
        """Computes the gradients of a batch; returns its loss and what else a record says of it.

        All ranks return the same numbers.
        """
        self.optimiser.zero_grad(set_to_none=True)
        result = self.model(batch, self._ranks)
        result.loss.backward()
        if self.model.config.gather_negatives:
            reduce_joint_gradients(self.model.encoder, self.model.objective, self._ranks)
        else:
            average_gradients(self.model, self._ranks, result.num_anchors)
            average_buffers(self.model.objective, self._ranks)
            result = average_result(result, self._ranks)
        norm = nn.utils.get_total_norm(
            [p.grad for p in self._parameters if p.grad is not None], foreach=True
        )
        # Together, so that a device is waited for once.
        further = result.measures
        values = torch.stack(
            [
                value.detach().to(result.loss.dtype)
                for value in (result.loss, result.accuracy, result.chance, norm, *further.values())
            ]
        )
        # One rank that thought a norm finite, or clipped by another, would go a way of its own.
        values = self._ranks.of_first(values)
        names = ("loss", "in_batch_accuracy", "chance", "gradient_norm", *further)
        return dict(zip(names, values.tolist(), strict=True))

    def apply(self, learning_rate: float, gradient_norm: float) -> dict[str, float]:
        """Clips the gradients that `measure` has left and moves the weights.

        Returns:
            What the objective measures of the moved weights, by name.
        """
        limit = self.model.config.gradient_clip
        if limit is not None and gradient_norm > limit:
            nn.utils.clip_grads_with_norm_(self._parameters, limit, torch.tensor(gradient_norm))
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate
        self.optimiser.step()
        return {name: value.item() for name, value in self.model.constrain().items()}


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
