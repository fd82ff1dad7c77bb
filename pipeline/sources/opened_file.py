"""What all streams of files share: how they are read, opened, and known to be the same file."""

from __future__ import annotations

import io
import logging
import re
from codecs import getincrementaldecoder
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

from pipeline.base.digest import remembered_sha256
from pipeline.base.foreign_text import told
from pipeline.base.refusal import Refusal
from pipeline.base.settings import Count, Settings
from pipeline.sources.file_list import Format, TextFile, decompressed, format_of, is_compressed
from pipeline.sources.paragraphs import ChangedTextError, ParagraphMode
from pipeline.sources.streams import Place

logger = logging.getLogger(__name__)

UNREADABLE = "unreadable"
"""Stands for the sha256 of what cannot be read."""
ROW_FACTOR = 100
"""A row of JSON or CSV holds a whole document, so it may be this many times a paragraph's limit."""
BUFFER_BYTES = 1 << 16
_STATEFUL = re.compile(r"utf[-_]?7|iso[-_]?2022|hz", re.IGNORECASE)


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
        """Returns what a file holds."""
        return format_of(path) if self.format == "by-suffix" else self.format

    def _check_together(self) -> None:
        try:
            "".encode(self.encoding)
        except LookupError as error:
            raise ValueError(
                f"encoding {self.encoding!r} is no text encoding; try utf-8"
            ) from error


class Recoded(io.RawIOBase):
    """Text of some encoding as UTF-8; bytes that are not of the encoding stay as they are."""

    def __init__(self, stream: io.BufferedReader, encoding: str) -> None:
        self._stream = stream
        self._decoder = getincrementaldecoder(encoding)("surrogateescape")
        self._ready = io.BytesIO()
        self._is_done = False

    def readable(self) -> bool:
        """Returns True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills ``buffer``; returns the number of bytes, 0 at the end."""
        while not (count := self._ready.readinto(buffer)) and not self._is_done:
            block = self._stream.read(BUFFER_BYTES)
            self._is_done = not block
            text = self._decoder.decode(block, final=self._is_done)
            self._ready = io.BytesIO(text.encode("utf-8", "surrogateescape"))
        return count


@dataclass(frozen=True, slots=True)
class Announced:
    """What a file was when its source was described."""

    sha256: str
    """`UNREADABLE` where it could not be read."""
    num_bytes: int = 0
    modified_ns: int = 0

    @classmethod
    def of(cls, path: Path) -> Announced:
        """Returns what a file is now."""
        try:
            stat = path.stat()
            return cls(remembered_sha256(path), stat.st_size, stat.st_mtime_ns)
        except OSError:
            return cls(UNREADABLE)

    def still_holds(self, path: Path) -> bool:
        """Returns whether the file has the size and time that it had then."""
        try:
            stat = path.stat()
        except OSError:
            return False
        return (stat.st_size, stat.st_mtime_ns) == (self.num_bytes, self.modified_ns)


@dataclass(slots=True, eq=False)
class FileStream:
    """A file as a stream, whatever it holds."""

    file: TextFile
    config: FilesConfig
    announced: Announced | None = None
    """None where the source was not described."""
    _characters: dict[int, int] = field(default_factory=lambda: {0: 0}, init=False, repr=False)
    """Offset of a place -> characters of its document before it; of places that were read up to."""

    @property
    def name(self) -> str:
        """The file's name in its source."""
        return self.file.name

    @property
    def is_one_document(self) -> bool:
        """Whether it is one text."""
        return False

    @property
    def is_recoded(self) -> bool:
        """Whether its text is read in UTF-8, as it cannot be read from the middle on."""
        encoding = self.config.encoding
        return bool(_STATEFUL.match(encoding)) or "\n".encode(encoding) != b"\n"

    @property
    def is_sought(self) -> bool:
        """Whether its bytes are its text."""
        return not (is_compressed(self.file.path) or self.is_recoded)

    @property
    def empty(self) -> Refusal:
        """What stands for the documents of a file that has none."""
        return Refusal("empty_file", "holds no text; remove it from the paths", self.name)

    def knows_characters(self, place: Place) -> bool:
        """Returns True: a row is a document."""
        return True

    def check_unchanged(self) -> None:
        """Refuses the file if it is not what was described.

        Raises:
            ChangedTextError: names it.
        """
        announced, path = self.announced, self.file.path
        if announced is None or announced.still_holds(path):
            return
        found = Announced.of(path).sha256
        if announced.sha256 != found:
            raise ChangedTextError(
                f"{told(path)}: changed since the run began (sha256 {announced.sha256[:12]} then, "
                f"{found[:12]} now); wait until nobody writes to it and start the run again"
            )

    def opened(self, opened: ExitStack) -> io.BufferedReader:
        """Returns the text's bytes from their beginning."""
        raw = opened.enter_context(self.file.path.open("rb", buffering=0))
        stream = decompressed(raw, self.file.path)
        if self.is_recoded:
            recoded = Recoded(stream, self.config.encoding)
            stream = io.BufferedReader(cast("io.RawIOBase", recoded), BUFFER_BYTES)
        return stream

    def unreadable(self, error: OSError) -> Refusal:
        """Returns what stands for the documents of a file that cannot be opened."""
        detail = f"cannot be opened ({error}); check its permissions"
        logger.warning("%s: %s; its text is missing from this corpus", self.name, detail)
        return Refusal("unreadable_file", detail, self.name)
