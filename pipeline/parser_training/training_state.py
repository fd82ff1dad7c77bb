"""A parser training between two steps: its weights, their optimizer, and its checkpoint."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from treeviews.pipeline.base.atomic_files import write_by_library
from treeviews.pipeline.base.json_files import sealed, unsealed
from treeviews.pipeline.base.settings import Count, Positive, Settings, ShareBelow1
from treeviews.pipeline.parsers.devices import products_in, takes_bfloat16

_METADATA_KEY = "training"
"""In a checkpoint, which is one safetensors file."""
_PROGRESS = ("step", "epoch", "best_epoch", "best_score")

ParameterGroup = dict[str, Any]
"""``params``: weights that learn at one rate, and ``share_of_rate``, what the training's is
multiplied by, where that is not 1."""
ProductType = Literal["bfloat16", "float32"]
"""Of matrix products in training; those of parsing are in `pipeline.parsers.sentence_parser`."""


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

    def update(self, loss: Tensor, config: OptimizerConfig, *, epochs: float) -> float:
        """Takes one step down the loss's gradient and returns the gradient's norm before clipping.

        Args:
            epochs: finished, the fraction of the current one included.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = config.rate_after(epochs) * group.get("share_of_rate", 1.0)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), config.clip_norm)
        self.optimizer.step()
        self.step += 1
        # Early on the average follows more closely, so that the random start is soon forgotten.
        keep = min(config.averaging, (1 + self.step) / (10 + self.step))
        pairs = zip(self.averaged.parameters(), self.network.parameters(), strict=True)
        with torch.no_grad():
            for average, weight in pairs:
                average.lerp_(weight, 1 - keep)
        return float(norm)

    def write(self, path: Path, digest: str) -> None:
        """Writes a checkpoint, which appears whole or not at all.

        Args:
            digest: of all that determines the training.
        """
        tensors = {name: tensor.detach().contiguous() for name, tensor in self._tensors()}
        progress = {name: getattr(self, name) for name in _PROGRESS}
        facts = {"digest": digest, "tensors_sha256": _sha256_of(tensors), **progress}
        metadata = {_METADATA_KEY: json.dumps(sealed(facts))}
        write_by_library(path, partial(save_file, tensors, metadata=metadata))

    def read(self, path: Path, digest: str) -> None:
        """Goes on from a checkpoint; the state was freshly built.

        Raises:
            ValueError: the file is damaged or belongs to a run with another configuration or data.
        """
        try:
            with safe_open(path, framework="pt") as stored, torch.no_grad():
                facts = unsealed(stored.metadata()[_METADATA_KEY].encode())
                if facts["digest"] != digest:
                    raise ValueError("it belongs to a training with another configuration or data")
                for name, tensor in self._tensors():
                    tensor.copy_(stored.get_tensor(name))
            if facts["tensors_sha256"] != _sha256_of(dict(self._tensors())):
                raise ValueError("its tensors have changed since they were written")
            for name in _PROGRESS:
                setattr(self, name, facts[name])
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path}: no whole checkpoint of this training ({error}); remove it to start over, "
                "or give another output folder"
            ) from error

    def _tensors(self) -> Iterator[tuple[str, Tensor]]:
        for name, tensor in self.network.state_dict().items():
            yield f"network.{name}", tensor
        for name, tensor in self.averaged.state_dict().items():
            yield f"averaged.{name}", tensor
        weights = (weight for group in self.optimizer.param_groups for weight in group["params"])
        for index, weight in enumerate(weights):
            # Adam makes a weight's moments at its first gradient, and some weights have none.
            moments = self.optimizer.state[weight]
            for name in () if "step" in moments else ("exp_avg", "exp_avg_sq"):
                moments[name] = torch.zeros_like(weight)
            moments.setdefault("step", torch.zeros(()))
            for name, value in moments.items():
                yield f"optimizer.{index}.{name}", value


def _sha256_of(tensors: Mapping[str, Tensor]) -> str:
    """Returns the sha256 over the names and bytes of tensors."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        values = tensors[name].detach().cpu().contiguous().reshape(-1)
        digest.update(values.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
