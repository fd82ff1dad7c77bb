"""What a checkpoint holds: a file of ``torch.save``, a released folder, or a zip of either."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pipeline.base.inside import inside
from pipeline.base.json_files import read_json
from pipeline.base.refusal import shortened
from pipeline.parsers.adapters.folder_files import RELEASED_WEIGHTS
from pipeline.parsers.checkpoints.torch_file import Inert, read_torch_file

_RELEASED_CONFIG = "config.json"
STAGE_OF_LIBRARY = {"supar": "dependencies", "benepar": "constituents"}


@dataclass(frozen=True, slots=True)
class OpenedCheckpoint:
    """A checkpoint in memory."""

    library: str
    """``supar`` or ``benepar``."""
    content: Mapping[str, Any]
    """supar's state; of benepar ``config`` and ``state_dict``."""
    transformer: str
    """Folder with the configuration and tokenizer of the transformer inside, if it came along."""


def open_checkpoint(path: Path, scratch: Path) -> OpenedCheckpoint:
    """Returns what a checkpoint holds, of which nothing was run.

    Args:
        path: a file or folder.
        scratch: empty folder for what a zip holds.

    Raises:
        ValueError: it is no checkpoint of either library.
    """
    file = _unpacked(path, scratch / "unpacked") if _is_archive(path) else path
    if file.is_dir():
        return _read_released(file)
    content = read_torch_file(file)
    if _has(content, {"name": str, "args": Inert, "state_dict": dict, "transform": Inert}):
        return OpenedCheckpoint("supar", {"pretrained": None, **content}, "")
    if _has(content, {"config": dict, "state_dict": dict}) and "hparams" in content["config"]:
        return OpenedCheckpoint("benepar", content, "")
    found = shortened(list(content)) if isinstance(content, dict) else type(content).__name__
    raise ValueError(
        f"{path.name}: neither a parser of supar nor one of benepar, but {found}; name a file that "
        f"one of them saved"
    )


def _read_released(folder: Path) -> OpenedCheckpoint:
    weights = folder / RELEASED_WEIGHTS
    what = (
        f"name a folder that benepar released, which holds {RELEASED_WEIGHTS} and a "
        f"{_RELEASED_CONFIG} with an entry 'benepar'"
    )
    for file in (folder / _RELEASED_CONFIG, weights):
        if not file.is_file():
            raise ValueError(f"{folder.name}: no {file.name}; {what}")
    described = read_json(folder / _RELEASED_CONFIG, remedy=what)
    if not isinstance(described, dict) or not isinstance(described.get("benepar"), dict):
        raise ValueError(f"{folder.name}: {_RELEASED_CONFIG} has no entry 'benepar'; {what}")
    content = {"config": described["benepar"], "state_dict": read_torch_file(weights)}
    return OpenedCheckpoint("benepar", content, str(folder))


def _has(content: Any, types: Mapping[str, type]) -> bool:
    return isinstance(content, dict) and all(
        isinstance(content.get(name), expected) for name, expected in types.items()
    )


def _is_archive(path: Path) -> bool:
    """Returns whether a file is a zip, but not one of those that ``torch.save`` writes."""
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return not any(PurePosixPath(name).name == "data.pkl" for name in archive.namelist())


def _unpacked(path: Path, folder: Path) -> Path:
    """Unpacks a zip of one file or one flat folder into a folder, which it makes.

    Returns:
        The file, or the folder.

    Raises:
        ValueError: the zip holds anything else.
    """
    folder.mkdir()
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        parents = {PurePosixPath(member.filename).parent for member in members}
        if len(parents) != 1:
            raise ValueError(
                f"{path.name}: {len(members)} files in {len(parents)} folders, where a published "
                f"parser is one file or one folder"
            )
        for member in members:
            destination = inside(folder, PurePosixPath(member.filename).name)
            with archive.open(member) as source, destination.open("wb") as target:
                shutil.copyfileobj(source, target)
    return destination if len(members) == 1 else folder
