"""The graph of a run: which stages a task stands on, and what of each is there.

Luigi's tasks are asked, and their folders listed; nothing is made or written. What jobs of a stage
make, such as shards, are parts of it and no stages of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

import luigi
from luigi.task import flatten

from models.report.stage_graph import StageGraph, StageNode, State
from pipeline.base.digest import digest_of
from pipeline.base.foreign_text import without_secrets
from pipeline.base.mistakes import sentence_of
from tasks.artefact import Artefact, Parts, ReportingTask
from tasks.failures import folders_of_files
from tasks.runs.folders import bytes_below, is_begun


@dataclass
class Stage:
    """A stage of a run, and the tasks that stand for it."""

    id: str
    tasks: tuple[luigi.Task, ...]
    """Of one folder: they differ in settings of the machine alone, or in what of it they need."""
    needs: tuple[str, ...]
    """Ids of the stages that it is made from."""
    about: str = ""
    """What tells it from others of its name in the run."""
    _complete: bool = False

    @property
    def task(self) -> luigi.Task:
        """The first of them."""
        return self.tasks[0]

    @property
    def name(self) -> str:
        """The task's, as a user asks for it."""
        name: str = self.task.task_family
        return name

    @property
    def folder(self) -> Path | None:
        """The one that it is known by; None where it fills none."""
        if isinstance(self.task, Artefact):
            return self.task.folder
        return next(iter(self.folders), None)

    @cached_property
    def folders(self) -> list[Path]:
        """Every folder that is the stage's own."""
        return sorted({folder for task in self.tasks for folder in _folders_of(task)})

    @property
    def places(self) -> set[Path]:
        """The folders in which there is something once it is begun."""
        if isinstance(self.task, Artefact):
            return self.task.places()
        return set(self.folders)

    @cached_property
    def problem(self) -> str:
        """What is damaged of it, as its run would tell; empty where it can be asked for."""
        try:
            self._complete = all(task.complete() for task in self.tasks)
        except (OSError, ValueError) as error:
            return sentence_of(error)
        return ""

    @property
    def is_complete(self) -> bool:
        """Whether a run would make nothing of it."""
        return not self.problem and self._complete

    @cached_property
    def parts(self) -> Parts | None:
        """How many parts it has and how many stand; None where it has none."""
        return self.task.parts() if isinstance(self.task, Artefact) else None


def identity_of(task: luigi.Task) -> str:
    """Returns a digest of what a task makes, or of what it asks for where it makes nothing itself.

    Raises:
        OSError, ValueError: it cannot be asked for so; see the task's ``content``.
    """
    if isinstance(task, Artefact):
        return task.digest
    named: dict[str, Any] = {"task": task.task_family}
    if isinstance(task, luigi.WrapperTask):
        return digest_of(named | {"needs": [identity_of(one) for one in flatten(task.requires())]})
    return digest_of(named | {"parameters": task.to_str_params(only_significant=True)})


def stages_of(root: luigi.Task) -> list[Stage]:
    """Returns the stages that a task stands on and itself, what is needed before what needs it.

    Raises:
        OSError, ValueError: it cannot be asked for so; see the tasks' ``requires``.
    """
    tasks: dict[str, dict[luigi.Task, None]] = {}
    needs: dict[str, dict[str, None]] = {}
    ids: dict[luigi.Task, str] = {}
    waiting = [root]
    while waiting:
        task = waiting.pop()
        if task in ids:
            continue
        ids[task] = _id_of(task)
        tasks.setdefault(ids[task], {})[task] = None
        needed = flatten(task.requires())
        if isinstance(task, Artefact):
            needed += task.later()
        needs.setdefault(ids[task], {}).update(dict.fromkeys(map(_id_of, needed)))
        waiting += reversed(needed)
    ordered = _in_order(ids[root], needs)
    about = told_apart({one: next(iter(tasks[one])) for one in ordered})
    return [
        Stage(one, tuple(tasks[one]), tuple(n for n in needs[one] if n != one), about[one])
        for one in ordered
    ]


def graph_of(root: luigi.Task, failed: Collection[Path] = ()) -> StageGraph:
    """Returns the stages of a run, as they are now.

    Args:
        root: the task that was asked for.
        failed: folders of stages, or of their jobs, that ended by an error in the last run.

    Raises:
        OSError, ValueError: it cannot be asked for so; see the tasks' ``requires``.
    """
    return drawn(stages_of(root), failed)


def drawn(stages: list[Stage], failed: Collection[Path] = ()) -> StageGraph:
    """Returns the stages of a run, the last of which was asked for, as plain values."""
    states = states_of(stages, failed)
    nodes = tuple(_node(stage, states[stage.id]) for stage in stages)
    return StageGraph(stages[-1].id, nodes)


def to_run(stages: list[Stage]) -> list[Stage]:
    """Returns the stages that a run would make, in order.

    Luigi asks for nothing that only a complete stage needs, whatever is gone of it.
    """
    by_id = {stage.id: stage for stage in stages}
    wanted: dict[str, None] = {}
    waiting = [stages[-1]]
    while waiting:
        stage = waiting.pop()
        if stage.id not in wanted and not stage.is_complete:
            wanted[stage.id] = None
            waiting += [by_id[need] for need in stage.needs]
    return [stage for stage in stages if stage.id in wanted]


def states_of(stages: list[Stage], failed: Collection[Path] = ()) -> dict[str, State]:
    """Returns the state of each stage, by its id."""
    for stage in reversed(stages):
        stage.problem  # noqa: B018 - what was asked for is asked first, as Luigi does
    states: dict[str, State] = {}
    for stage in stages:
        states[stage.id] = _state(stage, failed, [states[one] for one in stage.needs])
    return states


def _state(stage: Stage, failed: Collection[Path], of_needed: Collection[State]) -> State:
    if stage.is_complete:
        return "done"
    if stage.problem or any(folder in failed for folder in stage.folders):
        return "failed"
    if not stage.folders:
        return "partial" if {"done", "partial", "failed"}.intersection(of_needed) else "missing"
    begun = (stage.parts is not None and stage.parts.num_done) or any(map(is_begun, stage.places))
    return "partial" if begun else "missing"


def _node(stage: Stage, state: State) -> StageNode:
    seconds, done = None, state == "done"
    if done and isinstance(stage.task, Artefact):
        with suppress(OSError, ValueError):
            seconds = stage.task.seconds()
    sizes = [size for folder in stage.folders if (size := bytes_below(folder)) is not None]
    parts = stage.parts
    return StageNode(
        id=stage.id,
        name=stage.name,
        about=stage.about,
        folder=stage.folder,
        state=state,
        needs=stage.needs,
        num_parts=parts.num if parts else None,
        num_parts_done=parts.num_done if parts else None,
        seconds=seconds,
        num_bytes=sum(sizes) if sizes else None,
    )


def _id_of(task: luigi.Task) -> str:
    return f"{task.task_family}-{identity_of(task)}"


def _folders_of(task: luigi.Task) -> set[Path]:
    """Returns the folders that a task fills; none where it only asks for others."""
    if isinstance(task, Artefact):
        return task.own_folders()
    return folders_of_files(task) if isinstance(task, ReportingTask) else set()


def _in_order(root: str, needs: Mapping[str, Collection[str]]) -> list[str]:
    """Returns the root's id and all it stands on, what is needed first, each once."""
    ordered: dict[str, None] = {}
    entered: set[str] = set()
    waiting = [(root, False)]
    while waiting:
        one, is_left = waiting.pop()
        if is_left:
            ordered[one] = None
        elif one not in entered:
            entered.add(one)
            waiting.append((one, True))
            waiting += [(need, False) for need in reversed(list(needs[one]))]
    return list(ordered)


def told_apart(tasks: Mapping[str, luigi.Task]) -> dict[str, str]:
    """Returns what tells each task from others of its name, in the words of its parameters."""
    by_name: dict[str, dict[str, luigi.Task]] = {}
    for one, task in tasks.items():
        by_name.setdefault(task.task_family, {})[one] = task
    return {one: text for alike in by_name.values() for one, text in _apart(alike).items()}


def _apart(alike: Mapping[str, luigi.Task]) -> dict[str, str]:
    """Returns of tasks of one name the parameters that are enough to tell them apart."""
    told = {one: dict(_words_of(task)) for one, task in alike.items()}
    names = dict.fromkeys(name for words in told.values() for name in words)
    chosen = _enough(list(names), list(told.values()))
    return {
        one: ", ".join(words[name] for name in names if name in chosen and name in words)
        for one, words in told.items()
    }


def _enough(names: list[str], told: list[dict[str, str]]) -> set[str]:
    """Returns names, few of them, by whose words all are told apart that differ in any."""
    chosen: set[str] = set()
    groups = [0] * len(told)
    while True:
        splits = {
            name: [(g, w.get(name)) for g, w in zip(groups, told, strict=True)] for name in names
        }
        counts = {name: len(set(split)) for name, split in splits.items()}
        # Of those that tell as many apart, the one in the fewest words.
        best = min(names, key=lambda name: (-counts[name], _length(name, told)), default=None)
        if best is None or counts[best] == len(set(groups)):
            return chosen
        chosen.add(best)
        numbers = {pair: number for number, pair in enumerate(dict.fromkeys(splits[best]))}
        groups = [numbers[pair] for pair in splits[best]]


def _length(name: str, told: list[dict[str, str]]) -> int:
    return max(len(words.get(name, "")) for words in told)


def _words_of(task: luigi.Task) -> Iterator[tuple[str, str]]:
    """Yields the significant parameters of a task that have a value, each with its words."""
    named = task.get_params()
    for name, parameter in sorted(named, key=lambda one: isinstance(one[1], luigi.DictParameter)):
        if parameter.significant:
            yield from _in_words(name, name, getattr(task, name))


def _in_words(key: str, name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yields a parameter's key and words, of an object those of its fields; nothing of no value.

    Without secrets; of a path the last part.
    """
    name = name.replace("_", " ")
    if isinstance(value, Mapping):
        for field, inner in value.items():
            yield from _in_words(f"{key}.{field}", str(field), inner)
    elif value is True:
        yield key, name
    elif value is not None and value != "":
        if isinstance(value, list | tuple):
            value = ",".join(map(str, value))
        text = str(without_secrets(str(value)))
        yield key, f"{name} {PurePath(text).name if text.startswith('/') else text}"
