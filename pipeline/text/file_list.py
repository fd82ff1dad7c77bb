"""The files that a user's paths stand for, in a fixed order, opened alike, compressed or not."""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import logging
import lzma
import os
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import zstandard

ERRORS: tuple[type[Exception], ...] = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zstandard.ZstdError,
)
"""What reading a damaged file may raise."""

_ZSTD_INPUT_BYTES = 512
"""Bytes decompressed at once: four can stand for a block of 128 KiB, so these for 16 MiB."""


def without_compression_suffix(path: Path) -> Path:
    """Returns ``a.txt`` for ``a.txt.gz``, and any other path as it is."""
    return path.with_suffix("") if path.suffix.lower() in _READERS else path


def decompressed(stream: BinaryIO, path: Path) -> io.BufferedReader:
    """Returns a buffered reader of the bytes in an open file, by the suffix of its name."""
    open_compressed = _READERS.get(path.suffix.lower())
    raw = stream if open_compressed is None else open_compressed(stream)
    return io.BufferedReader(cast("io.RawIOBase", raw))


class _ZstdReader(io.RawIOBase):
    """Reads zstd frames; unlike the library's own reader it tells a cut file from a whole one."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._frame: Any = None
        self._compressed = b""
        self._ready = io.BytesIO()

    def readable(self) -> bool:
        """Returns True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills ``buffer``; returns the number of bytes, 0 at the end.

        Raises:
            EOFError: the file ends within a frame.
        """
        while not (count := self._ready.readinto(buffer)):
            self._compressed = self._compressed or self._stream.read(_ZSTD_INPUT_BYTES)
            if not self._compressed:
                if self._frame is not None:
                    raise EOFError("the file ends within a zstd frame")
                return 0
            self._frame = self._frame or zstandard.ZstdDecompressor().decompressobj()
            self._ready = io.BytesIO(self._frame.decompress(self._compressed))
            self._compressed = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
        return count


_READERS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda stream: gzip.GzipFile(fileobj=stream),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _ZstdReader,
}


TEXT_SUFFIXES = (".txt", ".text", ".md")
JSON_LINES_SUFFIXES = (".jsonl", ".ndjson")
_READ_SUFFIXES = frozenset(TEXT_SUFFIXES + JSON_LINES_SUFFIXES)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TextFile:
    """One file to read."""

    path: Path
    """Absolute; a symbolic link stays one, since its own name says what it holds."""
    name: str
    """Path below what all files have in common, with forward slashes; bytes that are not UTF-8 are
    escaped, as in ``caf\\xe9.txt``."""

    @property
    def is_json_lines(self) -> bool:
        """Whether every line is a JSON object."""
        return without_compression_suffix(self.path).suffix.lower() in JSON_LINES_SUFFIXES


def list_files(paths: Sequence[str | Path]) -> list[TextFile]:
    """Returns the files of all paths, in the paths' order, a folder's and a glob's files sorted.

    A file that is named outright is read whatever its suffix. Of a folder, searched to any depth,
    hidden files are left out, and so are files that are not named like text and links to nothing,
    which is logged. A file that is reached twice, by links too, is read once, under the name that
    comes first.

    Raises:
        FileNotFoundError: a path or pattern that matches nothing.
        ValueError: no path at all, or one without text files.
    """
    if not paths:
        raise ValueError("source 'files' needs paths: files, folders or globs of your text")
    found: dict[Path, Path] = {}
    for entry in paths:
        for path in _matching(str(entry)):
            found.setdefault(path.resolve(), path.absolute())
    tidy = {path: os.path.abspath(path) for path in found.values()}  # noqa: PTH100 - keeps links
    common = os.path.commonpath([str(Path(path).parent) for path in tidy.values()])
    places = {path: Path(place).relative_to(common).as_posix() for path, place in tidy.items()}
    return [
        TextFile(path, os.fsencode(place).decode("utf-8", "backslashreplace"))
        for path, place in places.items()
    ]


def _matching(entry: str) -> list[Path]:
    """Returns the files of one path or glob, of which at least one must be text."""
    path = Path(entry).expanduser()
    found = glob.glob(str(path), recursive=True)  # noqa: PTH207 - patterns may be absolute
    matches = [path] if path.exists() else [Path(match) for match in sorted(found)]
    if not matches:
        raise FileNotFoundError(f"{entry}: no such file, folder or match; check the path")
    files = [
        file for match in matches for file in (_in_folder(match) if match.is_dir() else [match])
    ]
    if not files:
        raise ValueError(
            f"{entry}: no text in this folder; looked for {', '.join(TEXT_SUFFIXES)} and "
            f"{', '.join(JSON_LINES_SUFFIXES)}, each also compressed (.gz, .bz2, .xz, .zst)"
        )
    return files


def _in_folder(folder: Path) -> list[Path]:
    """Returns the text files of a folder, and logs how many others it holds."""
    visible = [
        path
        for path in folder.rglob("*")
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    dangling = sorted(path for path in visible if path.is_symlink() and not path.exists())
    if dangling:
        logger.warning(
            "%s: %d links lead to no file and are left out (the first: %s); mend or remove them",
            folder,
            len(dangling),
            dangling[0].relative_to(folder),
        )
    shown = [path for path in visible if path.is_file()]
    files = [p for p in shown if without_compression_suffix(p).suffix.lower() in _READ_SUFFIXES]
    if len(files) < len(shown):
        suffixes = Counter(path.suffix.lower() or "no suffix" for path in set(shown) - set(files))
        logger.warning(
            "%s: %d files are not named like text and are left out (%s); name them to read them",
            folder,
            len(shown) - len(files),
            ", ".join(f"{suffix}: {count}" for suffix, count in sorted(suffixes.items())),
        )
    return sorted(files, key=lambda path: path.relative_to(folder).as_posix())
