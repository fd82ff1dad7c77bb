"""Files that appear whole or not at all; JSON that knows its own sha256 and those of files."""

from __future__ import annotations

import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from treeviews.pipeline.base.atomic_files import write_by_library, write_bytes_atomically
from treeviews.pipeline.base.json_files import (
    FILES,
    check_file,
    read_json,
    sealed,
    write_sealed_json,
)

VALUE = {"b": [1, 2.5, None], "a": {"ü": "é", "x": 1e-300}, "7": True}


def test_a_full_disk_is_named_with_the_file_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(OSError, match=r"No space left on device: '.*/a\.json'"):
        write_bytes_atomically(tmp_path / "a.json", b"{}")

    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    file, link, pipe = (tmp_path / name for name in ("file", "link", "pipe"))
    file.write_bytes(b"old")
    link.symlink_to(file)
    os.mkfifo(pipe)

    write_bytes_atomically(link, b"new")
    with ThreadPoolExecutor() as threads:
        content = threads.submit(pipe.read_bytes)
        write_bytes_atomically(pipe, b"streamed")
        assert content.result() == b"streamed"

    assert link.is_symlink() and file.read_bytes() == b"new"
    assert pipe.is_fifo()
    with pytest.raises(IsADirectoryError):
        write_bytes_atomically(tmp_path, b"")


def test_whoever_ends_last_wins_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def write_beside_another(temporary: Path) -> None:
        write_bytes_atomically(path, b"another's")
        temporary.write_bytes(b"mine")

    write_by_library(path, write_beside_another)

    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"mine"]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_whoever_may_read_other_files_may_read_weights(tmp_path: Path, umask: int) -> None:
    former = os.umask(umask)
    try:
        write_by_library(tmp_path / "file", partial(save_file, {"a": np.zeros(1)}))
    finally:
        os.umask(former)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_library_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_by_library(path, partial(save_file, {"a": np.zeros(1)}))
    before = path.read_bytes()

    def fail(temporary: Path) -> None:
        temporary.write_bytes(b"half")
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        write_by_library(path, fail)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path, rows = tmp_path / "a.json", tmp_path / "rows.bin"
    rows.write_bytes(b"rows")
    write_sealed_json(path, VALUE, [rows])

    found = read_json(path, remedy="again")

    assert found.pop(FILES).keys() == {"rows.bin"}
    assert found == VALUE
    check_file(rows, read_json(path, remedy="again"), "again")
    check_file(tmp_path / "not-known", found, "again")


def test_every_flipped_bit_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_sealed_json(path, VALUE)
    content = path.read_bytes()
    refused = 0
    for place in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            try:
                found = read_json(path, remedy="write it again")
            except ValueError as error:
                assert str(error).startswith(f"{path}: ")
                assert str(error).endswith("; write it again")
                refused += 1
            else:
                known = {key: value for key, value in found.items() if key in VALUE}
                assert known == VALUE

    assert refused > 6 * len(content)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("\ud800", "not JSON"),
        ("[" * 100_000, "JSON that nests too deeply"),
        (json.dumps({FILES: {"a": ["0"]}}), r"damaged or edited \(file_sha256 must be an object"),
        (json.dumps(sealed({"a": 1}) | {"a": 2}), "damaged or edited"),
    ],
)
def test_what_is_no_json_of_ours_is_named(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))

    with pytest.raises(ValueError, match=rf"a\.json: {reason}.*; write it again"):
        read_json(path, remedy="write it again")


def test_a_damaged_file_is_named_with_the_remedy(tmp_path: Path) -> None:
    path, rows = tmp_path / "a.json", tmp_path / "rows.bin"
    rows.write_bytes(b"rows")
    write_sealed_json(path, {}, [rows])
    rows.write_bytes(b"sows")

    with pytest.raises(ValueError, match=r"rows\.bin: damaged or of another run.*; train again"):
        check_file(rows, read_json(path, remedy="again"), "train again")
    rows.unlink()
    with pytest.raises(FileNotFoundError):
        check_file(rows, read_json(path, remedy="again"), "train again")
