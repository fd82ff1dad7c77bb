"""A parser training between two steps: its weights, their optimizer, and what is kept on disk."""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from treeviews.pipeline.base.atomic_files import write_by_library, write_text_atomically
from treeviews.pipeline.base.json_files import sealed, unsealed
from treeviews.pipeline.base.settings import Count, Positive, Settings, ShareBelow1
from treeviews.pipeline.parsers.devices import products_in, takes_bfloat16
from treeviews.pipeline.parsers.parser_files import (
    CHECKSUMS_NAME,
    DESCRIPTION_NAME,
    SCORES_NAME,
    TRANSFORMER_FOLDER,
    WEIGHTS_NAME,
    checksum_of_parser_folder,
)

logger = logging.getLogger(__name__)

CHECKPOINT_NAME, METRICS_NAME, BEST_NAME = "checkpoint.safetensors", "metrics.jsonl", "best"
RECORD_NAME = "training.json"
_METADATA_KEY = "training"
"""In a checkpoint, which is one safetensors file."""
_TENSORS_SHA256 = "tensors_sha256"
_PROGRESS = ("step", "epoch", "best_epoch", "best_score")


ParameterGroup = dict[str, Any]
"""``params``: weights that learn at one rate, and ``share_of_rate``, what the training's is
multiplied by, where that is not 1."""
ProductType = Literal["bfloat16", "float32"]
"""Of matrix products in training; those of parsing are in `pipeline.parsers.sentence_parser`."""


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
        return torch.optim.Adam(groups, lr=self.learning_rate, betas=self.adam_betas, fused=True)

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


class ParserTrainingFolder:
    """The folder of one training.

    Between two epochs it holds ``best/``, a parser folder that is usable at once, ``metrics.jsonl``
    with a line for each epoch, and ``checkpoint.safetensors``; the checkpoint is written last, so
    that a training killed at any moment repeats at most one epoch, with the same outcome. At the
    end it is itself a parser folder, with the metrics, ``training.json`` (what was trained) and
    ``scores.json`` (how well the parser does on the development sentences) beside.
    """

    def __init__(
        self, state: TrainingState, folder: Path, *, config: Mapping[str, Any], digest: str
    ) -> None:
        """Opens the folder and, where it holds a checkpoint, fills the state from it.

        Args:
            state: freshly built.
            folder: made where missing.
            config: JSON-serialisable; what is trained, for ``training.json``.
            digest: of all that determines the training.

        Raises:
            ValueError: the folder holds a finished parser, or the checkpoint of another training.
        """
        self._state, self._folder, self._config = state, folder, config
        self._digest = digest
        _start_moments(state.optimizer)
        folder.mkdir(parents=True, exist_ok=True)
        checkpoint = folder / CHECKPOINT_NAME
        if checkpoint.exists():
            self._read_checkpoint(checkpoint)
            logger.info("going on after epoch %d", state.epoch)
        elif any((folder / name).exists() for name in (DESCRIPTION_NAME, TRANSFORMER_FOLDER)):
            raise ValueError(f"{folder}: holds a parser or a part of one; give another folder")
        # An epoch whose metrics were written but not its checkpoint is trained again.
        metrics = folder / METRICS_NAME
        lines = metrics.read_text(encoding="utf-8").splitlines() if metrics.exists() else []
        self._lines = lines[: state.epoch]
        self._write_metrics()

    def end_epoch(
        self,
        metrics: Mapping[str, Any],
        dev: Mapping[str, Any],
        score: float,
        *,
        save: Callable[[Path], object],
    ) -> None:
        """Writes what belongs to the epoch that was trained last.

        Args:
            metrics: JSON-serialisable; stands in a line of ``metrics.jsonl``.
            dev: scores on the development sentences, JSON-serialisable; in the same line.
            score: the one that chooses the epoch: the higher the better.
            save: writes the parser as it now is; called if the score is the best so far.
        """
        state = self._state
        state.epoch += 1
        if score > state.best_score:
            state.best_epoch, state.best_score = state.epoch, score
            save(self._folder / BEST_NAME)
        self._lines.append(json.dumps({"epoch": state.epoch, **metrics, "dev": dev}))
        self._write_metrics()
        self._write_checkpoint()

    def finish(
        self, *, headline: Callable[[Mapping[str, Any]], Mapping[str, float]]
    ) -> dict[str, Any]:
        """Makes the best epoch's parser the folder's own and removes what only a training needs.

        Args:
            headline: picks from the best epoch's ``dev`` scores, under the names they are reported
                by, those for ``scores.json``.

        Returns:
            ``checksum``, ``best_epoch``, ``num_parameters`` and the best epoch's ``dev`` scores.
        """
        best, state = self._folder / BEST_NAME, self._state
        summary = {
            "best_epoch": state.best_epoch,
            "num_parameters": sum(p.numel() for p in state.network.parameters()),
            "dev": json.loads(self._lines[state.best_epoch - 1])["dev"],
        }
        record = {"config": dict(self._config), "digest": self._digest, **summary}
        scores = {name: round(score, 2) for name, score in headline(summary["dev"]).items()}
        for name, value in ((RECORD_NAME, record), (SCORES_NAME, scores)):
            text = json.dumps(value, indent=1) + "\n"
            (self._folder / name).write_text(text, encoding="utf-8")
        for name in (TRANSFORMER_FOLDER, WEIGHTS_NAME, CHECKSUMS_NAME, DESCRIPTION_NAME):
            if (best / name).exists():  # not so when an earlier call was killed just here
                (best / name).replace(self._folder / name)
        if best.exists():
            best.rmdir()
        (self._folder / CHECKPOINT_NAME).unlink()
        return {"checksum": checksum_of_parser_folder(self._folder), **summary}

    def _write_metrics(self) -> None:
        text = "".join(f"{line}\n" for line in self._lines)
        write_text_atomically(self._folder / METRICS_NAME, text)

    def _write_checkpoint(self) -> None:
        """Writes the state so that the file is always a whole checkpoint."""
        path = self._folder / CHECKPOINT_NAME
        progress = {name: getattr(self._state, name) for name in _PROGRESS}
        tensors = {name: tensor.detach().contiguous() for name, tensor in _tensors(self._state)}
        facts = {"digest": self._digest, _TENSORS_SHA256: _sha256_of(tensors), **progress}
        metadata = {_METADATA_KEY: json.dumps(sealed(facts))}
        write_by_library(path, partial(save_file, tensors, metadata=metadata))

    def _read_checkpoint(self, path: Path) -> None:
        """Fills the freshly built state in place.

        Raises:
            ValueError: the file is damaged or belongs to a run with another configuration or data.
        """
        remedy = "remove it to start over, or give another output folder"
        try:
            with safe_open(path, framework="pt") as stored:
                progress = unsealed(stored.metadata()[_METADATA_KEY].encode())
                tensors_sha256 = progress.pop(_TENSORS_SHA256)
                is_own = progress.pop("digest") == self._digest
                if is_own:
                    self._fill(stored.get_tensor, tensors_sha256)
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path}: no whole checkpoint of a training ({error}); {remedy}"
            ) from error
        if not is_own:
            raise ValueError(
                f"{path}: belongs to a training with another configuration or data; {remedy}"
            )
        for name, value in progress.items():
            setattr(self._state, name, value)

    def _fill(self, stored: Callable[[str], Tensor], sha256: str) -> None:
        """Fills the state with stored tensors.

        Args:
            sha256: of them all.

        Raises:
            ValueError: they are not those that were written.
        """
        with torch.no_grad():
            for name, tensor in _tensors(self._state):
                tensor.copy_(stored(name))
        if sha256 != _sha256_of(dict(_tensors(self._state))):
            raise ValueError("its tensors have changed since they were written")


def _sha256_of(tensors: Mapping[str, Tensor]) -> str:
    """Returns the sha256 over the names and bytes of tensors."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        values = tensors[name].detach().cpu().contiguous().reshape(-1)
        digest.update(values.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _tensors(state: TrainingState) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in state.network.state_dict().items():
        yield f"network.{name}", tensor
    for name, tensor in state.averaged.state_dict().items():
        yield f"averaged.{name}", tensor
    for index, parameter in enumerate(_optimized(state.optimizer)):
        for name, value in state.optimizer.state[parameter].items():
            yield f"optimizer.{index}.{name}", value


def _start_moments(optimizer: torch.optim.Adam) -> None:
    # Adam makes a weight's moments at its first gradient: a resumed run needs them before, and a
    # weight that nothing depends on never has one.
    for parameter in _optimized(optimizer):
        optimizer.state[parameter] = {
            "step": torch.zeros(()),
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }


def _optimized(optimizer: torch.optim.Adam) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
