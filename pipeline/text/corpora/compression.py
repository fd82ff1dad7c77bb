"""Opens plain and compressed files alike, as streams of bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
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
    return io.BufferedReader(cast(io.RawIOBase, raw))


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
