"""The model of the lowest held-out loss, kept while the training goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_PREFIX = "best-"


class BestModel:
    """Keeps one model folder, named by its step.

    What a checkpoint knows as the best stays until a later checkpoint knows another, so a training
    that is killed in between finds it again.
    """

    def __init__(
        self,
        folder: Path,
        *,
        save: Callable[[Path], None] | None,
        record: Mapping[str, Any] | None = None,
    ) -> None:
        """Goes on from what a checkpoint knew.

        Args:
            folder: where the model's folder stands.
            save: writes the present weights into a folder; None only remembers the measurement.
            record: the best held-out record so far.
        """
        self.record = None if record is None else dict(record)
        self._folder = folder
        self._save = save

    @property
    def path(self) -> Path | None:
        """The folder of the best model; None if none is kept."""
        if self._save is None or self.record is None:
            return None
        return self._folder / f"{_PREFIX}{self.record['step']:010d}"

    def offer(self, record: Mapping[str, Any]) -> bool:
        """Keeps the present weights if their loss is the lowest so far; returns whether it is.

        Args:
            record: ``step``, ``loss`` and ``num_anchors`` of a held-out measurement, among others.
        """
        if not record["num_anchors"]:
            return False
        if self.record is not None and not record["loss"] < self.record["loss"]:
            return False
        self.record = dict(record)
        if self._save is not None and self.path is not None:
            self.path.mkdir(parents=True, exist_ok=True)
            self._save(self.path)
        return True

    def remove_others(self) -> None:
        """Removes all but the best; to be called when a checkpoint knows it."""
        for other in self._folder.glob(f"{_PREFIX}*"):
            if other != self.path:
                shutil.rmtree(other)
