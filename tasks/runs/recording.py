"""The record of the run that is on: written when it begins, and once more when it ends.

A run never fails because of it: where nothing can be written, as in a folder that is only read or
on a full disk, that is said and the run goes on.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import luigi
from luigi.task import flatten

from models.model.release import made_with
from pipeline.base.foreign_text import told
from pipeline.base.mistakes import sentence_of
from tasks.artefact import Artefact, ReportingTask
from tasks.ending import command_line
from tasks.failures import failures_so_far, is_done
from tasks.runs.graph import Stage, identity_of, stages_of
from tasks.runs.parameters import changed_parameters
from tasks.runs.records import (
    Attempt,
    Outcome,
    Record,
    RecordedFailure,
    RecordedStage,
    Records,
)
from tasks.runs.results import caches_of, scores_of

logger = logging.getLogger("luigi-interface")

Tell = Callable[[Any], None]
"""Takes what Luigi says of the run when it has ended."""


@contextmanager
def recorded(root: luigi.Task) -> Iterator[Tell]:
    """Keeps the record of a run for the time of a ``with`` block.

    What could not be asked for so leaves none: no work began.

    Args:
        root: the task that was asked for.

    Yields:
        What is to be told of the run's result.
    """
    results: list[Any] = []
    recording = _Recording(root)
    with ExitStack() as held:
        recording.begin(held)
        try:
            yield results.append
        except SystemExit:  # what was asked for is refused
            recording.forget()
            raise
        except Exception:
            recording.end("failed")
            raise
        except BaseException:  # Ctrl-C, or a signal that ends the process
            recording.end("interrupted")
            raise
        if results and not results[0].worker.add_succeeded:
            recording.forget()
        else:
            recording.end("done" if results and is_done(results[0]) else "failed")


class _Recording:
    """The record of one run, as far as one can be kept."""

    def __init__(self, root: luigi.Task) -> None:
        self._root = root
        self._records = Records(Path(getattr(root, "work_folder", "")))
        self._made_here: list[Path] = []
        self._stages: list[Stage] = []
        self._attempt: Attempt | None = None
        self._digest = ""
        self._started = time.monotonic()

    def begin(self, held: ExitStack) -> None:
        """Writes the record; what is wrong with the task itself, Luigi is left to tell.

        Args:
            held: keeps the lock that says that the run is at work.
        """
        if not hasattr(self._root, "work_folder"):
            return
        try:
            self._stages, self._digest = stages_of(self._root), identity_of(self._root)
        except Exception:  # whatever it is, the run will meet it
            return
        folder = self._records.folder
        self._made_here = [one for one in (folder, *folder.parents) if not one.exists()]
        attempt = _new_attempt()
        try:
            with self._records.changing():
                self._records.write(self._record(attempt))
                held.enter_context(self._records.at_work(self._digest))
        except OSError as error:
            logger.warning("no record of this run is kept: %s", sentence_of(error))
            return
        self._attempt = attempt

    def end(self, outcome: Outcome) -> None:
        """Adds how the run ended."""
        if self._attempt is None:
            return
        ended = replace(
            self._attempt,
            outcome=outcome,
            ended=_now(),
            seconds=round(time.monotonic() - self._started, 1),
            failures=tuple(self._failures()) if outcome != "done" else (),
        )
        with suppress(Exception):  # more of it can be named than when it began
            self._stages = stages_of(self._root)
        with self._changed() as record:
            if record is not None:
                known = replace(record, stages=tuple(map(self._recorded, self._stages)))
                gained = self._gained() if outcome == "done" else {}
                self._records.write(replace(known, **gained).with_attempt(ended))

    def forget(self) -> None:
        """Removes what was written, as no work began."""
        if self._attempt is None:
            return
        with self._changed() as record:
            if record is None:
                return
            others = tuple(one for one in record.attempts if one.id != self._attempt.id)
            if others:
                self._records.write(replace(record, attempts=others))
            else:
                self._records.remove(record)
            if not self._made_here or self._records.paths():
                return  # another run has begun in the folder
            for lock in self._records.folder.glob("*.lock"):
                lock.unlink()
        with suppress(OSError):
            for folder in self._made_here:
                folder.rmdir()

    @contextmanager
    def _changed(self) -> Iterator[Record | None]:
        """Holds the records; yields this run's, which may have been removed meanwhile."""
        try:
            with self._records.changing():
                yield self._records.of_digest(self._digest)
        except OSError as error:
            logger.warning("the end of this run is not recorded: %s", sentence_of(error))

    def _record(self, attempt: Attempt) -> Record:
        """Returns the record with a new attempt; of the same run where there was one."""
        root = self._stages[-1]
        stages = tuple(map(self._recorded, self._stages))
        known = self._records.of_digest(self._digest)
        if known is not None:
            return replace(known, stages=stages).with_attempt(attempt)
        return Record(
            name=self._records.free_name(self._digest),
            digest=self._digest,
            stage=root.name,
            parameters=changed_parameters(root.task),
            stages=stages,
            attempts=(attempt,),
        )

    def _recorded(self, stage: Stage) -> RecordedStage:
        return RecordedStage(
            id=stage.id,
            name=stage.name,
            about=stage.about,
            digest=identity_of(stage.task),
            parameters=changed_parameters(stage.task),
            folders=self._within(stage.folders),
            needs=stage.needs,
            caches=self._within(caches_of(stage)),
        )

    def _gained(self) -> dict[str, Any]:
        """Returns what of the record is known once the run is done."""
        asked = [one for one in _asked_for(self._root) if isinstance(one, ReportingTask)]
        gained: dict[str, Any] = {}
        with suppress(Exception):  # a run that is done does not fail by what is said of it
            gained["scores"] = scores_of(self._stages)
            headlines = (one.headline() for one in asked)
            gained["headline"] = tuple(map(told, next(filter(None, headlines), [])))
        made = next((one for one in asked if isinstance(one, Artefact)), None)
        if made is not None:
            gained["result"] = "".join(self._within([made.folder / made.announced]))
        return gained

    def _failures(self) -> Iterator[RecordedFailure]:
        for failure in failures_so_far():
            folder = self._within([failure.folder] if failure.folder is not None else [])
            yield RecordedFailure(failure.stage, failure.sentence, "".join(folder))

    def _within(self, paths: list[Path]) -> tuple[str, ...]:
        """Returns paths as they lie in the work folder; those outside of it are left out."""
        work = self._records.work_folder
        return tuple(one.relative_to(work).as_posix() for one in paths if one.is_relative_to(work))


def _asked_for(root: luigi.Task) -> list[luigi.Task]:
    """Returns a task, and those that it asks for if it makes nothing itself."""
    return [root, *flatten(root.requires())] if isinstance(root, luigi.WrapperTask) else [root]


def _new_attempt() -> Attempt:
    versions = made_with()
    return Attempt(
        id=secrets.token_hex(6),
        began=_now(),
        host=socket.gethostname(),
        process=os.getpid(),
        command=command_line() or "",
        commit=versions.pop("commit", ""),
        versions=versions,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
