"""The model of the lowest held-out loss, kept while the training goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

_PREFIX = "best-"


class BestModel:
    """Keeps one model folder, named by its step.

    What a checkpoint knows as the best stays as long as the checkpoint, so a training finds it
    again from whichever it goes on.
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

        Raises:
            ValueError: its model is wanted, but was not kept or is gone.
        """
        self.record = None if record is None else dict(record)
        self._folder = folder
        self._save = save
        if self.path is not None and not self.path.is_dir():
            raise ValueError(
                f"{self.path}: the best model so far is not there, as when keep_best was false; "
                "set keep_best to false to go on without it, or delete the model folder to train "
                "anew"
            )

    @property
    def path(self) -> Path | None:
        """The folder of the best model; None if none is kept."""
        return None if self._save is None else self._path_of(self.record)

    def _path_of(self, record: Mapping[str, Any] | None) -> Path | None:
        return None if record is None else self._folder / f"{_PREFIX}{record['step']:010d}"

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

    def remove_unknown(self, known: Iterable[Mapping[str, Any] | None]) -> None:
        """Removes the models that no checkpoint knows as the best.

        Args:
            known: the best held-out record of each checkpoint that is kept.
        """
        kept = {self._path_of(record) for record in known}
        for found in self._folder.glob(f"{_PREFIX}*"):
            if found not in kept:
                shutil.rmtree(found)
