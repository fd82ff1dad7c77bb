"""The files of a training: metrics and checkpoints in step, the best model."""

from __future__ import annotations

import json
import os
import shutil
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from treeviews.models.training.checkpoints import (
    CHECKPOINTS_FOLDER,
    Checkpoint,
    checkpoint_folders,
    write_checkpoint,
)
from treeviews.models.training.training_records import METRICS_FILE

_BEST = "best-"


class TrainingFolder:
    """Writes what a training under way leaves behind; the first rank has one, the others none."""

    def __init__(
        self,
        out: Path,
        *,
        identity: str,
        keep_checkpoints: int,
        checkpoint: Checkpoint | None,
        save_best: Callable[[Path], None],
    ) -> None:
        """Cuts the metrics back to the checkpoint; without one they start anew.

        Args:
            identity: digest of all that determines the result.
            keep_checkpoints: how many stay.
            save_best: writes the present weights as a model folder.

        Raises:
            ValueError: the metrics or the best model do not fit the checkpoint.
        """
        self.checkpoints = out / CHECKPOINTS_FOLDER
        self._identity = identity
        self._save_best = save_best
        state = {} if checkpoint is None else checkpoint.state
        self.best: dict[str, Any] | None = state.get("best")
        """The held-out record of the lowest loss so far."""
        if self.best_path is not None and not self.best_path.is_dir():
            raise ValueError(
                f"{self.best_path}: the best model so far is gone; delete the model folder to "
                "train anew"
            )
        self._best_of_kept: deque[Path | None] = deque(maxlen=keep_checkpoints)
        self._metrics = (out / METRICS_FILE).open("ab")
        kept_bytes = state.get("metrics_bytes", 0)
        if self._metrics.tell() < kept_bytes:
            raise ValueError(
                f"{out / METRICS_FILE}: shorter than at the checkpoint; restore it or delete the "
                "model folder"
            )
        self._metrics.truncate(kept_bytes)
        self._metrics.seek(kept_bytes)

    def write(self, record: Mapping[str, Any]) -> None:
        """Appends a record to the metrics; it is readable at once by others."""
        self._metrics.write(json.dumps(record).encode() + b"\n")
        self._metrics.flush()

    @property
    def best_path(self) -> Path | None:
        """The folder of the best model; None before the first."""
        return None if self.best is None else self.checkpoints / f"{_BEST}{self.best['step']:010d}"

    def offer(self, record: Mapping[str, Any]) -> bool:
        """Keeps the present weights if their loss is the lowest so far; returns whether it is.

        Args:
            record: ``step``, ``loss`` and ``num_anchors`` of a held-out measurement, among others.
        """
        is_best = self.best is None or record["loss"] < self.best["loss"]
        if not record["num_anchors"] or not is_best:
            return False
        self.best = dict(record)
        assert self.best_path is not None
        self.best_path.mkdir(parents=True, exist_ok=True)
        self._save_best(self.best_path)
        return True

    def save(self, step: int, tensors: dict[str, Tensor], state: Mapping[str, Any]) -> None:
        """Writes a checkpoint that fits the metrics as they stand.

        The model that it knows as the best stays for as long as it does.
        """
        os.fsync(self._metrics.fileno())
        own = {
            "identity": self._identity,
            "metrics_bytes": self._metrics.tell(),
            "best": self.best,
        }
        keep = self._best_of_kept.maxlen or 1
        write_checkpoint(self.checkpoints, Checkpoint(step, tensors, {**state, **own}), keep=keep)
        self._best_of_kept.append(self.best_path)
        if len(self._best_of_kept) == keep:
            for model in self.checkpoints.glob(f"{_BEST}*"):
                if model not in self._best_of_kept:
                    shutil.rmtree(model)

    @property
    def last_checkpoint(self) -> Path | None:
        """The last checkpoint that stands; None before the first."""
        return next(reversed(checkpoint_folders(self.checkpoints)), None)

    def close(self) -> None:
        """Closes the metrics."""
        self._metrics.close()
