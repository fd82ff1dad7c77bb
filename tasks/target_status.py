"""What of a target is there: Luigi's walk from the task that is asked for to all that it needs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import luigi
from luigi.task import flatten

from treeviews.models.listing import bytes_below, size_in_words
from treeviews.pipeline.base.mistakes import sentence_of
from treeviews.pipeline.shards.manifests import manifest_path, shard_numbers
from treeviews.tasks.artefact import Artefact

State = Literal["done", "begun", "missing", "damaged"]


@dataclass
class StageStatus:
    """A stage that a target needs, or the target itself."""

    name: str
    folder: Path | None
    """None where it fills none."""
    state: State
    num_bytes: int = 0
    num_shards: int = 0
    problem: str = ""
    """Why it is damaged, and what to do."""
    would_run: bool = False


def status_of(root: luigi.Task) -> list[StageStatus]:
    """Returns the stages of a target, each folder once, what is needed before what needs it.

    Raises:
        OSError, ValueError: it cannot be asked for so; see the tasks' ``requires``.
    """
    found: dict[str, StageStatus] = {}
    needs: dict[str, list[str]] = {}

    def visit(task: luigi.Task) -> str:
        folder = task.folder if isinstance(task, Artefact) else None
        key = str(folder or task.task_id)
        if key not in needs:
            needs[key] = []
            needs[key] = [visit(need) for need in flatten(task.requires())]
            found[key] = _status(task, folder)
        return key

    waiting = [visit(root)]
    while waiting:  # Luigi asks for nothing that only a complete stage needs
        key = waiting.pop()
        if found[key].state != "done" and not found[key].would_run:
            found[key].would_run = True
            waiting += needs[key]
    return list(found.values())


def _status(task: luigi.Task, folder: Path | None) -> StageStatus:
    status = StageStatus(task.task_family, folder, "missing")
    if folder is not None:
        status.num_bytes = bytes_below(folder)
        shards = shard_numbers(folder)
        status.num_shards = sum(manifest_path(folder, number).exists() for number in shards)
    try:
        status.state = "done" if task.complete() else "begun" if status.num_bytes else "missing"
    except (OSError, ValueError) as error:
        status.state, status.problem = "damaged", sentence_of(error)
    return status


def status_lines(stages: list[StageStatus]) -> list[str]:
    """Returns a line for the stages of each name and state, and last what would run."""
    groups: dict[tuple[str, str], list[StageStatus]] = {}
    for stage in stages:
        if stage.folder is not None or stage.state != "done":
            groups.setdefault((stage.state, stage.name), []).append(stage)
    lines = []
    for (state, name), alike in groups.items():
        many = f" × {len(alike)}" if len(alike) > 1 else ""
        num_bytes = sum(stage.num_bytes for stage in alike)
        num_shards = sum(stage.num_shards for stage in alike)
        shards = f"{num_shards:,} shard{'s' * (num_shards > 1)}" if num_shards else ""
        size = size_in_words(num_bytes) if num_bytes else ""
        lines.append(f"{state:7}  {name + many:32}  {size:>8}  {shards}".rstrip())
        lines += [f"         {stage.problem}" for stage in alike if stage.problem]
    names = Counter(stage.name for stage in stages if stage.would_run)
    would = ", ".join(f"{name} × {n}" if n > 1 else name for name, n in names.items())
    return [*lines, f"would run: {would}" if would else "nothing would run: all of it is there"]
