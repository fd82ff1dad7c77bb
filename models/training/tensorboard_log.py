"""The metrics of a training as TensorBoard's event files, beside the JSON lines."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

TENSORBOARD_FOLDER = "tensorboard"
STEPS_BETWEEN_WRITES = 10
"""Writing an event of eight numbers takes 0.4 ms; of every step it would be seen in the rate."""
_PLACE = ("kind", "step")


class TensorBoardLog:
    """Writes the numbers of a record under ``kind/name``, as in ``train/loss``.

    Of the steps the first, the last and every tenth in between.
    """

    def __init__(self, folder: Path, *, last_step: int, after_step: int | None = None) -> None:
        """Goes on behind a step, whose successors of an earlier run are hidden, or starts anew.

        Args:
            folder: of the event files.
            last_step: of the whole training.
            after_step: the checkpoint's step; None starts anew.
        """
        from torch.utils.tensorboard import SummaryWriter

        if after_step is None:
            shutil.rmtree(folder, ignore_errors=True)
        self._ends = (1, last_step)
        self._writer: Any = SummaryWriter(
            str(folder), purge_step=None if after_step is None else after_step + 1
        )

    def write(self, record: Mapping[str, Any]) -> None:
        """Appends the numbers of one record, if it is one that is shown."""
        step = record["step"]
        if record["kind"] == "train" and step % STEPS_BETWEEN_WRITES and step not in self._ends:
            return
        for name, value in record.items():
            if name not in _PLACE and not isinstance(value, str):
                self._writer.add_scalar(f"{record['kind']}/{name}", value, step)

    def flush(self) -> None:
        """Hands everything to the operating system."""
        self._writer.flush()

    def close(self) -> None:
        """Closes the file."""
        self._writer.close()


def tensorboard_is_wanted(asked: bool | None) -> bool:
    """Returns whether event files are written.

    Args:
        asked: None asks for them where TensorBoard is installed.

    Raises:
        ValueError: asked for and not installed.
    """
    installed = find_spec("tensorboard") is not None
    if asked and not installed:
        raise ValueError(
            "tensorboard is true but TensorBoard is not installed; install treeviews[tensorboard]"
        )
    return installed if asked is None else asked
