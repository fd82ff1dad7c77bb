"""What a training goes on from: checkpoints, whole or absent."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from treeviews.models.model.ranks import Ranks
from treeviews.pipeline.base.atomic_files import TEMPORARY_SUFFIX, rename_durably, write_by_library
from treeviews.pipeline.base.json_files import check_file, read_json, write_sealed_json
from treeviews.pipeline.base.settings import Settings

logger = logging.getLogger(__name__)

CHECKPOINTS_FOLDER = "checkpoints"
TENSORS_FILE = "tensors.safetensors"
STATE_FILE = "state.json"
_PREFIX = "step-"
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
    broken: dict[Path, BrokenCheckpointError] = {}
    whole = None
    for path in reversed(checkpoint_folders(folder)):
        try:
            whole = read_checkpoint(path)
            break
        except BrokenCheckpointError as error:
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
        going_on = f"the training goes on from step {whole.step if whole else 0}"
        logger.warning("%s; it is called %s now, and %s", why, aside.name, going_on)
    return whole


def checkpoint_folders(folder: Path) -> list[Path]:
    """Returns the whole checkpoints of a folder, by step."""
    return sorted(p for p in folder.glob(f"{_PREFIX}*") if not p.name.endswith(TEMPORARY_SUFFIX))


def read_checkpoint(path: Path) -> Checkpoint:
    """Returns one of `checkpoint_folders`.

    Damage, which stays, is told from an error of the moment, as of too many open files.

    Raises:
        BrokenCheckpointError: it is not whole.
        OSError: a file that is there cannot be read now.
    """
    state, tensors, remedy = path / STATE_FILE, path / TENSORS_FILE, "it is not used"
    try:
        value = read_json(state, remedy=remedy)
        known = _State.from_json(value, state, remedy=remedy)
        check_file(tensors, value, remedy)
        return Checkpoint(known.step, load_file(tensors), dict(known.state))
    except FileNotFoundError as error:  # safetensors says so of any file that it cannot open
        if state.is_file() and tensors.is_file():
            raise OSError(f"{path}: cannot be opened now ({error}); try again") from error
        raise BrokenCheckpointError(f"{path}: broken checkpoint ({error})") from error
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise BrokenCheckpointError(f"{path}: broken checkpoint ({error})") from error


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
