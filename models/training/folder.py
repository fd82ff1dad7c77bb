"""The files of a training under way, kept in step: metrics and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from torch import Tensor

from treeviews.models.model.ranks import Ranks
from treeviews.models.training.checkpoints import (
    BestModel,
    BrokenCheckpointError,
    Checkpoint,
    checkpoint_folders,
    checkpoint_state,
    last_whole_checkpoint,
    latest_checkpoint,
    remove_unfinished,
    write_checkpoint,
)
from treeviews.models.training.job import RunSettings
from treeviews.models.training.logs import METRICS_FILE, MetricsLog

CHECKPOINTS_FOLDER = "checkpoints"


def open_checkpoint(out: Path, identity: str, ranks: Ranks) -> Checkpoint | None:
    """Returns the last whole checkpoint of a training's folder to each of its ranks, or None.

    Args:
        identity: digest of all that determines the result.

    Raises:
        OSError: a file of a checkpoint is there but cannot be read now.
        ValueError: the checkpoints are of another training, or none of them is whole.
    """
    folder = out / CHECKPOINTS_FOLDER
    _refuse_another_training(folder, identity)
    ranks.wait_for_all()
    checkpoint = None
    if ranks.is_first:
        remove_unfinished(folder)
        checkpoint = last_whole_checkpoint(folder)
    ranks.wait_for_all()
    if not ranks.is_first:
        checkpoint = latest_checkpoint(folder)
    ranks.wait_for_all()  # from now on the first rank writes
    return checkpoint


def _refuse_another_training(folder: Path, identity: str) -> None:
    """Reads what the checkpoints say of themselves, before anything in the folder is changed."""
    for checkpoint in checkpoint_folders(folder):
        with suppress(BrokenCheckpointError):
            if checkpoint_state(checkpoint).get("identity") == identity:
                continue
            raise ValueError(
                f"{folder}: checkpoints of another training (other settings, corpus or word "
                "vectors); give another folder or delete them"
            )


class TrainingFolder:
    """Writes what a training leaves behind; the first rank has one, the others have none."""

    def __init__(
        self,
        out: Path,
        *,
        identity: str,
        settings: RunSettings,
        checkpoint: Checkpoint | None,
        save_best: Callable[[Path], None],
    ) -> None:
        """Cuts the metrics back to the checkpoint; without one they start anew.

        Args:
            save_best: writes the present weights as a model folder.

        Raises:
            ValueError: the metrics or the best model do not fit the checkpoint.
        """
        self.checkpoints = out / CHECKPOINTS_FOLDER
        self._identity = identity
        self._num_kept = settings.keep_checkpoints
        state = {} if checkpoint is None else checkpoint.state
        self.best = BestModel(self.checkpoints, save=save_best, record=state.get("best"))
        self._remove_unknown_models()
        self._metrics = MetricsLog(out / METRICS_FILE, keep_bytes=state.get("metrics_bytes", 0))

    def write(self, record: Mapping[str, Any]) -> None:
        """Appends a record to the metrics."""
        self._metrics.write(record)

    def save(self, step: int, tensors: dict[str, Tensor], state: Mapping[str, Any]) -> None:
        """Writes a checkpoint that fits the metrics as they stand."""
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
        """Closes the metrics."""
        self._metrics.close()
