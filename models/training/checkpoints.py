"""What a training goes on from: checkpoints, whole or absent, and the best model."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from treeviews.pipeline.base.atomic_files import TEMPORARY_SUFFIX, rename_durably, write_by_library
from treeviews.pipeline.base.json_files import check_file, read_json, write_sealed_json
from treeviews.pipeline.base.settings import Settings

logger = logging.getLogger(__name__)

TENSORS_FILE = "tensors.safetensors"
STATE_FILE = "state.json"
_PREFIX = "step-"
_BEST = "best-"
_BROKEN = "broken-"

_MODEL = "model."
_OPTIMISER = "optimiser."


class BrokenCheckpointError(ValueError):
    """A checkpoint lacks a file, or holds others than were written; names it and what is wrong."""


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """All that a training needs to go on as if it had never stopped."""

    step: int
    """Steps done; also the data cursor, see `TrainingBatches`."""
    tensors: dict[str, Tensor]
    """Weights and optimiser state; see `capture`."""
    state: dict[str, Any]
    """Whatever else the trainer keeps, as JSON."""


class _State(Settings):
    """What ``state.json`` says."""

    called: ClassVar[str] = "entry"

    step: int
    state: Mapping[str, Any]


def write_checkpoint(folder: Path, checkpoint: Checkpoint, *, keep: int = 2) -> Path:
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
    """Removes what a killed process was writing or removing: folders and single files."""
    for unfinished in folder.glob(f"*{TEMPORARY_SUFFIX}"):
        if unfinished.is_dir() and not unfinished.is_symlink():
            shutil.rmtree(unfinished)
        else:
            unfinished.unlink()


def _remove(checkpoint: Path) -> None:
    """Removes a checkpoint; a kill in between leaves nothing that looks like one."""
    unfinished = checkpoint.with_name(checkpoint.name + TEMPORARY_SUFFIX)
    checkpoint.rename(unfinished)
    shutil.rmtree(unfinished)


def last_whole_checkpoint(folder: Path) -> Checkpoint | None:
    """Returns the last checkpoint that can be gone on from, or None; broken ones lose their names.

    To be called by one process, while no other reads or writes the folder.

    Raises:
        OSError: a file that is there cannot be read now; nothing is renamed.
        ValueError: not one of the checkpoints is whole; nothing is renamed.
    """
    broken: dict[Path, BrokenCheckpointError] = {}
    found = None
    for checkpoint in reversed(checkpoint_folders(folder)):
        try:
            if found is None:  # what comes before is read only if this one breaks later
                found = _read(checkpoint)
            else:
                checkpoint_state(checkpoint)
        except BrokenCheckpointError as error:
            broken[checkpoint] = error
    if broken and found is None:
        raise ValueError(
            f"{'; '.join(map(str, broken.values()))}; no other is whole: delete {folder} to train "
            "anew"
        )
    for checkpoint, why in broken.items():
        aside = checkpoint.with_name(_BROKEN + checkpoint.name)
        shutil.rmtree(aside, ignore_errors=True)
        checkpoint.rename(aside)
        logger.warning(
            "%s; it is called %s now, and the training goes on from step %d",
            why,
            aside.name,
            found.step if found else 0,
        )
    return found


def latest_checkpoint(folder: Path) -> Checkpoint | None:
    """Returns the checkpoint of the highest step, or None.

    Raises:
        BrokenCheckpointError: it is not whole.
        OSError: a file that is there cannot be read now.
    """
    folders = checkpoint_folders(folder)
    return _read(folders[-1]) if folders else None


def checkpoint_folders(folder: Path) -> list[Path]:
    """Returns the whole checkpoints of a folder, by step."""
    return sorted(p for p in folder.glob(f"{_PREFIX}*") if not p.name.endswith(TEMPORARY_SUFFIX))


def checkpoint_state(checkpoint: Path) -> dict[str, Any]:
    """Returns `Checkpoint.state` of one of `checkpoint_folders`.

    Raises:
        BrokenCheckpointError: it is not whole.
        OSError: a file that is there cannot be read now.
    """
    with _naming_damage(checkpoint):
        state: dict[str, Any] = _read_state(checkpoint)["state"]
        return state


def _read(checkpoint: Path) -> Checkpoint:
    with _naming_damage(checkpoint):
        value, tensors = _read_state(checkpoint), checkpoint / TENSORS_FILE
        check_file(tensors, value, "it is not used")
        return Checkpoint(value["step"], load_file(tensors), value["state"])


def _read_state(checkpoint: Path) -> dict[str, Any]:
    path, remedy = checkpoint / STATE_FILE, "it is not used"
    value: dict[str, Any] = read_json(path, remedy=remedy)
    _State.from_json(value, path, remedy=remedy)
    return value


@contextmanager
def _naming_damage(checkpoint: Path) -> Iterator[None]:
    """Tells damage, which stays, from an error of the moment, as of too many open files."""
    try:
        yield
    except FileNotFoundError as error:  # safetensors says so of any file that it cannot open
        if all((checkpoint / name).is_file() for name in (STATE_FILE, TENSORS_FILE)):
            raise OSError(f"{checkpoint}: cannot be opened now ({error}); try again") from error
        raise BrokenCheckpointError(f"{checkpoint}: broken checkpoint ({error})") from error
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise BrokenCheckpointError(f"{checkpoint}: broken checkpoint ({error})") from error


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


class BestModel:
    """Keeps one model folder, named by its step.

    What a checkpoint knows as the best stays as long as the checkpoint, so a training finds it
    again from whichever it goes on.
    """

    def __init__(
        self,
        folder: Path,
        *,
        save: Callable[[Path], None],
        record: Mapping[str, Any] | None = None,
    ) -> None:
        """Goes on from what a checkpoint knew.

        Args:
            folder: where the model's folder stands.
            save: writes the present weights into a folder.
            record: the best held-out record so far.

        Raises:
            ValueError: its model is gone.
        """
        self.record = None if record is None else dict(record)
        self._folder = folder
        self._save = save
        if self.path is not None and not self.path.is_dir():
            raise ValueError(
                f"{self.path}: the best model so far is gone; delete the model folder to train anew"
            )

    @property
    def path(self) -> Path | None:
        """The folder of the best model; None before the first."""
        return self._path_of(self.record)

    def _path_of(self, record: Mapping[str, Any] | None) -> Path | None:
        return None if record is None else self._folder / f"{_BEST}{record['step']:010d}"

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
        if self.path is not None:
            self.path.mkdir(parents=True, exist_ok=True)
            self._save(self.path)
        return True

    def remove_unknown(self, known: Iterable[Mapping[str, Any] | None]) -> None:
        """Removes the models that no checkpoint knows as the best.

        Args:
            known: the best held-out record of each checkpoint that is kept.
        """
        kept = {self._path_of(record) for record in known}
        for found in self._folder.glob(f"{_BEST}*"):
            if found not in kept:
                shutil.rmtree(found)
