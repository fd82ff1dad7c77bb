"""What is kept of each run: what was asked for, when, how it ended, and which folders it needs.

A file a run in ``<work folder>/runs``. Nothing depends on them: neither digests nor whether a
stage is done, and without them a run goes on all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Literal

from pipeline.base.atomic_files import locked, locked_if_free
from pipeline.base.config_fields import Config
from pipeline.base.foreign_text import told
from pipeline.base.json_files import read_object, write_sealed_json
from pipeline.base.mistakes import did_you_mean
from pipeline.base.refusal import shortened
from tasks.runs.names import check_name, names_for

RUNS_FOLDER = "runs"
RECORD_VERSION = 1
MOST_ATTEMPTS = 20
"""That are kept of a run; earlier ones are counted."""
REMEDY = "delete it; the same command records the run anew"

_DIGEST = re.compile(r"[0-9a-f]{1,64}")

Outcome = Literal["unfinished", "done", "failed", "interrupted"]
"""Of an attempt; one that was killed stays unfinished."""


@dataclass(frozen=True, slots=True)
class RecordedStage(Config):
    """A stage that a run stands on."""

    called: ClassVar[str] = "field of a stage"

    id: str
    name: str
    about: str
    digest: str
    parameters: Mapping[str, Any]
    """That differ from their defaults and change what is made."""
    folders: tuple[str, ...]
    """Its own, within the work folder."""
    needs: tuple[str, ...]
    """Ids of the stages that it is made from."""
    caches: tuple[str, ...] = ()
    """Folders of what its making keeps for whoever needs it again, such as embeddings."""


@dataclass(frozen=True, slots=True)
class RecordedFailure(Config):
    """Why a stage was not done."""

    called: ClassVar[str] = "field of a failure"

    stage: str
    sentence: str
    folder: str = ""
    """That it was to fill, within the work folder; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class Attempt(Config):
    """One command that asked for a run."""

    called: ClassVar[str] = "field of an attempt"

    id: str
    began: str
    """Date and time in UTC, as ISO 8601 has them."""
    host: str
    process: int
    command: str
    """As it was typed, without secrets; empty where Python asked."""
    versions: Mapping[str, str] = field(default_factory=dict)
    commit: str = ""
    outcome: Outcome = "unfinished"
    ended: str = ""
    seconds: float | None = None
    failures: tuple[RecordedFailure, ...] = ()

    @property
    def moment(self) -> datetime:
        """When it began, to be set in order; what is no date comes first."""
        try:
            began = datetime.fromisoformat(self.began)
        except ValueError:
            return datetime.min.replace(tzinfo=UTC)
        return began if began.tzinfo is not None else began.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RecordedScore(Config):
    """A figure that a run ends with."""

    called: ClassVar[str] = "field of a score"

    name: str
    value: float
    deviation: float | None = None
    """Over seeds; None where there is one."""


@dataclass(frozen=True, slots=True)
class Record(Config):
    """What is known of a run."""

    called: ClassVar[str] = "field of a run's record"

    name: str
    digest: str
    """Of what it makes: the same one is the same run."""
    stage: str
    """That was asked for."""
    parameters: Mapping[str, Any]
    """As those of a stage."""
    stages: tuple[RecordedStage, ...]
    """What is needed before what needs it; the last was asked for."""
    attempts: tuple[Attempt, ...]
    """The last ones, in order."""
    earlier_attempts: int = 0
    """How many there were before these."""
    scores: tuple[RecordedScore, ...] = ()
    headline: tuple[str, ...] = ()
    result: str = ""
    """Path of what the run is for, within the work folder."""
    record_version: int = RECORD_VERSION

    @property
    def last(self) -> Attempt:
        """The last attempt."""
        return self.attempts[-1]

    @property
    def folders(self) -> dict[str, str]:
        """Every folder that the run stands on -> the id of its stage."""
        return {one: stage.id for stage in self.stages for one in (*stage.folders, *stage.caches)}

    def with_attempt(self, attempt: Attempt) -> Record:
        """Returns it with an attempt that is new, or in the place of itself as it was."""
        others = [one for one in self.attempts if one.id != attempt.id]
        listed = sorted([*others, attempt], key=lambda one: one.moment)
        dropped = max(0, len(listed) - MOST_ATTEMPTS)
        return replace(
            self,
            attempts=tuple(listed[dropped:]),
            earlier_attempts=self.earlier_attempts + dropped,
        )

    def _check_together(self) -> None:
        if not self.attempts or not self.stages:
            raise ValueError("a run's record must have an attempt and a stage")
        if not _DIGEST.fullmatch(self.digest):
            raise ValueError(f"digest must be hexadecimal, got {shortened(self.digest)}")


class Records:
    """The records of a work folder.

    Args:
        work_folder: where the runs write.
    """

    def __init__(self, work_folder: Path) -> None:
        self.work_folder = work_folder
        self.folder = work_folder / RUNS_FOLDER
        self.damaged: dict[Path, str] = {}
        """Files that hold no record of this release -> why, as far as they were read."""

    def __iter__(self) -> Iterator[Record]:
        """Yields the records, by the time of their last attempts; what is none is kept apart."""
        found = [record for path in self.paths() if (record := self._read(path)) is not None]
        yield from sorted(found, key=lambda record: record.last.moment)

    def paths(self) -> list[Path]:
        """Returns the files of the records."""
        return sorted(self.folder.glob("*.json"))

    def _read(self, path: Path) -> Record | None:
        try:
            return read_record(path)
        except (OSError, ValueError) as error:
            self.damaged[path] = told(error)
        return None

    def named(self, name: str) -> Record:
        """Returns the run of a name.

        Raises:
            ValueError: there is none, or its record is damaged; says which there are.
        """
        known = [path.stem for path in self.paths()]
        if name in known:
            return read_record(self._path(name))
        listed = f"these are recorded: {', '.join(known)}" if known else "none is recorded yet"
        raise ValueError(
            f"{self.folder}: no run is called {told(name)!r}"
            f"{did_you_mean(name, known=known) or f'; {listed}'}"
        )

    def of_digest(self, digest: str) -> Record | None:
        """Returns the record of what makes the same, if there is one."""
        return next((record for record in self if record.digest == digest), None)

    def free_name(self, digest: str) -> str:
        """Returns the first name for a digest that no file bears."""
        return next(name for name in names_for(digest) if not self._path(name).exists())

    def write(self, record: Record) -> None:
        """Writes a record, whole or not at all.

        Raises:
            OSError: it cannot be written, as on a full disk.
        """
        write_sealed_json(self._path(record.name), record.to_dict())

    def remove(self, record: Record) -> None:
        """Removes a record alone; what it tells of stays."""
        self._path(record.name).unlink(missing_ok=True)

    def rename(self, name: str, new: str) -> None:
        """Gives a run another name.

        Raises:
            ValueError: there is no such run, or the new name cannot be one or is another run's.
        """
        check_name(new)
        with self.changing():
            record = self.named(name)
            if self._path(new).exists():
                raise ValueError(f"{self._path(new)}: a run is called so already; choose another")
            self.write(replace(record, name=new))
            self.remove(record)

    def changing(self) -> AbstractContextManager[None]:
        """Holds, for the time of a ``with`` block, what whoever changes records holds.

        Raises:
            OSError: the folder cannot be written to.
        """
        return locked(self.folder / "records.lock", lambda: None)

    def at_work(self, digest: str) -> AbstractContextManager[None]:
        """Holds, together with others that run the same, what says that a run is at work.

        Raises:
            OSError: the folder cannot be written to.
        """
        return locked(self._lock(digest), lambda: None, shared=True)

    @contextmanager
    def idle(self, digest: str) -> Iterator[bool]:
        """Keeps a run from beginning for the time of a ``with`` block.

        Yields:
            Whether none is at work.
        """
        with locked_if_free(self._lock(digest)) as free:
            yield free

    def failed_folders(self) -> dict[Path, str]:
        """Returns the folders of what failed when it was asked for last, with the sentences."""
        failed: dict[Path, str] = {}
        for record in self:
            for path in record.folders:
                failed.pop(self.work_folder / path, None)  # it was asked for again
            for failure in record.last.failures:
                if failure.folder:
                    failed[self.work_folder / failure.folder] = failure.sentence
        return failed

    def is_at_work(self, digest: str) -> bool:
        """Returns whether a run is at work; not so where that cannot be found out."""
        if not self._lock(digest).exists():
            return False
        try:
            with self.idle(digest) as idle:
                return not idle
        except OSError:  # a folder that we may only read
            return False

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _lock(self, digest: str) -> Path:
        return self.folder / f"{digest}.lock"


def read_record(path: Path) -> Record:
    """Returns the record in a file.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it holds none, is damaged, of another name or of another version; says so.
    """
    value = read_object(path, ("record_version", "name"), remedy=REMEDY)
    if value["record_version"] != RECORD_VERSION:
        raise ValueError(
            f"{path}: a record of version {value['record_version']}, this release reads "
            f"{RECORD_VERSION}; {REMEDY}"
        )
    if value["name"] != path.stem:
        raise ValueError(f"{path}: the record of {value['name']!r}; give the file its name again")
    return Record.from_json(value, path, remedy=REMEDY)
