"""Reads what ``torch.save`` wrote without running anything that the file asks for.

A pickle is a program: it names functions of any module, and bytecode beside them, and calls them.
Here it may call what puts tensors and plain containers together, and no more; every other name
becomes an `Inert` object that remembers its attributes and does nothing. So a checkpoint of another
Python version loads, too, though its bytecode would crash the interpreter. A TorchScript archive is
refused: ``torch.load`` hands it to an interpreter of its own, which runs the methods in it.
"""

from __future__ import annotations

import collections
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

_CONTAINERS = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("builtins", "set"): set,
    ("builtins", "frozenset"): frozenset,
}
_TORCH_NAMES = frozenset({"Size", "device", "float16", "bfloat16", "float32", "float64", "int64"})
_ZIP_SIGNATURE = b"PK\x03\x04"
_REBUILDERS = frozenset({"_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_parameter"})


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
        Unpickler=_InertUnpickler, load=_load, __name__="pipeline.parsers.checkpoints.inert_pickle"
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
