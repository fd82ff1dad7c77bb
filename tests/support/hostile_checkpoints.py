"""Files that say they are checkpoints of supar or benepar, and are traps or wrecks instead."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_REBUILDER = b"ctorch._utils\n_rebuild_tensor_v2\n"
"""The opcode that names one of torch's functions."""


def torch_zip(
    path: Path,
    program: bytes,
    records: Mapping[str, bytes] | None = None,
    compression: int = zipfile.ZIP_STORED,
) -> Path:
    """Writes a file of torch's zip format with this pickle and these records; returns its path."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", program)
        for name, content in (records or {}).items():
            archive.writestr(f"archive/{name}", content)
        archive.writestr("archive/version", b"3\n")
    return path


def tensor_program(size: tuple[int, ...], count: int) -> bytes:
    """Returns a pickle of one float32 tensor of this size over a storage of so many numbers."""
    storage = b"(" + _text("storage") + b"ctorch\nFloatStorage\n" + _text("0") + _text("cpu")
    storage += _value(count) + b"tQ"
    stride = tuple([1] * len(size))
    arguments = b"(" + storage + _value(0) + _value(size) + _value(stride) + b"\x89}t"
    return b"\x80\x02" + _REBUILDER + arguments + b"R."


def attribute_program(target: Path) -> bytes:
    """Returns a pickle that renames a function of torch to a path and makes it dump patches."""
    return b"\x80\x02" + _renamed(target) + b"."


def _renamed(target: Path) -> bytes:
    state = _value({"dump_patches": True, "__name__": str(target)})
    return _REBUILDER + b"N" + state + b"\x86b"


def _text(text: str) -> bytes:
    return b"X" + len(text.encode()).to_bytes(4, "little") + text.encode()


def _value(value: Any) -> bytes:
    """Returns the opcodes of a plain value; nothing of it is kept for later use."""
    pickled = io.BytesIO()
    writer = pickle.Pickler(pickled, 2)
    writer.fast = True
    writer.dump(value)
    return pickled.getvalue()[2:-1]
