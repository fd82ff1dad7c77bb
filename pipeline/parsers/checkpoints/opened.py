"""What a checkpoint holds: a file of ``torch.save``, a released folder, or a zip of either.

A pickle is a program: it names functions of any module, and bytecode beside them, and calls them.
Here it may call what puts tensors and plain containers together, and no more; every other name
becomes an `Inert` object that remembers its attributes and does nothing. So a checkpoint of another
Python version loads, too, though its bytecode would crash the interpreter. A TorchScript archive is
refused: ``torch.load`` hands it to an interpreter of its own, which runs the methods in it.
"""

from __future__ import annotations

import collections
import hashlib
import json
import pickle
import shutil
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import torch

from pipeline.parsers.adapters.folder_files import RELEASED_WEIGHTS

_CONTAINERS = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("builtins", "set"): set,
    ("builtins", "frozenset"): frozenset,
}
_TORCH_NAMES = frozenset({"Size", "device", "float16", "bfloat16", "float32", "float64", "int64"})
_ZIP_SIGNATURE = b"PK\x03\x04"
_REBUILDERS = frozenset({"_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_parameter"})

_RELEASED_CONFIG = "config.json"
_CHUNK_BYTES = 1 << 20
_MAX_UNPACKED_BYTES = 16 << 30
"""Of a published zip; the largest of both libraries' holds less than 2 GiB."""
STAGE_OF_LIBRARY = {"supar": "dependencies", "benepar": "constituents"}


class Inert:
    """Stands for an object of a class that is not looked up: attributes, and no behaviour."""

    origin = ""
    """The module and name that the pickle gave."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Inert:
        """Takes any arguments and drops them."""
        return super().__new__(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        """Keeps what the object's attributes were."""
        if isinstance(state, dict):
            self.__dict__.update(state)

    def __call__(self, *args: Any, **kwargs: Any) -> Inert:
        """Returns an object as inert as this one."""
        return Inert()

    def __setitem__(self, key: Any, value: Any) -> None:
        """Drops an entry."""

    def append(self, value: Any) -> None:
        """Drops an element."""


def read_torch_file(path: Path) -> Any:
    """Returns the object in a file of ``torch.save``, tensors on the CPU, classes as `Inert`.

    Raises:
        ValueError: the file is not one of ``torch.save``, is cut short, is a program of
            TorchScript, or is of a shape that nothing inert can fill.
    """
    reader = SimpleNamespace(
        Unpickler=_InertUnpickler, load=_load, __name__="pipeline.parsers.checkpoints.opened"
    )
    try:
        if not _is_script(path):
            return torch.load(path, map_location="cpu", pickle_module=reader, weights_only=False)
    except (MemoryError, FileNotFoundError):
        raise
    except Exception as error:  # whatever a damaged or foreign file makes of the reader
        reason = str(error).partition("\n")[0][:200]
        raise ValueError(
            f"{path.name}: not a whole file of torch.save ({type(error).__name__}: {reason}); name "
            "a checkpoint that supar or benepar saved, and fetch it again if it was cut short"
        ) from error
    raise ValueError(
        f"{path.name}: a program of TorchScript, which would be run by being read; name a "
        "checkpoint that supar or benepar saved"
    )


def _is_script(path: Path) -> bool:
    """Returns whether a file holds what TorchScript compiles, in the eyes of torch's own reader."""
    with path.open("rb") as stream:
        if stream.read(len(_ZIP_SIGNATURE)) != _ZIP_SIGNATURE:
            return False
    records = torch._C.PyTorchFileReader(str(path)).get_all_records()
    return any(name == "constants.pkl" or name.startswith("code/") for name in records)


class _InertUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Returns one of the few things that may be called, or else an inert class."""
        if (module, name) in _CONTAINERS:
            return _CONTAINERS[module, name]
        if module == "torch" and (name in _TORCH_NAMES or name.endswith("Storage")):
            return getattr(torch, name)
        if module == "torch.storage" and name in {"TypedStorage", "UntypedStorage"}:
            return getattr(torch.storage, name)
        if module == "torch._utils" and name in _REBUILDERS:
            return getattr(torch._utils, name)
        return type("Inert", (Inert,), {"origin": f"{module}.{name}"})


def _load(stream: Any, **options: Any) -> Any:
    """Reads the heads of torch's older format."""
    return _InertUnpickler(stream, **options).load()


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
    found = sorted(map(str, content)) if isinstance(content, dict) else type(content).__name__
    raise ValueError(
        f"{path.name}: neither a parser of supar nor one of benepar, but {found!s:.200}"
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
    try:
        config = json.loads((folder / _RELEASED_CONFIG).read_text(encoding="utf-8"))["benepar"]
        tensors = read_torch_file(weights)
    except (FileNotFoundError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(
            f"{folder.name}: no folder that benepar released, which holds {RELEASED_WEIGHTS} and a "
            f"{_RELEASED_CONFIG} with an entry 'benepar' ({type(error).__name__}: {error})"
        ) from error
    return OpenedCheckpoint("benepar", {"config": config, "state_dict": tensors}, str(folder))


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
            destination = folder / PurePosixPath(member.filename).name
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
