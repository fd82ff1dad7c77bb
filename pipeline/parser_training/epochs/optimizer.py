"""A parser training between two steps, and what every step shares: rate, precision, update."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NotRequired, TypedDict

import torch
from torch import Tensor, nn

from pipeline.base.settings import Count, Positive, Settings, ShareBelow1
from pipeline.parsers.devices import products_in, takes_bfloat16

ProductType = Literal["bfloat16", "float32"]
"""Of matrix products in training; those of parsing are in `pipeline.parsers.sentence_parser`."""


class ParameterGroup(TypedDict):
    """Weights that learn at one rate."""

    params: list[nn.Parameter]
    share_of_rate: NotRequired[float]
    """What the training's learning rate is multiplied by; 1 if not given."""


@dataclass
class TrainingState:
    """Weights, their moving average, the optimiser's moments and the position in the run.

    No random state: every epoch seeds its generators from the run's seed and its own number.
    """

    network: nn.Module
    averaged: nn.Module
    """Same shape as ``network``; holds the exponential moving average of its weights."""
    optimizer: torch.optim.Adam
    step: int = 0
    epoch: int = 0
    """Finished epochs."""
    best_epoch: int = 0
    best_score: float = -1.0
    """Of the averaged weights on the development sentences, percent."""


class OptimizerConfig(Settings):
    """How weights are updated: Adam (Kingma & Ba 2015) under a cosine, with a moving average."""

    called: ClassVar[str] = "optimizer setting"

    num_epochs: Count = 30
    learning_rate: Positive = 2.5e-3
    """The highest one."""
    warmup_epochs: float = 1.0
    """The learning rate first rises from zero for so many epochs."""
    adam_betas: tuple[float, float] = (0.9, 0.95)
    clip_norm: Positive = 5.0
    averaging: ShareBelow1 = 0.998
    """Share that the moving average of the weights keeps at each step."""
    precision: ProductType = "bfloat16"
    """On a processor that does not take bfloat16 (x86 without AVX-512), float32 stands for it."""

    def new_optimizer(self, groups: list[ParameterGroup]) -> torch.optim.Adam:
        """Returns Adam over a network's weights."""
        given: list[Any] = list(groups)
        return torch.optim.Adam(given, lr=self.learning_rate, betas=self.adam_betas, fused=True)

    def rate_after(self, epochs: float) -> float:
        """Returns the rate after some (fractional) epochs: a linear rise times a falling cosine."""
        rise = min(1.0, epochs / self.warmup_epochs) if self.warmup_epochs else 1.0
        return self.learning_rate * rise * (1 + math.cos(math.pi * epochs / self.num_epochs)) / 2

    @property
    def products(self) -> ProductType:
        """The type that matrix products are taken in on this processor."""
        return self.precision if takes_bfloat16() else "float32"

    def autocast(self) -> AbstractContextManager[Any]:
        """Returns the context in which a training loss is to be computed."""
        return products_in(getattr(torch, self.products), torch.device("cpu"))


def update_weights(
    state: TrainingState, loss: Tensor, config: OptimizerConfig, *, epochs: float
) -> float:
    """Takes one step down the loss's gradient and returns the gradient's norm before clipping.

    Args:
        epochs: finished, the fraction of the current one included.
    """
    for group in state.optimizer.param_groups:
        group["lr"] = config.rate_after(epochs) * group.get("share_of_rate", 1.0)
    state.optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    norm = nn.utils.clip_grad_norm_(state.network.parameters(), config.clip_norm)
    state.optimizer.step()
    state.step += 1
    # Early on the average follows more closely, so that the random start is soon forgotten.
    keep = min(config.averaging, (1 + state.step) / (10 + state.step))
    pairs = zip(state.averaged.parameters(), state.network.parameters(), strict=True)
    with torch.no_grad():
        for average, weight in pairs:
            average.lerp_(weight, 1 - keep)
    return float(norm)
