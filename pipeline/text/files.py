"""The user's own text: plain files, one document each, and JSON lines, one document a line."""

from __future__ import annotations

import hashlib
import io
import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pipeline.base.config_fields import Config, Count
from pipeline.base.digest import remembered_sha256
from pipeline.base.foreign_text import told
from pipeline.base.refusal import Refusal, excerpt_of
from pipeline.text.file_list import TextFile, decompressed, list_files
from pipeline.text.paragraphs import (
    ChangedTextError,
    Document,
    Line,
    ParagraphMode,
    paragraphs_of,
    read_lines,
)

logger = logging.getLogger(__name__)

T = TypeVar("T")

UNREADABLE = "unreadable"
"""Stands for the sha256 of what cannot be read."""
_BLOCK_BYTES = 1 << 16

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


class _HashedFile(io.RawIOBase):
    """A file's bytes, of which the sha256 is taken while they are read."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw, self._sha256 = raw, hashlib.sha256()
        self.num_bytes = 0

    def readable(self) -> bool:
        """Returns True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills ``buffer``; returns the number of bytes, 0 at the end."""
        count = self._raw.readinto(buffer) or 0
        self._sha256.update(memoryview(buffer)[:count])
        self.num_bytes += count
        return count

    def sha256_of_all(self, most_bytes: int) -> str:
        """Returns the sha256 of the whole file, the rest of which is read; hexadecimal.

        Args:
            most_bytes: where there are more, as in a file that grows, these are enough.
        """
        block = bytearray(_BLOCK_BYTES)
        while self.num_bytes <= most_bytes and self.readinto(block):
            pass
        return self._sha256.hexdigest()


class TextFiles:
    """Text files, folders and globs as a source.

    What `describe` announced is what `documents` yields, or nothing is: a file that was changed in
    between is noticed when it has been read.

    Args:
        paths: what to read, in this order; see `list_files`.
        config: how.

    Raises:
        FileNotFoundError: a path that does not exist.
        ValueError: no path, a folder without text, or what is no regular file.
    """

    def __init__(self, paths: Sequence[str | Path], config: FilesConfig | None = None) -> None:
        listed = list_files(paths)
        self._files, self._left_out = listed.files, listed.left_out
        self._config = config or FilesConfig()
        self._sizes = {file: file.path.stat().st_size for file in self._files if not file.unlisted}
        self._announced: dict[TextFile, str] = {}
        self._bytes_read = 0
        self._reading: tuple[TextFile, _HashedFile] | None = None

    def describe(self) -> dict[str, Any]:
        """Returns a checksum of all names and contents, and how they are read.

        A file that cannot be read counts as such, and is refused when its turn comes. Every call
        tells of the contents that the first one found.
        """
        if not self._announced:
            self._announced = {file: _content_of(file) for file in self._files}
        digest = hashlib.sha256()
        for file, content in self._announced.items():
            digest.update(f"{file.name}\0{content}\0".encode())
        return {
            "source": "files",
            "num_files": len(self._files),
            "sha256": digest.hexdigest(),
            **self._config.to_dict(),
        }

    def left_out(self) -> Mapping[str, int]:
        """Returns how many files were met and left out, by reason."""
        return self._left_out

    def documents(self) -> Iterator[Document]:
        """Yields the documents of all files; a file without any gives one refusal.

        Raises:
            ChangedTextError: a file is no longer what `describe` announced.
        """
        before = 0
        for file in self._files:
            self._bytes_read = before
            try:
                with file.path.open("rb", buffering=0) as raw:
                    yield from self._documents_of(file, _HashedFile(raw), before)
                    self.check_unchanged()
            except OSError as error:
                self._compare(file, UNREADABLE)
                yield Document(file.name, [_unreadable(file, error)])
            self._reading = None
            before += self._sizes.get(file, 0)
        self._bytes_read = sum(self._sizes.values())

    def check_unchanged(self) -> None:
        """Refuses the file in hand if it is not what was announced; reads what is left of it.

        Raises:
            ChangedTextError: names the file.
        """
        if self._reading is not None and self._announced:
            file, hashed = self._reading
            try:
                found = hashed.sha256_of_all(self._sizes.get(file, 0))
            except OSError:
                found = UNREADABLE
            self._compare(file, found)

    def _compare(self, file: TextFile, found: str) -> None:
        announced = self._announced.get(file, found)
        if announced != found:
            raise ChangedTextError(
                f"{told(file.path)}: changed since the run began (sha256 {announced[:12]} then, "
                f"{found[:12]} now); wait until nobody writes to it and start the run again"
            )

    def fraction_read(self) -> float:
        """Returns the share of the files' (compressed) bytes read."""
        return self._bytes_read / max(sum(self._sizes.values()), 1)

    def _documents_of(self, file: TextFile, hashed: _HashedFile, before: int) -> Iterator[Document]:
        self._reading = file, hashed
        config, limit = self._config, self._config.max_paragraph_characters
        lines = read_lines(
            decompressed(io.BufferedReader(hashed, _BLOCK_BYTES), file.path),
            file.name,
            encoding=config.encoding,
            max_characters=limit * JSON_LINE_FACTOR if file.is_json_lines else limit,
        )
        empty = Refusal("empty_file", "holds no text; remove it from the paths", file.name)
        if file.is_json_lines:
            documents = _json_documents(lines, file.name, config)
            yield from self._counted(documents, hashed, before, Document(file.name, [empty]))
        else:
            paragraphs = paragraphs_of(lines, file.name, config.paragraphs, max_characters=limit)
            yield Document(file.name, self._counted(paragraphs, hashed, before, empty))

    def _counted(
        self, items: Iterator[T], hashed: _HashedFile, before: int, empty: T
    ) -> Iterator[T]:
        """Passes on what a file holds, or ``empty``, keeping count of the bytes read."""
        found = False
        for item in items:
            found = True
            self._bytes_read = before + hashed.num_bytes
            yield item
        if not found:
            yield empty


def _unreadable(file: TextFile, error: OSError) -> Refusal:
    if file.unlisted:
        reason, what = "unreadable_folder", f"a folder that cannot be searched ({file.unlisted})"
    else:
        reason, what = "unreadable_file", f"cannot be opened ({error})"
    detail = f"{what}; check its permissions"
    logger.warning("%s: %s; its text is missing from this corpus", file.name, detail)
    return Refusal(reason, detail, file.name)


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


def _content_of(file: TextFile) -> str:
    """Returns a file's sha256, or `UNREADABLE`."""
    try:
        return remembered_sha256(file.path)
    except OSError:
        return UNREADABLE
