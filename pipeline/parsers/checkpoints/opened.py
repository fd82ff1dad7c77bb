"""What a checkpoint holds: a file of ``torch.save``, a released folder, or a zip of either."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections import Counter
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
_CHUNK_BYTES = 1 << 20
_MAX_UNPACKED_BYTES = 16 << 30
"""Of a published zip; the largest of both libraries' holds less than 2 GiB."""
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


def open_checkpoint(path: Path, scratch: Path, *, sha256: str) -> OpenedCheckpoint:
    """Returns what a checkpoint holds, of which nothing was run.

    Args:
        path: a file or folder.
        scratch: empty folder for a copy of the file, so that nobody changes what was verified, and
            for what a zip holds.
        sha256: of the file, or of the folder's weights, in small letters.

    Raises:
        ValueError: it is no checkpoint of either library, or another sha256 than given.
    """
    if path.is_dir():
        weights = path / RELEASED_WEIGHTS
        if weights.is_file():
            weights = _verified_copy(weights, scratch / "verified", sha256)
        return _read_released(path, weights)
    copy = _verified_copy(path, scratch / "verified", sha256)
    if _is_archive(copy):
        unpacked = _unpacked(copy, scratch / "unpacked")
        if unpacked.is_dir():
            return _read_released(unpacked, unpacked / RELEASED_WEIGHTS)
        copy = unpacked
    content = read_torch_file(copy)
    if _has(content, {"name": str, "args": Inert, "state_dict": dict, "transform": Inert}):
        return OpenedCheckpoint("supar", {"pretrained": None, **content}, "")
    if _has(content, {"config": dict, "state_dict": dict}) and "hparams" in content["config"]:
        return OpenedCheckpoint("benepar", content, "")
    found = shortened(list(content)) if isinstance(content, dict) else type(content).__name__
    raise ValueError(
        f"{path.name}: neither a parser of supar nor one of benepar, but {found}; name a file that "
        f"one of them saved"
    )


def _verified_copy(file: Path, folder: Path, sha256: str) -> Path:
    """Copies a file into a folder, which it makes; the digest is of the bytes that were copied.

    Raises:
        ValueError: they are not those of the sha256.
    """
    folder.mkdir()
    copy, digest = folder / file.name, hashlib.sha256()
    with file.open("rb") as source, copy.open("wb") as target:
        while chunk := source.read(_CHUNK_BYTES):
            digest.update(chunk)
            target.write(chunk)
    if digest.hexdigest() != sha256:
        raise ValueError(
            f"{file.name}: sha256 {digest.hexdigest()} differs from the given {sha256}; not read"
        )
    return copy


def _read_released(folder: Path, weights: Path) -> OpenedCheckpoint:
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
        ValueError: the zip holds anything else, a name twice, or more than a parser can be.
    """
    folder.mkdir()
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        _check_members(path, members)
        for member in members:
            destination = inside(folder, PurePosixPath(member.filename).name)
            # No more is read of a member than the size that it states.
            with archive.open(member) as source, destination.open("xb") as target:
                shutil.copyfileobj(source, target)
    return destination if len(members) == 1 else folder


def _check_members(path: Path, members: list[zipfile.ZipInfo]) -> None:
    names = [PurePosixPath(member.filename) for member in members]
    parents = {name.parent for name in names}
    if not members or len(parents) > 1:
        raise ValueError(
            f"{path.name}: {len(members)} files in {len(parents)} folders, where a published "
            f"parser is one file or one folder"
        )
    twice = sorted(name for name, count in Counter(n.name for n in names).items() if count > 1)
    if twice:
        raise ValueError(f"{path.name}: holds {', '.join(twice)} more than once; fetch it again")
    num_bytes = sum(member.file_size for member in members)
    if num_bytes > _MAX_UNPACKED_BYTES:
        raise ValueError(
            f"{path.name}: {num_bytes:,} bytes when unpacked, where a parser has at most "
            f"{_MAX_UNPACKED_BYTES:,}; unpack it yourself if it is one, and name the file in it"
        )
