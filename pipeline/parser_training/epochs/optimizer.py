"""What every step of a parser training shares: rate, precision, update."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from pipeline.parser_training.epochs.checkpoint import TrainingState, update_average

PRODUCT_TYPES = ("bfloat16", "float32")
"""Of matrix products in training; those of parsing are in `pipeline.parsers.adapters.base`."""


@dataclass(frozen=True)
class OptimizerConfig:
    """How weights are updated: Adam (Kingma & Ba 2015) under a cosine, with a moving average."""

    num_epochs: int = 30
    learning_rate: float = 2.5e-3
    """The highest one."""
    warmup_epochs: float = 1.0
    """The learning rate first rises from zero for so many epochs."""
    adam_betas: tuple[float, float] = (0.9, 0.95)
    clip_norm: float = 5.0
    averaging: float = 0.998
    """Share that the moving average of the weights keeps at each step."""
    precision: str = "bfloat16"

    def __post_init__(self) -> None:
        if self.precision not in PRODUCT_TYPES:
            raise ValueError(f"precision {self.precision!r}; known: {', '.join(PRODUCT_TYPES)}")
        if self.num_epochs < 1:
            raise ValueError(f"num_epochs must be >= 1, got {self.num_epochs}")
        for name in ("learning_rate", "clip_norm"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        if not 0 <= self.averaging < 1:
            raise ValueError(f"averaging must lie in [0, 1), got {self.averaging}")

    def new_optimizer(self, network: nn.Module) -> torch.optim.Adam:
        """Returns Adam over a network's weights."""
        return torch.optim.Adam(
            network.parameters(), lr=self.learning_rate, betas=self.adam_betas, fused=True
        )

    def rate_after(self, epochs: float) -> float:
        """Returns the rate after some (fractional) epochs: a linear rise times a falling cosine."""
        rise = min(1.0, epochs / self.warmup_epochs) if self.warmup_epochs else 1.0
        return self.learning_rate * rise * (1 + math.cos(math.pi * epochs / self.num_epochs)) / 2

    def autocast(self) -> AbstractContextManager[Any]:
        """Returns the context in which a training loss is to be computed."""
        if self.precision == "bfloat16":
            return torch.autocast("cpu", dtype=torch.bfloat16)
        return nullcontext()


def update_weights(
    state: TrainingState, loss: Tensor, config: OptimizerConfig, *, epochs: float
) -> float:
    """Takes one step down the loss's gradient and returns the gradient's norm before clipping.

    Args:
        epochs: finished, the fraction of the current one included.
    """
    for group in state.optimizer.param_groups:
        group["lr"] = config.rate_after(epochs)
    state.optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    norm = nn.utils.clip_grad_norm_(state.network.parameters(), config.clip_norm)
    state.optimizer.step()
    state.step += 1
    update_average(state, decay=config.averaging)
    return float(norm)
