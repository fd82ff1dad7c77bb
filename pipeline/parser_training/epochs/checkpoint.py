"""Everything that an interrupted parser training needs to go on, in one safetensors file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

_METADATA_KEY = "training"


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


def write_checkpoint(state: TrainingState, path: Path, *, digest: str) -> None:
    """Writes the state so that ``path`` always holds a whole checkpoint.

    Args:
        state: with at least one step taken.
        path: the file.
        digest: of everything that determines the run; a checkpoint of another run is refused.
    """
    progress = {
        "digest": digest,
        "step": state.step,
        "epoch": state.epoch,
        "best_epoch": state.best_epoch,
        "best_score": state.best_score,
    }
    temporary = path.with_name(path.name + ".partial")
    tensors = {name: tensor.detach().contiguous() for name, tensor in _tensors(state)}
    save_file(tensors, temporary, metadata={_METADATA_KEY: json.dumps(progress)})
    temporary.replace(path)


def read_checkpoint(state: TrainingState, path: Path, *, digest: str) -> None:
    """Fills a freshly built state in place with what ``write_checkpoint`` wrote.

    Raises:
        ValueError: the file is damaged or belongs to a run with another configuration or data.
    """
    remedy = "remove it to start over, or give another output folder"
    try:
        with safe_open(path, framework="pt") as stored:
            progress = json.loads(stored.metadata()[_METADATA_KEY])
            if progress.pop("digest") != digest:
                raise ValueError(
                    f"{path}: belongs to a training with another configuration or data; {remedy}"
                )
            _start_moments(state.optimizer)
            with torch.no_grad():
                for name, tensor in _tensors(state):
                    tensor.copy_(stored.get_tensor(name))
    except (SafetensorError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: no checkpoint of a training ({error}); {remedy}") from error
    for name, value in progress.items():
        setattr(state, name, value)


@torch.no_grad()
def update_average(state: TrainingState, *, decay: float) -> None:
    """Moves the average towards the weights by ``1 - decay``.

    Early on it follows them more closely, so that the random start is soon forgotten.
    """
    keep = min(decay, (1 + state.step) / (10 + state.step))
    pairs = zip(state.averaged.parameters(), state.network.parameters(), strict=True)
    for average, weight in pairs:
        average.lerp_(weight, 1 - keep)


def _tensors(state: TrainingState) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in state.network.state_dict().items():
        yield f"network.{name}", tensor
    for name, tensor in state.averaged.state_dict().items():
        yield f"averaged.{name}", tensor
    for group in state.optimizer.param_groups:
        for index, parameter in enumerate(group["params"]):
            for name, value in state.optimizer.state[parameter].items():
                yield f"optimizer.{index}.{name}", value


def _start_moments(optimizer: torch.optim.Adam) -> None:
    # Adam makes its moments at the first step; a resumed run needs them before.
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            optimizer.state[parameter] = {
                "step": torch.zeros(()),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
