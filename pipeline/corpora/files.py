"""The user's own text: plain files, one document each, and JSON lines, one document a line."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, get_args

from pipeline.corpora.compression import decompressed
from pipeline.corpora.document import Document, Paragraph
from pipeline.corpora.file_list import TextFile, list_files
from pipeline.corpora.json_lines import documents_of
from pipeline.corpora.paragraphs import ParagraphMode, paragraphs_of
from pipeline.corpora.text_lines import read_lines
from pipeline.digest import sha256_of_file
from pipeline.refusal import Refusal

JSON_LINE_FACTOR = 100
"""A line of JSON holds a whole document, so it may be this many times a paragraph's limit."""


@dataclass(frozen=True, slots=True)
class FilesConfig:
    """How files are read."""

    paragraphs: ParagraphMode = "blank-line"
    text_field: str = "text"
    encoding: str = "utf-8"
    max_paragraph_characters: int = 100_000

    def __post_init__(self) -> None:
        if self.paragraphs not in get_args(ParagraphMode):
            known = " or ".join(get_args(ParagraphMode))
            raise ValueError(f"paragraphs is {self.paragraphs!r}; must be {known}")
        try:
            "".encode(self.encoding)
        except LookupError as error:
            raise ValueError(
                f"encoding {self.encoding!r} is no text encoding; try utf-8"
            ) from error
        if self.max_paragraph_characters < 1:
            raise ValueError("max_paragraph_characters must be at least 1")


class TextFiles:
    """Text files, folders and globs as a source.

    Args:
        paths: what to read, in this order; see `list_files`.
        config: how.

    Raises:
        FileNotFoundError: a path that does not exist.
        ValueError: no path, or a folder without text.
    """

    def __init__(self, paths: Sequence[str | Path], config: FilesConfig | None = None) -> None:
        self._files = list_files(paths)
        self._config = config or FilesConfig()
        self._total_bytes = sum(file.path.stat().st_size for file in self._files)
        self._bytes_read = 0

    def describe(self) -> dict[str, Any]:
        """Returns a checksum of all names and contents, and how they are read.

        A file that cannot be read counts as such, and is refused when its turn comes.
        """
        digest = hashlib.sha256()
        for file in self._files:
            digest.update(f"{file.name}\0{_content_of(file.path)}\0".encode())
        return {
            "source": "files",
            "num_files": len(self._files),
            "sha256": digest.hexdigest(),
            "paragraphs": self._config.paragraphs,
            "text_field": self._config.text_field,
            "encoding": self._config.encoding,
            "max_paragraph_characters": self._config.max_paragraph_characters,
        }

    def documents(self) -> Iterator[Document]:
        """Yields the documents of all files; a file without any gives one refusal."""
        before = 0
        for file in self._files:
            self._bytes_read = before
            try:
                with file.path.open("rb") as stream:
                    yield from self._documents_of(file, stream, before)
            except OSError as error:
                detail = f"cannot be opened ({error}); check its permissions"
                yield Document(file.name, [Refusal("unreadable_file", detail, file.name)])
            before += file.path.stat().st_size
        self._bytes_read = self._total_bytes

    def fraction_read(self) -> float:
        """Returns the share of the files' (compressed) bytes read."""
        return self._bytes_read / max(self._total_bytes, 1)

    def _documents_of(self, file: TextFile, stream: BinaryIO, before: int) -> Iterator[Document]:
        config = self._config
        limit = config.max_paragraph_characters
        lines = read_lines(
            decompressed(stream, file.path),
            file.name,
            encoding=config.encoding,
            max_characters=limit * JSON_LINE_FACTOR if file.is_json_lines else limit,
        )
        if not file.is_json_lines:
            paragraphs = paragraphs_of(lines, file.name, config.paragraphs, max_characters=limit)
            yield Document(file.name, self._counted(paragraphs, file, stream, before))
            return
        empty = True
        for document in documents_of(
            lines,
            file.name,
            text_field=config.text_field,
            mode=config.paragraphs,
            max_characters=limit,
        ):
            empty = False
            self._bytes_read = before + stream.tell()
            yield document
        if empty:
            yield Document(file.name, [_empty(file)])

    def _counted(
        self,
        paragraphs: Iterator[Paragraph | Refusal],
        file: TextFile,
        stream: BinaryIO,
        before: int,
    ) -> Iterator[Paragraph | Refusal]:
        """Passes paragraphs on, keeping count of the bytes read."""
        empty = True
        for paragraph in paragraphs:
            empty = False
            if not stream.closed:
                self._bytes_read = before + stream.tell()
            yield paragraph
        if empty:
            yield _empty(file)


def _empty(file: TextFile) -> Refusal:
    return Refusal("empty_file", "holds no text; remove it from the paths", file.name)


def _content_of(path: Path) -> str:
    """Returns a file's sha256, or ``unreadable``."""
    try:
        stat = path.stat()
        return _checksum(path, stat.st_size, stat.st_mtime_ns)
    except OSError:
        return "unreadable"


@functools.lru_cache(maxsize=100_000)
def _checksum(path: Path, size: int, modified_ns: int) -> str:
    """Returns a file's sha256, computed once a process while size and time stay the same."""
    del size, modified_ns
    return sha256_of_file(path)
