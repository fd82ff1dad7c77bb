"""Files of text: which ones a user's paths stand for, how they are opened, whether they changed."""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import logging
import lzma
import os
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, BinaryIO, ClassVar, Literal, NamedTuple, TypeVar, cast

import pyarrow as pa

from treeviews.pipeline.base.digest import remembered_sha256
from treeviews.pipeline.base.foreign_text import printable, told
from treeviews.pipeline.base.settings import Count, Settings
from treeviews.pipeline.text.documents import ChangedTextError, ParagraphMode

P = TypeVar("P", bound=PurePath)

logger = logging.getLogger(__name__)

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
UNREADABLE = "unreadable"
"""Stands for the sha256 of what cannot be read."""
_STATEFUL = re.compile(r"utf[-_]?7|iso[-_]?2022|hz", re.IGNORECASE)
_SUFFIX_CHARACTERS = 20
_IRREGULAR = "no regular file"

_READERS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda stream: gzip.GzipFile(fileobj=stream),
    ".tgz": lambda stream: gzip.GzipFile(fileobj=stream),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": lambda stream: pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd"),
}


def is_compressed(path: PurePath) -> bool:
    """Returns whether a file's name says that it is compressed."""
    return path.suffix.lower() in _READERS


def decompressed(stream: BinaryIO, path: Path) -> io.BufferedReader:
    """Returns a buffered reader of the bytes in an open file, by the suffix of its name."""
    open_compressed = _READERS.get(path.suffix.lower())
    raw = stream if open_compressed is None else open_compressed(stream)
    return io.BufferedReader(cast("io.RawIOBase", raw))


def without_compression_suffix(path: P) -> P:
    """Returns ``a.txt`` for ``a.txt.gz``, and any other path as it is; of ``a.tgz``, ``a.tar``."""
    if path.suffix.lower() == ".tgz":
        return path.with_suffix(".tar")
    return path.with_suffix("") if is_compressed(path) else path


def unlike_text(path: PurePath) -> str:
    """Returns the reason why a file is left out whose name does not say that it is text."""
    suffix = printable(path.suffix.lower())[:_SUFFIX_CHARACTERS]
    return f"not named like text ({suffix or 'no suffix'})"


class TextFile(NamedTuple):
    """One file to read, and what it was when its source was described."""

    path: Path
    """Absolute; a symbolic link stays one, since its own name says what it holds."""
    name: str
    """Path below what all files have in common, with forward slashes; bytes that are not UTF-8 are
    escaped, as in ``caf\\xe9.txt``."""
    sha256: str = ""
    """`UNREADABLE` where it could not be read; empty before its source is described."""
    num_bytes: int = 0
    modified_ns: int = 0

    def as_it_is(self) -> TextFile:
        """Returns the file as it is now; one of the size and time that it had is not read."""
        try:
            stat = self.path.stat()
            known = stat.st_size, stat.st_mtime_ns
            if self.sha256 and known == self[3:]:
                return self
            return TextFile(self.path, self.name, remembered_sha256(self.path), *known)
        except OSError:
            return TextFile(self.path, self.name, UNREADABLE)

    def check_unchanged(self) -> None:
        """Refuses the file if it is not what was described.

        Raises:
            ChangedTextError: names it.
        """
        if self.sha256 and (now := self.as_it_is().sha256) != self.sha256:
            raise ChangedTextError(
                f"{told(self.path)}: gone, or changed since it was described (sha256 "
                f"{self.sha256[:12]} then, {now[:12]} now); put it back, or start a run anew when "
                "nobody writes to it"
            )


def list_files(
    paths: Sequence[str | Path], declared: Literal["by-suffix"] | Format = "by-suffix"
) -> tuple[list[TextFile], Counter[str]]:
    """Returns the files of all paths, and how many others were met, by reason.

    They stand in the paths' order, a folder's and a glob's files sorted. A file that is named
    outright is read whatever its suffix. Of a folder, searched to any depth, what is hidden, not
    named like text, a link to a folder, or no regular file is left out, which is logged. A file
    that is reached twice, by links too, is read once, under the name that comes first.

    Args:
        declared: what all files hold, so that a folder's others are left out.

    Raises:
        FileNotFoundError: a path or pattern that matches nothing.
        PermissionError: a folder cannot be searched.
        ValueError: no path at all, or one without text files.
    """
    if not paths:
        raise ValueError("source 'files' needs paths: files, folders or globs of your text")
    formats = list(SUFFIXES) if declared == "by-suffix" else [declared]
    suffixes = [suffix for kind in formats for suffix in SUFFIXES[kind]]
    suffixes += _FURTHER_SUFFIXES.get(declared, ())
    chosen: dict[Path, Path] = {}
    left_out = Counter[str]()
    for entry in paths:
        files = list(_files_of(str(entry), suffixes, left_out))
        if not files:
            raise ValueError(
                f"{told(entry)}: no text in this folder; looked for {', '.join(suffixes)}, each "
                f"also compressed (.gz, .bz2, .xz, .zst); left out: "
                f"{_counts(left_out) or 'nothing'}"
            )
        for file in files:
            chosen.setdefault(file.resolve(), Path(os.path.abspath(file)))  # noqa: PTH100 - keeps links
    if left_out:
        logger.warning("left out: %s; name a file outright to read it", _counts(left_out))
    common = os.path.commonpath([path.parent for path in chosen.values()])
    names = [path.relative_to(common).as_posix() for path in chosen.values()]
    escaped = [os.fsencode(name).decode("utf-8", "backslashreplace") for name in names]
    return list(map(TextFile, chosen.values(), escaped)), left_out


def _counts(left_out: Counter[str]) -> str:
    return ", ".join(f"{reason}: {count}" for reason, count in sorted(left_out.items()))


def _files_of(entry: str, suffixes: Container[str], left_out: Counter[str]) -> Iterator[Path]:
    """Yields the files of one path or glob."""
    path = Path(entry).expanduser()
    matches = [path]
    if not os.path.exists(path):  # noqa: PTH110 - of what can be no path it says so, too
        matches = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207 - may be absolute
    if not matches:
        raise FileNotFoundError(f"{told(entry)}: no such file, folder or match; check the path")
    for match in matches:
        if match.is_dir():
            found = _files_in(match, suffixes, left_out)
            yield from sorted(found, key=lambda file: file.relative_to(match).as_posix())
        elif match.is_file():
            yield match
        else:
            left_out[_IRREGULAR] += 1


def _files_in(folder: Path, suffixes: Container[str], left_out: Counter[str]) -> Iterator[Path]:
    """Yields the text files of a folder.

    Raises:
        OSError: a folder in it cannot be searched.
    """
    for place, folders, names in os.walk(folder, onerror=_refuse):
        for path in [Path(place, name) for name in (*folders, *names)]:
            reason = ""
            if path.name.startswith("."):
                reason = "hidden"
            elif path.is_dir():
                reason = "link to a folder" if path.is_symlink() else ""
            elif not path.is_file():
                reason = _IRREGULAR if path.exists() else "link to nothing"
            elif without_compression_suffix(path).suffix.lower() in suffixes:
                yield path
            else:
                reason = unlike_text(path)
            if reason:
                left_out[reason] += 1
                folders[:] = [name for name in folders if name != path.name]


def _refuse(error: OSError) -> None:
    raise error


class FilesConfig(Settings):
    """How files are read."""

    called: ClassVar[str] = "text setting"

    paragraphs: ParagraphMode = "blank-line"
    text_field: str = "text"
    encoding: str = "utf-8"
    max_paragraph_characters: Count = 100_000
    format: Literal["by-suffix"] | Format = "by-suffix"
    """What files hold, where their names do not say it."""

    def format_of(self, path: Path) -> Format:
        """Returns what a file holds; where neither this nor its name says it, text."""
        if self.format != "by-suffix":
            return self.format
        suffix = without_compression_suffix(path).suffix.lower()
        return next((kind for kind, suffixes in SUFFIXES.items() if suffix in suffixes), "text")

    @property
    def is_recoded(self) -> bool:
        """Whether text is taken as UTF-8, as it cannot be read from the middle on."""
        return bool(_STATEFUL.match(self.encoding)) or "\n".encode(self.encoding) != b"\n"

    def _check_together(self) -> None:
        try:
            "".encode(self.encoding)
        except LookupError as error:
            raise ValueError(
                f"encoding {self.encoding!r} is no text encoding; try utf-8"
            ) from error
