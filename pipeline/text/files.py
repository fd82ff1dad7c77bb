"""The user's own text: plain files, one document each, and JSON lines, one document a line."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, TypeVar

from pipeline.base.config_fields import Config, Count
from pipeline.base.digest import remembered_sha256
from pipeline.base.refusal import Refusal, excerpt_of
from pipeline.text.file_list import TextFile, decompressed, list_files
from pipeline.text.paragraphs import (
    Document,
    Line,
    ParagraphMode,
    paragraphs_of,
    read_lines,
)

T = TypeVar("T")

JSON_LINE_FACTOR = 100
"""A line of JSON holds a whole document, so it may be this many times a paragraph's limit."""


@dataclass(frozen=True, slots=True)
class FilesConfig(Config):
    """How files are read."""

    called: ClassVar[str] = "text setting"

    paragraphs: ParagraphMode = "blank-line"
    text_field: str = "text"
    encoding: str = "utf-8"
    max_paragraph_characters: Count = 100_000

    def _check_together(self) -> None:
        try:
            "".encode(self.encoding)
        except LookupError as error:
            raise ValueError(
                f"encoding {self.encoding!r} is no text encoding; try utf-8"
            ) from error


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
            **self._config.to_dict(),
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
        config, limit = self._config, self._config.max_paragraph_characters
        lines = read_lines(
            decompressed(stream, file.path),
            file.name,
            encoding=config.encoding,
            max_characters=limit * JSON_LINE_FACTOR if file.is_json_lines else limit,
        )
        empty = Refusal("empty_file", "holds no text; remove it from the paths", file.name)
        if file.is_json_lines:
            documents = _json_documents(lines, file.name, config)
            yield from self._counted(documents, stream, before, Document(file.name, [empty]))
        else:
            paragraphs = paragraphs_of(lines, file.name, config.paragraphs, max_characters=limit)
            yield Document(file.name, self._counted(paragraphs, stream, before, empty))

    def _counted(self, items: Iterator[T], stream: BinaryIO, before: int, empty: T) -> Iterator[T]:
        """Passes on what a file holds, or ``empty``, keeping count of the bytes read."""
        found = False
        for item in items:
            found = True
            if not stream.closed:
                self._bytes_read = before + stream.tell()
            yield item
        if not found:
            yield empty


def _json_documents(
    lines: Iterable[Line | Refusal], name: str, config: FilesConfig
) -> Iterator[Document]:
    """Yields one document a line of JSON; blank lines are passed over.

    A line that is no JSON object (``bad_json``), or has no text in its field (``missing_text``,
    ``empty_text``), gives a document of one refusal. A paragraph's position is the file, the line
    in it and the line in the text, as ``a.jsonl:3:1``.
    """
    for line in lines:
        if isinstance(line, Refusal):
            yield Document(line.position, [line])
        elif line.text.strip():
            position = f"{name}:{line.number}"
            text = _text_field(line.text, position, config.text_field)
            if isinstance(text, Refusal):
                yield Document(position, [text])
                continue
            text_lines = (
                Line(number, text_line.rstrip("\n"))
                for number, text_line in enumerate(io.StringIO(text, newline=None), start=1)
            )
            limit = config.max_paragraph_characters
            paragraphs = paragraphs_of(
                text_lines, position, config.paragraphs, max_characters=limit
            )
            yield Document(position, paragraphs)


def _text_field(line: str, position: str, text_field: str) -> str | Refusal:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of 5,000 digits
        return Refusal("bad_json", f"not JSON ({error}); mend the line", position, excerpt_of(line))
    text = value.get(text_field) if isinstance(value, dict) else None
    if not isinstance(text, str):
        detail = f"no text in field {text_field!r}; set text_field to the field that holds it"
        return Refusal("missing_text", detail, position, excerpt_of(line))
    if not text.strip():
        return Refusal("empty_text", f"field {text_field!r} is empty", position, excerpt_of(line))
    return text


def _content_of(path: Path) -> str:
    """Returns a file's sha256, or ``unreadable``."""
    try:
        return remembered_sha256(path)
    except OSError:
        return "unreadable"
