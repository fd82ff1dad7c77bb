"""What stands in a work folder: finished folders of stages, known by their configurations.

A folder's name ends in the digest of its stage's name, the schema's version and its configuration,
so the configuration beside it tells which stage it is of, and whether it was changed since.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pipeline.base.digest import digest_of
from pipeline.base.json_files import read_object
from pipeline.shards.schema import SCHEMA_VERSION
from tasks.artefact import CONFIG_NAME, Artefact
from tasks.runs.differences import strings_in

_DEPTH = 4
"""Of folders below the work folder that are looked for; none lies deeper."""
_DIGEST = re.compile(r"-(?P<digest>[0-9a-f]{12})$")
_HEXADECIMAL = re.compile(r"[0-9a-f]{12,}")


@dataclass(frozen=True, slots=True)
class Made:
    """A folder that a stage made, or began."""

    folder: Path
    stage: str
    digest: str
    schema_version: int
    config: Mapping[str, Any]
    is_finished: bool
    modified: float
    """When its configuration was written, in seconds since 1970."""


class WorkFolder:
    """The folders of stages in a work folder, read once.

    Args:
        path: the work folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kinds = _kinds(Artefact)

    @cached_property
    def made(self) -> dict[str, Made]:
        """What was made, by digest."""
        found = (self._made(folder) for folder in _configured(self.path, _DEPTH))
        return {one.digest: one for one in found if one is not None}

    @cached_property
    def mentioned(self) -> dict[str, Path]:
        """Strings that configurations hold, such as digests -> a folder that names each."""
        mentioned: dict[str, Path] = {}
        for one in self.made.values():
            mentioned |= dict.fromkeys(strings_in(one.config), one.folder)
        return mentioned

    def mentions(self) -> list[tuple[Path, set[str]]]:
        """Returns every folder with a configuration, and the strings in it, such as digests.

        Whoever wrote it: another release, or a stage that this process does not know.
        """
        return [(folder, _strings_of(folder)) for folder in _configured(self.path, _DEPTH)]

    def finished(self, stage: str) -> list[Made]:
        """Returns the finished folders of a stage, the last made first."""
        found = [one for one in self.made.values() if one.stage == stage and one.is_finished]
        return sorted(found, key=lambda one: -one.modified)

    def _made(self, folder: Path) -> Made | None:
        """Returns what a folder holds; None where no stage of ours wrote its configuration so."""
        named = _DIGEST.search(folder.name) or _DIGEST.search(folder.parent.name)
        if named is None:
            return None
        path, digest = folder / CONFIG_NAME, named["digest"]
        with suppress(OSError, ValueError):
            config, modified = read_object(path, (), remedy="delete it"), path.stat().st_mtime
            for version in range(SCHEMA_VERSION, 0, -1):
                for place, kind in enumerate(self._kinds):
                    own = {"task": kind.get_task_family(), "schema_version": version}
                    if _has_task(kind) == ("task" in config) and digest_of(own | config) == digest:
                        self._kinds.insert(0, self._kinds.pop(place))  # the next is like it
                        stage, done = kind.get_task_family(), _is_finished(folder, kind, config)
                        return Made(folder, stage, digest, version, config, done, modified)
        return None


def _strings_of(folder: Path) -> set[str]:
    """Returns the strings of a folder's configuration; of a damaged one what looks like digests."""
    path = folder / CONFIG_NAME
    try:
        return set(strings_in(read_object(path, (), remedy="delete it")))
    except (OSError, ValueError):
        with suppress(OSError):
            return set(_HEXADECIMAL.findall(path.read_text(encoding="utf-8", errors="replace")))
    return set()


def _kinds(of: type[Artefact]) -> list[type[Artefact]]:
    """Returns every stage that fills a folder."""
    return [of, *(kind for below in of.__subclasses__() for kind in _kinds(below))]


def _has_task(kind: type[Artefact]) -> bool:
    """Returns whether a stage scores one task, whose name stands where others have their own."""
    return hasattr(kind, "task")


def _is_finished(folder: Path, kind: type[Artefact], config: Mapping[str, Any]) -> bool:
    marker = f"{config['task']}.json" if _has_task(kind) else kind.marker
    return (folder / marker).is_file()


def _configured(folder: Path, depth: int) -> Iterator[Path]:
    """Yields the folders that hold a configuration; below one, and in hidden ones, is no other."""
    with suppress(OSError):
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        if any(entry.name == CONFIG_NAME for entry in entries):
            yield folder
        elif depth:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    yield from _configured(Path(entry.path), depth - 1)
