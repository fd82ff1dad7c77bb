"""The user's own text: files of several formats, each of which is a stream."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from pipeline.sources.file_list import Format, TextFile, list_files
from pipeline.sources.opened_file import Announced, FilesConfig, FileStream
from pipeline.sources.rows import CsvStream
from pipeline.sources.streams import Stream
from pipeline.sources.table_file import TableStream
from pipeline.sources.tar_file import TarStream
from pipeline.sources.text_file import TextFileStream

_STREAMS: Mapping[Format, type[FileStream]] = {
    "text": TextFileStream,
    "json-lines": TextFileStream,
    "csv": CsvStream,
    "tsv": CsvStream,
    "parquet": TableStream,
    "arrow": TableStream,
    "tar": TarStream,
}


class TextFiles:
    """Text files, folders and globs as a source.

    What `describe` announced is what the streams yield, or `check_unchanged` of one says so.

    Args:
        paths: what to read, in this order; see `list_files`.
        config: how.

    Raises:
        FileNotFoundError: a path that does not exist.
        ValueError: no path, a folder without text, or what is no regular file.
    """

    def __init__(self, paths: Sequence[str | Path], config: FilesConfig | None = None) -> None:
        self._config = config or FilesConfig()
        declared = self._config.format
        listed = list_files(paths, None if declared == "by-suffix" else declared)
        self._files, self._left_out = listed.files, listed.left_out
        self._left_out_of: dict[str, Counter[str]] = {}
        self._announced: dict[TextFile, Announced] = {}

    @property
    def paths(self) -> list[Path]:
        """The files, in their order."""
        return [file.path for file in self._files]

    def describe(self) -> dict[str, Any]:
        """Returns a checksum of all names and contents, and how they are read.

        A file that cannot be read counts as such, and is refused when its turn comes. Every call
        tells of the contents that the first one found.
        """
        if not self._announced:
            self._announced = {file: Announced.of(file.path) for file in self._files}
        digest = hashlib.sha256()
        for file, announced in self._announced.items():
            digest.update(f"{file.name}\0{announced.sha256}\0".encode())
        return {
            "source": "files",
            "num_files": len(self._files),
            "sha256": digest.hexdigest(),
            **self._config.to_dict(),
        }

    def left_out(self) -> Mapping[str, int]:
        """Returns how many files were met and left out, by reason.

        Those within archives are known as far as their streams were surveyed.
        """
        left_out = Counter(self._left_out)
        for counted in self._left_out_of.values():
            left_out.update(counted)
        return dict(sorted(left_out.items()))

    def streams(self) -> list[Stream]:
        """Returns the files."""
        return [self._stream_of(file) for file in self._files]

    def _stream_of(self, file: TextFile) -> Stream:
        kind = _STREAMS[self._config.format_of(file.path)]
        stream = kind(file, self._config, self._announced.get(file))
        if isinstance(stream, TarStream):
            stream.left_out = self._left_out_of.setdefault(file.name, Counter())
        return cast("Stream", stream)

    def to_dict(self) -> dict[str, Any]:
        """Returns the files, how they are read, and what `describe` found them to be."""
        self.describe()
        return {
            "source": "files",
            "config": self._config.to_dict(),
            "left_out": dict(self._left_out),
            "files": [
                {"path": str(file.path), "name": file.name} | asdict(announced)
                for file, announced in self._announced.items()
            ],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TextFiles:
        """Returns the source that was made to this dictionary; no file is looked at."""
        source = cls.__new__(cls)
        source._config = FilesConfig.from_dict(values["config"])
        source._left_out = dict(values["left_out"])
        source._left_out_of = {}
        source._announced = {
            TextFile(Path(file["path"]), file["name"]): Announced(
                file["sha256"], file["num_bytes"], file["modified_ns"]
            )
            for file in values["files"]
        }
        source._files = tuple(source._announced)
        return source
