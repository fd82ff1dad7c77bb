"""The files that a user's paths stand for, in a fixed order, opened alike, compressed or not."""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import logging
import lzma
import os
import stat
import tarfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Literal, TypeVar, cast

import zstandard

from pipeline.base.foreign_text import printable, told

P = TypeVar("P", bound=PurePath)

ERRORS: tuple[type[Exception], ...] = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zstandard.ZstdError,
    tarfile.TarError,
)
"""What reading a damaged file may raise."""

_ZSTD_INPUT_BYTES = 512
"""Bytes decompressed at once: four can stand for a block of 128 KiB, so these for 16 MiB."""


def without_compression_suffix(path: P) -> P:
    """Returns ``a.txt`` for ``a.txt.gz``, and any other path as it is; of ``a.tgz``, ``a.tar``."""
    if path.suffix.lower() == ".tgz":
        return path.with_suffix(".tar")
    return path.with_suffix("") if is_compressed(path) else path


def is_compressed(path: PurePath) -> bool:
    """Returns whether a file's name says that it is compressed."""
    return path.suffix.lower() in _READERS


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
    ".tgz": lambda stream: gzip.GzipFile(fileobj=stream),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _ZstdReader,
}


Format = Literal["text", "json-lines", "csv", "tsv", "parquet", "arrow", "tar"]
"""What a file holds; all but Parquet and Arrow may be compressed."""
SUFFIXES: Mapping[Format, tuple[str, ...]] = {
    "text": (".txt", ".text", ".md"),
    "json-lines": (".jsonl", ".ndjson"),
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".arrows", ".feather", ".ipc"),
    "tar": (".tar",),
}
"""What the names of files end in, by what they hold."""
_FURTHER_SUFFIXES: Mapping[str, tuple[str, ...]] = {"json-lines": (".json",)}
"""Those that may hold something else, unless somebody says what they hold."""
_SUFFIX_CHARACTERS = 20
_MOST_REASONS = 30

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TextFile:
    """One file to read."""

    path: Path
    """Absolute; a symbolic link stays one, since its own name says what it holds."""
    name: str
    """Path below what all files have in common, with forward slashes; bytes that are not UTF-8 are
    escaped, as in ``caf\\xe9.txt``."""


@dataclass(frozen=True, slots=True)
class FileList:
    """What paths stand for."""

    files: tuple[TextFile, ...]
    left_out: Mapping[str, int]
    """How many files and folders were met and left out, by reason."""


def format_of(path: Path) -> Format:
    """Returns what a file holds by its name; where that says nothing, text."""
    suffix = without_compression_suffix(path).suffix.lower()
    return next((kind for kind, suffixes in SUFFIXES.items() if suffix in suffixes), "text")


def why_not_text(path: PurePath, known: Collection[str], read: Container[str]) -> str:
    """Returns why a file of a folder or an archive is not read; "" where it is.

    Args:
        known: reasons that others had; there are no more than some ten of them.
        read: the suffixes of files that are read.
    """
    if without_compression_suffix(path).suffix.lower() in read:
        return ""
    suffix = printable(path.suffix.lower())[:_SUFFIX_CHARACTERS] or "no suffix"
    reason = f"not named like text ({suffix})"
    if reason not in known and len(known) >= _MOST_REASONS:
        return "not named like text (other suffixes)"
    return reason


def list_files(paths: Sequence[str | Path], declared: Format | None = None) -> FileList:
    """Returns the files of all paths, in the paths' order, a folder's and a glob's files sorted.

    A file that is named outright is read whatever its suffix. Of a folder, searched to any depth,
    what is hidden, not named like text, a link to nothing or to a folder, or no regular file (a
    pipe, a socket, a device) is left out, which is counted and logged. A file that is
    reached twice, by links too, is read once, under the name that comes first.

    Args:
        declared: what all files hold, so that a folder's others are left out.

    Raises:
        FileNotFoundError: a path or pattern that matches nothing.
        PermissionError: a folder cannot be searched.
        ValueError: no path at all, one without text files, or one that is no regular file.
    """
    if not paths:
        raise ValueError("source 'files' needs paths: files, folders or globs of your text")
    search = _Search(declared)
    for entry in paths:
        search.take(str(entry))
    search.log()
    tidy = {path: os.path.abspath(path) for path in search.found.values()}  # noqa: PTH100 - keeps links
    common = os.path.commonpath([str(Path(path).parent) for path in tidy.values()])
    places = {path: Path(place).relative_to(common).as_posix() for path, place in tidy.items()}
    files = (
        TextFile(path, os.fsencode(place).decode("utf-8", "backslashreplace"))
        for path, place in places.items()
    )
    return FileList(tuple(files), dict(sorted(search.left_out.items())))


class _Search:
    """What was found so far, and what was left out."""

    def __init__(self, declared: Format | None) -> None:
        formats = [declared] if declared else SUFFIXES
        self._suffixes = [suffix for kind in formats for suffix in SUFFIXES[kind]]
        self._suffixes += _FURTHER_SUFFIXES.get(declared or "", ())
        self.found: dict[Path, Path] = {}
        """Absolute paths, by what they lead to."""
        self.left_out: Counter[str] = Counter()
        self._examples: dict[str, Path] = {}

    def take(self, entry: str) -> None:
        """Adds the files of one path or glob, of which at least one must be text."""
        path = Path(entry).expanduser()
        named = os.path.exists(path)  # noqa: PTH110 - of what can be no path it says so, too
        found = [] if named else glob.glob(str(path), recursive=True)  # noqa: PTH207 - may be absolute
        matches = [path] if named else [Path(match) for match in sorted(found)]
        files: list[Path] = []
        if not matches:
            raise FileNotFoundError(f"{told(entry)}: no such file, folder or match; check the path")
        for match in matches:
            if match.is_dir():
                files += self._in_folder(match)
            elif named and not match.is_file():
                raise ValueError(
                    f"{told(entry)}: {_kind_of(match)}, and no regular file; copy its text to one"
                )
            elif self._is_regular(match):
                files.append(match)
        if not files:
            raise ValueError(
                f"{told(entry)}: no text in this folder; looked for {', '.join(self._suffixes)}, "
                "each also compressed (.gz, .bz2, .xz, .zst)"
                f"{self._left_out_in_words()}"
            )
        for file in files:
            self.found.setdefault(file.resolve(), file.absolute())

    def log(self) -> None:
        """Logs what was left out, by reason with an example."""
        if self.left_out:
            logger.warning(
                "%s; name a file outright to read it", self._left_out_in_words().lstrip("; ")
            )

    def _left_out_in_words(self) -> str:
        counts = (
            f"{reason}: {count} (such as {told(self._examples[reason])})"
            for reason, count in sorted(self.left_out.items())
        )
        return f"; left out: {', '.join(counts)}" if self.left_out else ""

    def _leave_out(self, path: Path, reason: str) -> None:
        self.left_out[reason] += 1
        self._examples.setdefault(reason, path)

    def _is_regular(self, path: Path) -> bool:
        """Returns whether a path is a regular file, and counts it if it is not."""
        if path.is_file():
            return True
        dangling = path.is_symlink() and not path.exists()
        self._leave_out(path, "link to nothing" if dangling else _kind_of(path))
        return False

    def _in_folder(self, folder: Path) -> list[Path]:
        """Returns the text files of a folder.

        Raises:
            OSError: a folder in it cannot be searched.
        """
        files: list[Path] = []
        for place, folders, names in os.walk(folder, onerror=_refuse):
            for name in list(folders):
                path = Path(place, name)
                if name.startswith(".") or path.is_symlink():
                    folders.remove(name)
                    self._leave_out(path, "hidden" if name.startswith(".") else "link to a folder")
            for name in names:
                path = Path(place, name)
                if name.startswith("."):
                    self._leave_out(path, "hidden")
                elif self._is_regular(path) and self._is_named_like_text(path):
                    files.append(path)
        return sorted(files, key=lambda path: path.relative_to(folder).as_posix())

    def _is_named_like_text(self, path: Path) -> bool:
        if reason := why_not_text(path, self.left_out, self._suffixes):
            self._leave_out(path, reason)
        return not reason


def _refuse(error: OSError) -> None:
    raise error


def _kind_of(path: Path) -> str:
    """Returns what a path is that is no regular file, in words."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return f"cannot be looked at ({error.strerror})"
    kinds = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device"}
    return kinds.get(stat.S_IFMT(mode), "a device")
