"""The files that a user's paths stand for: files, folders and globs, in a fixed order."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.corpora.compression import without_compression_suffix

TEXT_SUFFIXES = (".txt", ".text", ".md")
JSON_LINES_SUFFIXES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class TextFile:
    """One file to read."""

    path: Path
    name: str
    """Path below what all files have in common, with forward slashes."""

    @property
    def is_json_lines(self) -> bool:
        """Whether every line is a JSON object."""
        return without_compression_suffix(self.path).suffix.lower() in JSON_LINES_SUFFIXES


def list_files(paths: Sequence[str | Path]) -> list[TextFile]:
    """Returns the files of all paths, in the paths' order, a folder's and a glob's files sorted.

    A file that is named outright is read whatever its suffix. Of a folder, searched to any depth,
    hidden files and files that are not named like text are left out.

    Raises:
        FileNotFoundError: a path or pattern that matches nothing.
        ValueError: no path at all, or a folder without text files.
    """
    if not paths:
        raise ValueError("source 'files' needs paths: files, folders or globs of your text")
    found = dict.fromkeys(path.resolve() for entry in paths for path in _matching(str(entry)))
    parents = [str(path.parent) for path in found]
    common = Path(os.path.commonpath(parents))
    return [TextFile(path, path.relative_to(common).as_posix()) for path in found]


def _matching(entry: str) -> Iterator[Path]:
    path = Path(entry).expanduser()
    matches = [path] if path.exists() else [Path(m) for m in sorted(_glob(str(path)))]
    if not matches:
        raise FileNotFoundError(f"{entry}: no such file, folder or match; check the path")
    for match in matches:
        if match.is_dir():
            yield from _in_folder(match)
        else:
            yield match


def _glob(pattern: str) -> list[str]:
    return glob.glob(pattern, recursive=True)  # noqa: PTH207 - patterns may be absolute


def _in_folder(folder: Path) -> list[Path]:
    files = [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and without_compression_suffix(path).suffix.lower() in TEXT_SUFFIXES + JSON_LINES_SUFFIXES
    ]
    if not files:
        raise ValueError(
            f"{folder}: no text in this folder; looked for {', '.join(TEXT_SUFFIXES)} and "
            f"{', '.join(JSON_LINES_SUFFIXES)}, each also compressed (.gz, .bz2, .xz, .zst)"
        )
    return sorted(files, key=lambda path: path.relative_to(folder).as_posix())
