"""Removal of runs with what only they need: planned first, done under the locks of all concerned.

What another recorded run needs stays, and what folders stand on that no record knows. Nothing
outside of the work folder is touched, whatever a record says.
"""

from __future__ import annotations

import errno
import re
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath

import luigi

from pipeline.base.atomic_files import RUN_LOCK, locked_if_free
from pipeline.base.inside import inside
from tasks.artefact import HANDING_OUT_LOCK, Artefact
from tasks.runs.differences import strings_in
from tasks.runs.folders import bytes_below
from tasks.runs.made import WorkFolder
from tasks.runs.records import RUNS_FOLDER, Record, RecordedStage, Records

_TRASH = ".removed-"
"""Begins the name of the folder where what is removed goes first: none is left in halves.

No run and no stage can be called so.
"""
_ENDING = re.compile(r"[0-9a-f]{12}$")


@dataclass(frozen=True, slots=True)
class Removal:
    """What the removal of runs takes away and what it leaves."""

    records: tuple[Record, ...]
    folders: dict[str, int]
    """Within the work folder -> bytes; what needs another comes before it."""
    kept: dict[str, str]
    """Folders of the runs that stay -> why."""

    @property
    def num_bytes(self) -> int:
        """Of all that goes."""
        return sum(self.folders.values())


def planned(records: Records, names: Sequence[str]) -> Removal:
    """Returns what the removal of runs would take away.

    Raises:
        ValueError: no such run; or another record is damaged, or of a run at work that names stages
            on its way, so that nobody knows what it needs.
    """
    chosen = [records.named(name) for name in dict.fromkeys(names)]
    digests = {record.digest for record in chosen}
    others = [record for record in records if record.digest not in digests]
    if records.damaged:
        damaged, why = next(iter(records.damaged.items()))
        raise ValueError(
            f"{damaged} is damaged, so that nobody knows which folders its run needs ({why}): "
            "mend or delete it, then remove runs"
        )
    for other in others:
        if _names_stages_on_its_way(other) and records.is_at_work(other.digest):
            raise ValueError(
                f"run {other.name} is at work, and which stages it needs is not all known before "
                "its trainings are done: wait for its end, or stop it, then remove runs"
            )
    needed = {path: f"run {one.name} needs it" for one in others for path in one.folders}
    needed |= _used_by_path(chosen, others)
    unknown = _needed_by_unknown(records, chosen, others)
    folders: dict[str, int] = {}
    kept: dict[str, str] = {}
    for path in _folders_in_order(chosen):
        if not (records.work_folder / path).exists():
            continue
        stays = needed.get(path) or unknown.get(path) or _fault(records.work_folder, path, needed)
        if stays:
            kept[path] = stays
        else:
            folders[path] = bytes_below(records.work_folder / path) or 0
    return Removal(tuple(chosen), folders, kept)


def _names_stages_on_its_way(record: Record) -> bool:
    """Whether a run asks for stages that its record does not have before it ends."""
    for stage in record.stages:
        try:
            kind = luigi.task_register.Register.get_task_cls(stage.name)
        except luigi.task_register.TaskClassException:  # of another release
            return True
        if issubclass(kind, Artefact) and kind.later is not Artefact.later:
            return True
    return False


def remove(records: Records, plan: Removal) -> Removal:
    """Removes what a plan says and what is still so, then the records; returns what was removed.

    Raises:
        ValueError: a run is at work, or a folder of it.
        OSError: a folder cannot be removed; what comes after it stays, and the record.
    """
    with ExitStack() as held:
        held.enter_context(records.changing())
        for record in plan.records:
            if not held.enter_context(records.idle(record.digest)):
                raise ValueError(f"run {record.name} is at work; stop it, or wait for its end")
        now = planned(records, [record.name for record in plan.records])
        trash = records.folder / f"{_TRASH}{secrets.token_hex(4)}"
        _sweep(records.folder)
        gone: dict[str, int] = {}
        for path, size in now.folders.items():
            if path in plan.folders:
                _remove_folder(records.work_folder, path, trash)
                gone[path] = size
        for record in plan.records:
            records.remove(record)
        return Removal(plan.records, gone, now.kept)


def _remove_folder(work_folder: Path, path: str, trash: Path) -> None:
    """Removes a folder that nobody is at work in, and those above it that are empty then."""
    folder = inside(work_folder, path)
    with ExitStack() as held:
        for name in (RUN_LOCK, HANDING_OUT_LOCK):
            if not held.enter_context(locked_if_free(folder / name)):
                raise ValueError(f"{folder}: another run is at work there; wait for its end")
        shutil.rmtree(_taken_away(folder, trash))
    with suppress(OSError):  # something is in it
        trash.rmdir()
        for above in folder.parents[: len(PurePosixPath(path).parts) - 1]:
            above.rmdir()


def _taken_away(folder: Path, trash: Path) -> Path:
    """Returns where a folder is moved to in one step: to the trash, or beside it on another device.

    Raises:
        OSError: it cannot be moved, as where we may not write; nothing of it is gone then.
    """
    trash.mkdir(exist_ok=True)
    target = trash / secrets.token_hex(4)
    try:
        return folder.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            with suppress(OSError):
                trash.rmdir()
            raise
    _sweep(folder.parent)
    return folder.rename(folder.with_name(trash.name))


def _sweep(folder: Path) -> None:
    """Deletes what a removal that was killed left in a folder."""
    for left in folder.glob(f"{_TRASH}*"):
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)


def _folders_in_order(chosen: Sequence[Record]) -> list[str]:
    """Returns the folders of runs, what needs another before it."""
    found = [
        path
        for record in chosen
        for stage in reversed(record.stages)
        for path in (*stage.folders, *stage.caches)
    ]
    return list(dict.fromkeys(found))


def _fault(work_folder: Path, path: str, needed: Collection[str]) -> str:
    """Returns why a path of a record must not be removed, whatever the record says; or nothing."""
    try:
        inside(work_folder, path)
    except ValueError:
        return "it leads out of the work folder"
    parts = PurePosixPath(path).parts
    if len(parts) < 2 or parts[0] == RUNS_FOLDER:
        return "it is no folder of one stage"
    above = (PurePosixPath(path), *PurePosixPath(path).parents[:-1])
    if any((work_folder / one).is_symlink() for one in above):
        return "it is a link, or stands behind one"
    if not (work_folder / path).is_dir():
        return "it is no folder"
    held = next((one for one in needed if PurePosixPath(one).is_relative_to(path)), "")
    return f"it holds {held}" if held else ""


def _used_by_path(chosen: Sequence[Record], others: Sequence[Record]) -> dict[str, str]:
    """Returns folders of runs that other runs were given by their paths, such as a parser -> why.

    Configurations hold checksums of such, so that records alone tell.
    """
    given = {
        record.name: "\n".join(
            text
            for asked in (record.parameters, *(stage.parameters for stage in record.stages))
            for text in strings_in(asked)
        )
        for record in others
    }
    used: dict[str, str] = {}
    for record in chosen:
        for stage in record.stages:
            if user := _user_of(stage, given):
                used |= dict.fromkeys(stage.folders, f"run {user} was given it by its path")
    return used


def _user_of(stage: RecordedStage, given: Mapping[str, str]) -> str:
    """Returns the first run among whose parameters a digest of a stage is; or nothing."""
    digests = set(_digests_of(stage))
    return next((name for name, text in given.items() if any(one in text for one in digests)), "")


def _needed_by_unknown(
    records: Records, chosen: Sequence[Record], others: Sequence[Record]
) -> dict[str, str]:
    """Returns folders of runs that folders stand on which no record knows -> which of them."""
    known = {path for record in (*chosen, *others) for path in record.folders}
    asked: dict[str, str] = {}
    for folder, strings in WorkFolder(records.work_folder).mentions():
        path = folder.relative_to(records.work_folder)
        if known.isdisjoint(map(PurePath.as_posix, (path, *path.parents))):
            asked |= dict.fromkeys(strings, f"{path}, which no recorded run knows, needs it")
    kept: dict[str, str] = {}
    for record in chosen:
        stages = {stage.id: stage for stage in record.stages}
        for stage in reversed(record.stages):
            why = next((asked[one] for one in _digests_of(stage) if one in asked), "")
            if why:
                _keep(stage, stages, why, kept)
    return kept


def _keep(
    stage: RecordedStage, stages: dict[str, RecordedStage], why: str, kept: dict[str, str]
) -> None:
    """Notes the folders of a stage, and of all that it is made from, as those that stay."""
    for path in stage.folders:
        kept.setdefault(path, why)
    for need in stage.needs:
        if need in stages:
            _keep(stages[need], stages, why, kept)


def _digests_of(stage: RecordedStage) -> Iterator[str]:
    """Yields the digests by which configurations name a stage, or what it makes in one job."""
    yield stage.digest
    for path in stage.folders:
        for name in PurePosixPath(path).parts[-2:]:
            if found := _ENDING.search(name):
                yield found[0]
