"""Why stages would run: what changed against the nearest finished one of the same stage, in words.

A stage's configuration names what it was made from by digests. Where one of these has changed and
would be made anew, too, the cause is followed to it, so that it is told once, where it lies.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import luigi

from pipeline.base.foreign_text import values_without_secrets
from tasks.artefact import CONFIG_NAME, Artefact
from tasks.runs.differences import differences_of
from tasks.runs.graph import Stage, stages_of, to_run
from tasks.runs.made import Made, WorkFolder
from tasks.runs.records import Records
from tasks.runs.why.difference_words import DifferenceWords

Kind = Literal["changed", "never made", "deleted", "unfinished", "failed", "follows"]
"""A stage that follows has no reason of its own: what it is made from changes."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a stage would run."""

    stage: str
    """Its id."""
    name: str
    about: str
    kind: Kind
    sentences: tuple[str, ...]
    """What is known of it in words; none where it only follows others."""
    because: tuple[str, ...]
    """Ids of the stages whose own changes are the cause."""
    compared_with: Path | None
    """The nearest finished folder; None where there is none."""


def reasons_of(root: luigi.Task) -> tuple[list[Stage], list[Reason]]:
    """Returns the stages of what a task asks for, and why those would run that fill a folder.

    Raises:
        OSError, ValueError: it cannot be asked for so; see the tasks' ``requires``.
    """
    stages = stages_of(root)
    reasons = _Reasons(stages, Path(getattr(root, "work_folder", "")))
    return stages, [reasons.of(stage) for stage in to_run(stages) if stage.folders]


@dataclass(frozen=True, slots=True)
class _Part:
    """The reason of one task of a stage; `EvaluateEncoder` stands for one a task to score."""

    kind: Kind
    sentences: tuple[str, ...] = ()
    because: frozenset[str] = frozenset()
    nearest: Path | None = None


class _Reasons:
    """Finds the reasons of the stages of one run, each once."""

    def __init__(self, stages: list[Stage], work_folder: Path) -> None:
        self._root = stages[-1].task
        self._wanted = {stage.id: stage for stage in to_run(stages)}
        self._work = WorkFolder(work_folder)
        self._records = Records(work_folder)
        self._stage_of_digest = {
            task.digest: stage.id for stage in stages for task in _tasks_of(stage)
        }
        self._found: dict[str, Reason] = {}

    def of(self, stage: Stage) -> Reason:
        """Returns the reason of a stage."""
        if stage.id not in self._found:
            self._found[stage.id] = self._reason(stage)
        return self._found[stage.id]

    @cached_property
    def _failed(self) -> dict[Path, str]:
        return self._records.failed_folders()

    @cached_property
    def _made_by(self) -> dict[str, str]:
        """Digest of a stage that a finished run had -> the name of the run."""
        return {
            stage.digest: record.name
            for record in self._records
            if any(attempt.outcome == "done" for attempt in record.attempts)
            for stage in record.stages
        }

    @cached_property
    def _parameters_of(self) -> dict[str, Mapping[str, Any]]:
        """Digest of a stage that a run had -> the parameters that were not at their defaults."""
        return {s.digest: s.parameters for record in self._records for s in record.stages}

    def _reason(self, stage: Stage) -> Reason:
        tasks = [task for task in _tasks_of(stage) if task is not stage.task] or [stage.task]
        parts = [self._part(stage, task) for task in tasks if not _stands(task)]
        own = [part for part in parts if part.kind != "follows"]
        because = {one for part in parts for one in part.because}
        origins = dict.fromkeys(origin for one in sorted(because) for origin in self._origins(one))
        sentences = dict.fromkeys(sentence for part in own for sentence in part.sentences)
        return Reason(
            stage=stage.id,
            name=stage.name,
            about=stage.about,
            kind=own[0].kind if own else "follows",
            sentences=tuple(sentences),
            because=tuple(origins),
            compared_with=next((part.nearest for part in parts if part.nearest), None),
        )

    def _origins(self, stage_id: str) -> Iterable[str]:
        """Returns the stages where a cause lies that reaches another through this one."""
        reason = self.of(self._wanted[stage_id])
        return reason.because if reason.kind == "follows" and reason.because else (stage_id,)

    def _part(self, stage: Stage, task: luigi.Task) -> _Part:
        if not isinstance(task, Artefact):
            return _Part("never made", ("never made",))
        if error := next((self._failed[one] for one in stage.folders if one in self._failed), ""):
            return _Part("failed", (f"failed in the last run: {error}",))
        if stage.problem:
            return _Part("failed", (stage.problem,))
        if (task.folder / CONFIG_NAME).exists():
            return _Part("unfinished", (_unfinished(stage, task),))
        if by := self._known_to_be_made(task):
            return _Part("deleted", (f"it was made once and is deleted: {by}",))
        return self._compared(task)

    def _known_to_be_made(self, task: Artefact) -> str:
        """Returns who tells that a stage was made that is not there; empty where nobody does."""
        if name := self._made_by.get(task.digest):
            return f"run {name} had it"
        if folder := self._work.mentioned.get(task.digest):
            return f"{folder.relative_to(self._work.path)} was made from it"
        return ""

    def _compared(self, task: Artefact) -> _Part:
        """Returns what differs from the nearest finished folder of the same stage."""
        content = _content_of(task)
        near = self._nearest(task, content)
        if near is None:
            return _Part("never made", ("never made in this work folder",))
        told = self._words(task).told(near, content)
        because = frozenset(told.because)
        if told.sentences:
            return _Part("changed", told.sentences, because, near.folder)
        if because:
            return _Part("follows", (), because, near.folder)
        return _Part("changed", ("made from what is not there any more",), because, near.folder)

    def _words(self, task: Artefact) -> DifferenceWords:
        return DifferenceWords(
            task=task,
            made=self._work.made,
            stage_of_digest=self._stage_of_digest,
            wanted=set(self._wanted),
            parameters_of=self._parameters_of,
            asked=self._root,
        )

    def _nearest(self, task: Artefact, content: Mapping[str, Any]) -> Made | None:
        """Returns the finished folder that fewest fields differ in, their digests counting last."""
        words = self._words(task)

        def distance(made: Made) -> tuple[int, int]:
            found = differences_of(made.config, content)
            of_digests = sum(words.is_of_digests(one) for one in found)
            return len(found) - of_digests, of_digests

        found = self._work.finished(task.task_family)
        alike = [one for one in found if one.config.get("task") == content.get("task")]
        return min(alike, key=distance, default=None)


def _tasks_of(stage: Stage) -> list[Artefact]:
    """Returns the tasks of a stage that fill a folder, and those that it makes in one job."""
    own = [task for task in stage.tasks if isinstance(task, Artefact)]
    return own + [one for task in own for one in getattr(task, "evaluations", ())]


def _stands(task: luigi.Task) -> bool:
    try:
        return bool(task.complete())
    except (OSError, ValueError):
        return False


def _content_of(task: Artefact) -> dict[str, Any]:
    """Returns a stage's configuration as it would stand in its folder."""
    content: dict[str, Any] = json.loads(json.dumps(values_without_secrets(task.content())))
    return content


def _unfinished(stage: Stage, task: Artefact) -> str:
    """Returns what there is of a stage whose folder was begun, or lost something since."""
    begun = all(not Path(one.path).exists() for one in luigi.task.flatten(task.output()))
    what = "begun and not finished" if begun else "files of it are gone, or changed since"
    if stage.parts is None or stage.parts.num is None:
        return what
    return f"{what}: {stage.parts.num_done:,} of {stage.parts.num:,} parts are there"
