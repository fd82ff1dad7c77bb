"""What a checkpoint of supar or benepar holds, read without torch's own reader.

A checkpoint is a file of ``torch.save``, a released folder, or a zip of either.

A pickle is a program: it names functions of any module, and bytecode beside them, calls them, and
sets attributes on whatever it named. Here it can name nothing of torch or of Python, but stand-ins
that put tensors and plain containers together and take no attributes; every other name becomes an
`Inert` object that remembers its attributes and does nothing. So a checkpoint of another Python
version loads, too, though its bytecode would crash the interpreter.

Only torch's zip format is read. torch's reader takes older formats as well: a tar, of which a hard
link changes another file's mode, and a bare pickle, whose persistent ids can write a file. It also
hands an archive of TorchScript to an interpreter of its own, which runs the methods in it.
"""

from __future__ import annotations

import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from torch import Tensor

from treeviews.pipeline.base.json_files import read_json
from treeviews.pipeline.base.refusal import shortened
from treeviews.pipeline.parsers.parser_files import RELEASED_WEIGHTS

_REMEDY = "name a checkpoint that supar or benepar saved, or fetch it again if it was cut short"
_DTYPES = {
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Float": torch.float32,
    "Double": torch.float64,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Short": torch.int16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Bool": torch.bool,
}
"""What a storage's class is called before ``Storage`` -> the type of its numbers."""

_RELEASED_CONFIG = "config.json"
STAGE_OF_LIBRARY = {"supar": "dependencies", "benepar": "constituents"}


class Inert:
    """Stands for an object of a class that is not looked up: attributes, and no behaviour."""

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


class _Ordered(OrderedDict[Any, Any]):
    """What state dictionaries are; torch keeps notes in attributes, which nobody reads here."""

    def __setstate__(self, state: Any) -> None:
        """Drops the attributes."""


class _Sealed:
    """Takes no attributes from a pickle."""

    name = "a tensor"

    def __setstate__(self, state: Any) -> None:
        raise ValueError(f"it sets attributes of {self.name}")


class _StandIn(_Sealed):
    """Stands for what a pickle may call, or for a class of storages, which persistent ids name."""

    __slots__ = ("name", "target")

    def __init__(self, name: str, target: Callable[..., Any] | torch.dtype) -> None:
        self.name, self.target = name, target

    def __call__(self, *args: Any) -> Any:
        return self.target(*args)  # type: ignore[operator]


class _SealedTensor(_Sealed, Tensor):
    """A tensor or a storage; what torch computes of it is a plain tensor."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]


def read_torch_file(path: Path) -> Any:
    """Returns the object in a file of ``torch.save``, tensors on the CPU, classes as `Inert`.

    Raises:
        ValueError: the file is not in torch's zip format, is cut short, is a program of
            TorchScript, or is of a shape that nothing inert can fill.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _InertUnpickler(archive, path.stat().st_size).load()
    except MemoryError:
        raise
    except Exception as error:  # whatever a damaged or foreign file makes of the reader
        reason = str(error).partition("\n")[0][:200]
        raise ValueError(
            f"{path.name}: not a whole file of torch.save ({type(error).__name__}: {reason}); "
            f"{_REMEDY}"
        ) from error


def _numbers(raw: bytearray, dtype: torch.dtype) -> Tensor:
    whole = len(raw) // dtype.itemsize
    # Of no bytes torch makes no tensor.
    numbers = torch.frombuffer(raw, dtype=dtype, count=whole) if whole else torch.empty(0)
    return numbers.to(dtype).as_subclass(_SealedTensor)


def _tensor(storage: Any, offset: int, size: Any, stride: Any, *_: Any) -> Tensor:
    """Returns a tensor over a storage's numbers, and never more of them than there are."""
    if not isinstance(storage, _SealedTensor):
        raise ValueError("a tensor over something that is no storage")
    if math.prod(size) > len(storage):
        raise ValueError("a tensor of more numbers than its storage has")
    view = torch.as_strided(storage, tuple(size), tuple(stride), offset)
    return view.as_subclass(_SealedTensor)


_STAND_INS: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": _Ordered,
    "builtins.set": set,
    "builtins.frozenset": frozenset,
    "__builtin__.set": set,  # as the pickles of Python 2 and those that it can read say
    "__builtin__.frozenset": frozenset,
    "torch.Size": lambda sizes=(): tuple(sizes),
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
}


class _InertUnpickler(pickle.Unpickler):
    """Reads the pickle of an archive, and the records with the numbers that it names."""

    def __init__(self, archive: zipfile.ZipFile, num_bytes: int) -> None:
        """Checks the list of records of a file of so many bytes."""
        pickles = [name for name in archive.namelist() if PurePosixPath(name).name == "data.pkl"]
        if len(pickles) != 1:
            raise ValueError(f"{len(pickles)} records data.pkl instead of one")
        prefix = pickles[0].removesuffix("data.pkl")
        names = [name.removeprefix(prefix) for name in archive.namelist()]
        if "constants.pkl" in names or any(name.startswith("code/") for name in names):
            raise ValueError("a program of TorchScript, which would be run by being read")
        # They are not compressed and so hold no more.
        if sum(record.file_size for record in archive.infolist()) > num_bytes:
            raise ValueError("records larger than the file")
        if "byteorder" in names and archive.read(f"{prefix}byteorder") != b"little":
            raise ValueError("saved on a machine whose numbers begin at the other end")
        super().__init__(archive.open(pickles[0]))
        self._archive, self._folder = archive, PurePosixPath(pickles[0]).parent / "data"
        self._storages: dict[str, Tensor] = {}

    def persistent_load(self, persistent_id: Any) -> Tensor:
        """Returns the numbers that a persistent id names, in one dimension.

        Raises:
            KeyError: there is no such record.
            ValueError: it names anything else, or more numbers than its record has.
        """
        named = isinstance(persistent_id, tuple) and persistent_id[:1] == ("storage",)
        if not named or len(persistent_id) != 5:
            raise ValueError("it names something of the file that is no storage")
        _, kind, key, _, count = persistent_id
        dtype = kind.target if isinstance(kind, _StandIn) else None
        if not isinstance(dtype, torch.dtype) or not isinstance(count, int):
            raise ValueError("it names a storage of an unknown kind")
        name = str(self._folder / str(key))
        if name not in self._storages:
            self._storages[name] = _numbers(bytearray(self._archive.read(name)), dtype)
        numbers = self._storages[name]
        if numbers.dtype != dtype or not 0 <= count <= len(numbers):
            raise ValueError(f"record {name!r:.80} has {len(numbers)} numbers instead of {count}")
        return numbers

    def find_class(self, module: str, name: str) -> Any:
        """Returns a stand-in of the few things that may be called, or else an inert class."""
        origin = f"{module}.{name}"
        if origin in _STAND_INS:
            return _StandIn(origin, _STAND_INS[origin])
        kind = name.removesuffix("Storage")
        if module == "torch" and name != kind and kind in _DTYPES:
            return _StandIn("a storage's class", _DTYPES[kind])
        return type("Inert", (Inert,), {})


def open_checkpoint(path: Path, scratch: Path) -> tuple[str, dict[str, Any], str]:
    """Returns what a checkpoint holds, of which nothing was run.

    ``supar`` or ``benepar``; supar's state, or of benepar ``config`` and ``state_dict``; and the
    folder with the configuration and tokenizer of the transformer inside, if it came along.

    Args:
        path: a file or folder.
        scratch: empty folder for what a zip holds, made where missing.

    Raises:
        ValueError: it is no checkpoint of either library.
    """
    file = _unpacked(path, scratch) if _is_archive(path) else path
    if file.is_dir():
        return _read_released(file)
    content = read_torch_file(file)
    names = set(content) if isinstance(content, dict) else set()
    if {"name", "args", "state_dict", "transform"} <= names:
        return "supar", {"pretrained": None, **content}, ""
    if {"config", "state_dict"} <= names and "hparams" in content["config"]:
        return "benepar", content, ""
    holds = shortened(list(content)) if isinstance(content, dict) else type(content).__name__
    raise ValueError(
        f"{path.name}: neither a parser of supar nor one of benepar, but {holds}; name a file that "
        f"one of them saved"
    )


def _read_released(folder: Path) -> tuple[str, dict[str, Any], str]:
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
    return "benepar", content, str(folder)


def _is_archive(path: Path) -> bool:
    """Returns whether a file is a zip, but not one of those that ``torch.save`` writes."""
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return not any(PurePosixPath(name).name == "data.pkl" for name in archive.namelist())


def _unpacked(path: Path, folder: Path) -> Path:
    """Unpacks a zip of one file or one folder of files, and returns which."""
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)  # which lets no name lead out of the folder
    files = [file for file in folder.rglob("*") if file.is_file()]
    if len({file.parent for file in files}) != 1:
        raise ValueError(f"{path.name}: a zip of neither one file nor one folder of files")
    return files[0] if len(files) == 1 else files[0].parent
