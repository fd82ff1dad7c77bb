"""Finds the stages that a path stands for: a corpus folder, a stage's folder, or one shard."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.shards.manifests import (
    MANIFEST_NAME,
    SHARD_GLOB,
    read_dataset_manifest,
    remedy,
    shard_numbers,
    shard_path,
)
from treeviews.pipeline.shards.schema import COLUMNS, EMBEDDINGS, STAGE_KEY

SENTENCES = "sentences"
SHARD_MANIFEST_GLOB = "[0-9]" * 5 + ".json"


@dataclass(frozen=True, slots=True)
class StageFolder:
    """The shards of one stage."""

    stage: str
    path: Path

    def numbers(self) -> list[int]:
        """Returns the numbers of the shards that are there, complete or not, in order."""
        return shard_numbers(self.path)

    def missing(self) -> list[int]:
        """Returns the numbers of the shards that are gone though a manifest speaks of them."""
        listed = {int(path.stem) for path in self.path.glob(SHARD_MANIFEST_GLOB)}
        with suppress(ValueError, FileNotFoundError):  # then the shards' own manifests tell
            listed |= {shard.number for shard in read_dataset_manifest(self.path).shards}
        return sorted(listed.difference(self.numbers()))

    def gaps(self) -> Iterator[str]:
        """Yields what the stage lacks to be complete."""
        if not (self.path / MANIFEST_NAME).exists():
            yield f"no {MANIFEST_NAME}: the stage is still running or was killed"
        for number in self.missing():
            yield f"{shard_path(self.path, number).name} is in the manifest but missing"


@dataclass(frozen=True, slots=True)
class Selection:
    """What a path stands for."""

    folders: tuple[StageFolder, ...]
    """All stages, the sentences first where they are there."""
    shard: int | None = None
    """The one shard that was asked for; None for all."""
    is_one_stage: bool = False
    """Whether a stage or a shard was asked for, rather than a corpus."""

    @property
    def sentences(self) -> StageFolder | None:
        """The sentences that the parses are of; None where they are not beside them."""
        return next((folder for folder in self.folders if folder.stage == SENTENCES), None)

    @property
    def parses(self) -> tuple[StageFolder, ...]:
        """All stages but the sentences."""
        return tuple(folder for folder in self.folders if folder.stage != SENTENCES)

    @property
    def read_together(self) -> tuple[StageFolder, ...]:
        """The stages whose columns stand side by side where a row is asked for.

        Embeddings are among them only where they alone were asked for: of one corpus there may be
        many, and a sentence's are more numbers than all else that is known of it.
        """
        if self.is_one_stage:
            return self.folders
        return tuple(folder for folder in self.folders if folder.stage != EMBEDDINGS)

    def numbers(self) -> list[int]:
        """Returns the shards asked for that any stage has."""
        if self.shard is not None:
            return [self.shard]
        return sorted({number for folder in self.folders for number in folder.numbers()})

    def numbers_in(self, *folders: StageFolder) -> list[int]:
        """Returns the shards asked for that all of these stages have."""
        shared = set.intersection(*(set(folder.numbers()) for folder in folders))
        return [number for number in sorted(shared) if self.shard in (None, number)]

    def shared_numbers(self) -> list[int]:
        """Returns the shards asked for that every stage has: what can be read side by side.

        Raises:
            ValueError: there is none.
        """
        shared = self.numbers_in(*self.read_together)
        if not shared:
            names = ", ".join(str(folder.path) for folder in self.read_together)
            raise ValueError(f"no shard that all of these have: {names}; `check` says what is gone")
        return shared

    def folders_of(self, stage: str) -> list[StageFolder]:
        """Returns all folders of a stage."""
        return [folder for folder in self.folders if folder.stage == stage]

    def folder_of(self, stage: str) -> StageFolder | None:
        """Returns the folder of a stage; None where there is none.

        Raises:
            ValueError: there are several; names them and how to choose.
        """
        folders = self.folders_of(stage)
        if len(folders) > 1:
            names = ", ".join(folder.path.name for folder in folders)
            raise ValueError(
                f"{folders[0].path.parent}: several folders of {stage}: {names}; give the folder "
                f"of one, or choose it with --stage {folders[0].path.name}"
            )
        return folders[0] if folders else None

    def check_one_of_each(self) -> None:
        """Refuses several folders of one stage where a row of each stage is asked for.

        Raises:
            ValueError: see `folder_of`.
        """
        for folder in self.read_together:
            self.folder_of(folder.stage)

    def with_stages(self, names: Sequence[str]) -> Selection:
        """Returns the stages with those folders only that are named, of each kind that is named.

        Args:
            names: of folders, or how they begin; without any all stages stay.

        Raises:
            ValueError: no folder is called so, or several begin so.
        """
        chosen = [self._named(name) for name in names]
        kinds = {folder.stage for folder in chosen}
        kept = [f for f in self.folders if f.stage not in kinds or f in chosen]
        return replace(self, folders=tuple(kept))

    def _named(self, name: str) -> StageFolder:
        matches: list[StageFolder] = []
        for ending in ("", "-[0-9a-f]+", ".*") if name else ():
            pattern = re.compile(re.escape(name) + ending)
            matches = [f for f in self.parses if pattern.fullmatch(f.path.name)]
            if matches:
                break
        if len(matches) == 1:
            return matches[0]
        known = [folder.path.name for folder in matches or self.parses]
        what = "several stages begin with" if matches else "no stage is called"
        meant = "" if matches else did_you_mean(name, known=known)
        raise ValueError(f"{what} {name!r}; there are {', '.join(known) or 'none'}{meant}")


def select(path: Path) -> Selection:
    """Returns the stages at a path.

    Args:
        path: a folder that holds stages, a stage's folder, or a shard's Parquet file. With a
            parsed stage or shard come the sentences beside it.

    Raises:
        FileNotFoundError: no such path, or no shard under it.
        ValueError: a Parquet file that is not a shard.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file or folder")
    if path.is_file():
        if path.suffix != ".parquet" or not path.stem.isdigit():
            raise ValueError(f"{path}: not named like a shard, such as 00000.parquet")
        return _select_stage(stage_in(path.parent) or stage_of(path), path.parent, int(path.stem))
    if (stage_here := stage_in(path)) is not None:
        return _select_stage(stage_here, path, None)
    folders = [folder for folder in sorted(path.iterdir()) if folder.is_dir()]
    stages = [StageFolder(stage, folder) for folder in folders if (stage := stage_in(folder))]
    if not stages:
        raise FileNotFoundError(
            f"{path}: no shards here; give a folder with sentences/ in it, a stage's folder, "
            "or a shard such as 00000.parquet"
        )
    return Selection(tuple(sorted(stages, key=lambda stage: list(COLUMNS).index(stage.stage))))


def _select_stage(stage: str, folder: Path, shard: int | None) -> Selection:
    chosen, beside = StageFolder(stage, folder), folder.parent / SENTENCES
    comes_along = stage != SENTENCES and beside.is_dir()
    folders = (StageFolder(SENTENCES, beside), chosen) if comes_along else (chosen,)
    return Selection(folders, shard, is_one_stage=True)


def stage_in(folder: Path) -> str | None:
    """Returns the stage whose files a folder holds; None for another folder.

    One shard that can be read tells the stage, so that the others can be found missing or damaged;
    where none can, the folder's name does, which begins with the stage.

    Raises:
        ValueError: there are files named like shards, but nothing tells of which stage.
    """
    problems = []
    for path in sorted(folder.glob(SHARD_GLOB)):
        try:
            return stage_of(path)
        except ValueError as error:
            problems.append(error)
    name = folder.name.partition("-")[0]
    manifests = [*folder.glob(SHARD_MANIFEST_GLOB), *folder.glob(MANIFEST_NAME)]
    if name in COLUMNS and (manifests or problems):
        return name
    if problems:
        raise problems[0]
    return None


def stage_of(path: Path) -> str:
    """Returns the stage that a shard's metadata names.

    Raises:
        ValueError: the file is not a shard.
    """
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise ValueError(
            f"{path}: not a whole Parquet file ({error}); {remedy(path)}, or copy it again"
        ) from error
    stage: str = metadata.get(STAGE_KEY, b"").decode(errors="replace")
    if stage not in COLUMNS:
        raise ValueError(
            f"{path}: a Parquet file, but not a shard of {', '.join(COLUMNS)}; give a folder or a "
            "shard that a run has made"
        )
    return stage
