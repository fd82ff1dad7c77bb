"""The files of a training under way, kept in step: logs, checkpoints, the best model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from models.ranks import Ranks
from models.training.best_model import BestModel
from models.training.checkpoints import (
    Checkpoint,
    checkpoint_folders,
    checkpoint_state,
    latest_checkpoint,
    remove_unfinished,
    write_checkpoint,
)
from models.training.metrics_log import METRICS_FILE, MetricsLog
from models.training.settings import RunSettings
from models.training.tensorboard_log import (
    TENSORBOARD_FOLDER,
    TensorBoardLog,
    tensorboard_is_wanted,
)

CHECKPOINTS_FOLDER = "checkpoints"


def open_checkpoint(out: Path, identity: str, ranks: Ranks) -> Checkpoint | None:
    """Returns the last checkpoint of a training's folder to each of its ranks, or None.

    Args:
        identity: digest of all that determines the result.

    Raises:
        ValueError: the checkpoint is of another training, or broken.
    """
    folder = out / CHECKPOINTS_FOLDER
    if ranks.is_first:
        remove_unfinished(folder)
    ranks.wait_for_all()
    checkpoint = latest_checkpoint(folder)
    ranks.wait_for_all()  # from now on the first rank writes
    if checkpoint is not None and checkpoint.state["identity"] != identity:
        raise ValueError(
            f"{folder}: checkpoints of another training (other settings, corpus or word vectors); "
            "give another folder or delete them"
        )
    return checkpoint


class TrainingFolder:
    """Writes what a training leaves behind; the first rank has one, the others have none."""

    def __init__(
        self,
        out: Path,
        *,
        identity: str,
        settings: RunSettings,
        last_step: int,
        checkpoint: Checkpoint | None,
        save_best: Callable[[Path], None] | None,
    ) -> None:
        """Cuts the logs back to the checkpoint; without one they start anew.

        Args:
            last_step: of the whole training.
            save_best: writes the present weights as a model folder; None keeps no best model.

        Raises:
            ValueError: the logs or the best model do not fit the checkpoint.
        """
        self.checkpoints = out / CHECKPOINTS_FOLDER
        self._identity = identity
        self._num_kept = settings.keep_checkpoints
        state = {} if checkpoint is None else checkpoint.state
        self.best = BestModel(self.checkpoints, save=save_best, record=state.get("best"))
        self._remove_unknown_models()
        self._metrics = MetricsLog(out / METRICS_FILE, keep_bytes=state.get("metrics_bytes", 0))
        self._tensorboard: TensorBoardLog | None = None
        if tensorboard_is_wanted(settings.tensorboard):
            step = None if checkpoint is None else checkpoint.step
            self._tensorboard = TensorBoardLog(
                out / TENSORBOARD_FOLDER, last_step=last_step, after_step=step
            )

    def write(self, record: Mapping[str, Any]) -> None:
        """Appends a record to the logs."""
        self._metrics.write(record)
        if self._tensorboard is not None:
            self._tensorboard.write(record)

    def save(self, step: int, tensors: dict[str, Tensor], state: Mapping[str, Any]) -> None:
        """Writes a checkpoint that fits the logs as they stand."""
        if self._tensorboard is not None:
            self._tensorboard.flush()
        own = {
            "identity": self._identity,
            "metrics_bytes": self._metrics.position(),
            "best": self.best.record,
        }
        checkpoint = Checkpoint(step, tensors, {**state, **own})
        write_checkpoint(self.checkpoints, checkpoint, keep=self._num_kept)
        self._remove_unknown_models()

    @property
    def last_checkpoint(self) -> Path | None:
        """The last checkpoint that stands; None before the first."""
        return next(reversed(checkpoint_folders(self.checkpoints)), None)

    def _remove_unknown_models(self) -> None:
        kept = checkpoint_folders(self.checkpoints)
        self.best.remove_unknown(checkpoint_state(path)["best"] for path in kept)

    def close(self) -> None:
        """Closes the logs."""
        self._metrics.close()
        if self._tensorboard is not None:
            self._tensorboard.close()
