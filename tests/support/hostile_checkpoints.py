"""Files that say they are checkpoints of supar or benepar, and are traps or wrecks instead."""

from __future__ import annotations

import io
import pickle
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
_REBUILDER = b"ctorch._utils\n_rebuild_tensor_v2\n"
"""The opcode that names one of torch's functions."""


def torch_zip(path: Path, program: bytes, records: Mapping[str, bytes] | None = None) -> Path:
    """Writes a file of torch's zip format with this pickle and these records; returns its path."""
    with zipfile.ZipFile(path, "w") as archive:
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


def module_program(target: Path) -> bytes:
    """Returns a pickle with a persistent id by which torch's older reader writes to a path."""
    container = _text("module") + _renamed(target) + _text("some.py") + _text("planted")
    return b"\x80\x02(" + container + b"tQ."


def legacy_file(path: Path, program: bytes) -> Path:
    """Writes a file of torch's format before the zip one; returns its path."""
    machine = {
        "protocol_version": _PROTOCOL,
        "little_endian": True,
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    heads = b"".join(pickle.dumps(head, 2) for head in (_MAGIC, _PROTOCOL, machine))
    path.write_bytes(heads + program + pickle.dumps([], 2))
    return path


def tar_file(path: Path, victim: Path) -> Path:
    """Writes a file of torch's oldest format whose first member is a hard link to a victim."""
    with tarfile.open(path, "w:") as archive:
        link = tarfile.TarInfo("storages")
        link.type, link.linkname, link.mode, link.mtime = tarfile.LNKTYPE, str(victim), 0o4777, 0
        archive.addfile(link)
        for name in ("tensors", "pickle"):
            member = tarfile.TarInfo(name)
            content = pickle.dumps(0, 2)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


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
