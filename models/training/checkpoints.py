"""What a training goes on from: checkpoints, whole or absent; metrics in step, the best model."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from treeviews.models.model.ranks import Ranks
from treeviews.models.training.training_job import METRICS_FILE
from treeviews.pipeline.base.atomic_files import TEMPORARY_SUFFIX, rename_durably, write_by_library
from treeviews.pipeline.base.json_files import check_file, read_object, write_sealed_json

logger = logging.getLogger(__name__)

CHECKPOINTS_FOLDER = "checkpoints"
TENSORS_FILE = "tensors.safetensors"
STATE_FILE = "state.json"
KEPT = 2
"""Checkpoints that stay."""
_PREFIX = "step-"
_BROKEN = "broken-"

_MODEL = "model."
_OPTIMISER = "optimiser."


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """All that a training needs to go on as if it had never stopped."""

    step: int
    """Steps done; also the data cursor, see `TrainingBatches`."""
    tensors: dict[str, Tensor]
    """Weights and optimiser state; see `capture`."""
    state: dict[str, Any]
    """Whatever else the trainer keeps, as JSON."""


def write_checkpoint(folder: Path, checkpoint: Checkpoint, *, keep: int = KEPT) -> Path:
    """Writes a checkpoint into a folder of checkpoints and removes all but the last ``keep``.

    Durable on return. A step has one checkpoint: a training goes on from the last of them, so it
    writes later ones only.

    Raises:
        OSError: the step has one already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{_PREFIX}{checkpoint.step:010d}"
    unfinished = target.with_name(target.name + TEMPORARY_SUFFIX)
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    write_by_library(unfinished / TENSORS_FILE, partial(save_file, checkpoint.tensors))
    content = {"step": checkpoint.step, "state": checkpoint.state}
    write_sealed_json(unfinished / STATE_FILE, content, [unfinished / TENSORS_FILE])
    rename_durably(unfinished, target)
    for old in checkpoint_folders(folder)[:-keep]:
        _remove(old)
    return target


def remove_unfinished(folder: Path) -> None:
    """Removes the checkpoints that a killed process was writing or removing."""
    for unfinished in folder.glob(f"*{TEMPORARY_SUFFIX}"):
        shutil.rmtree(unfinished, ignore_errors=True)


def _remove(checkpoint: Path) -> None:
    """Removes a checkpoint; a kill in between leaves nothing that looks like one."""
    unfinished = checkpoint.with_name(checkpoint.name + TEMPORARY_SUFFIX)
    checkpoint.rename(unfinished)
    shutil.rmtree(unfinished)


def open_checkpoint(out: Path, identity: str, ranks: Ranks) -> Checkpoint | None:
    """Returns the last whole checkpoint of a training's folder to each of its ranks, or None.

    Args:
        identity: digest of all that determines the result.

    Raises:
        OSError, ValueError: see `last_whole_checkpoint`.
    """
    folder = out / CHECKPOINTS_FOLDER
    ranks.wait_for_all()
    checkpoint = None
    if ranks.is_first:
        checkpoint = last_whole_checkpoint(folder, identity)
        remove_unfinished(folder)
    ranks.wait_for_all()
    if not ranks.is_first and (folders := checkpoint_folders(folder)):
        checkpoint = read_checkpoint(folders[-1])
    ranks.wait_for_all()  # from now on the first rank writes
    return checkpoint


def last_whole_checkpoint(folder: Path, identity: str) -> Checkpoint | None:
    """Returns the last checkpoint that can be gone on from, or None; broken ones lose their names.

    To be called by one process, while no other reads or writes the folder.

    Raises:
        OSError: a file that is there cannot be read now; nothing is renamed.
        ValueError: it is of another training, or not one is whole; nothing is renamed.
    """
    broken: dict[Path, ValueError] = {}
    whole = None
    for path in reversed(checkpoint_folders(folder)):
        try:
            whole = read_checkpoint(path)
            break
        except ValueError as error:
            broken[path] = error
    if whole is not None and whole.state.get("identity") != identity:
        raise ValueError(
            f"{folder}: checkpoints of another training (other settings, corpus or word vectors); "
            "give another folder or delete them"
        )
    if broken and whole is None:
        raise ValueError(
            f"{'; '.join(map(str, broken.values()))}; no other is whole: delete {folder} to train "
            "anew"
        )
    for path, why in broken.items():
        aside = path.with_name(_BROKEN + path.name)
        shutil.rmtree(aside, ignore_errors=True)
        path.rename(aside)
        logger.warning("%s; it is called %s now, and an earlier one is taken", why, aside.name)
    return whole


def checkpoint_folders(folder: Path) -> list[Path]:
    """Returns the whole checkpoints of a folder, by step."""
    return sorted(p for p in folder.glob(f"{_PREFIX}*") if not p.name.endswith(TEMPORARY_SUFFIX))


def read_checkpoint(path: Path) -> Checkpoint:
    """Returns one of `checkpoint_folders`.

    Damage, which stays, is told from an error of the moment, as of too many open files.

    Raises:
        ValueError: it is not whole: it lacks a file, or holds others than were written.
        OSError: a file that is there cannot be read now.
    """
    state, tensors, remedy = path / STATE_FILE, path / TENSORS_FILE, "it is not used"
    try:
        value = read_object(state, ("step", "state"), remedy=remedy)
        check_file(tensors, value, remedy)
        if not isinstance(value["step"], int) or not isinstance(value["state"], dict):
            raise ValueError(f"{state}: step must be a whole number and state an object")
        return Checkpoint(value["step"], load_file(tensors), value["state"])
    except (FileNotFoundError, SafetensorError, ValueError) as error:
        # safetensors says of any file that it cannot open that it is not found.
        if isinstance(error, FileNotFoundError) and state.is_file() and tensors.is_file():
            raise OSError(f"{path}: cannot be opened now ({error}); try again") from error
        raise ValueError(f"{path}: broken checkpoint ({error})") from error


def capture(model: nn.Module, optimisers: Sequence[torch.optim.Optimizer]) -> dict[str, Tensor]:
    """Returns copies, on the CPU, of weights and the optimisers' state.

    Random states are none of them: a training seeds anew at every step.
    """
    tensors = {_MODEL + name: value for name, value in model.state_dict().items()}
    for place, optimiser in enumerate(optimisers):
        for index, values in optimiser.state_dict()["state"].items():
            prefix = f"{_OPTIMISER}{place}.{index}."
            tensors.update({f"{prefix}{name}": value for name, value in values.items()})
    return {name: value.detach().cpu().clone() for name, value in tensors.items()}


def restore(
    tensors: dict[str, Tensor], model: nn.Module, optimisers: Sequence[torch.optim.Optimizer]
) -> None:
    """Puts captured tensors back into a model and optimisers built in the same way."""
    weights = _under(_MODEL, tensors)
    model.load_state_dict(weights)
    for place, optimiser in enumerate(optimisers):
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in _under(f"{_OPTIMISER}{place}.", tensors).items():
            index, _, name = key.partition(".")
            state.setdefault(int(index), {})[name] = value
        groups = optimiser.state_dict()["param_groups"]
        optimiser.load_state_dict({"state": state, "param_groups": groups})


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


_BEST = "best-"


class TrainingFolder:
    """Writes what a training under way leaves behind; the first rank has one, the others none."""

    def __init__(
        self,
        out: Path,
        *,
        identity: str,
        checkpoint: Checkpoint | None,
        save_best: Callable[[Path], None],
    ) -> None:
        """Cuts the metrics back to the checkpoint; without one they start anew.

        Args:
            identity: digest of all that determines the result.
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
        self._best_of_kept: deque[Path | None] = deque(maxlen=KEPT)
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
        write_checkpoint(self.checkpoints, Checkpoint(step, tensors, {**state, **own}))
        self._best_of_kept.append(self.best_path)
        if len(self._best_of_kept) == KEPT:
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
