"""The status of a run: its stages with their states, sizes and times, and what would run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import luigi

from models.report.stage_graph import StageGraph, StageNode
from models.training.logs import duration
from pipeline.base.foreign_text import printable
from tasks.runs.graph import drawn, identity_of, stages_of, to_run
from tasks.runs.records import Records
from tasks.runs.words import aligned, size_in_words, wrapped

_MOST_ALIKE = 8
"""Stages of one name in one state that have a line each; more have one together."""
_WIDTH = 120
"""Characters of a line where there is no terminal."""
_LEAST_OF_LABEL = 30


@dataclass(frozen=True, slots=True)
class Status:
    """What of a run is there, and what the same command would make."""

    graph: StageGraph
    to_run: tuple[str, ...]
    """Ids of the stages that would run, in order."""
    errors: Mapping[str, str]
    """Id of a stage that failed -> the sentence of its error."""
    run: str
    """Name that the run is recorded by; empty where it is not."""
    at_work: bool
    """Whether the run is on now."""

    def to_dict(self) -> dict[str, Any]:
        """Returns it as JSON knows it."""
        stages = [
            asdict(node) | {"error": self.errors.get(node.id), "would_run": node.id in self.to_run}
            for node in self.graph.nodes
        ]
        named = {"run": self.run or None, "at_work": self.at_work}
        return {**named, "root": self.graph.root, "stages": stages, "would_run": list(self.to_run)}


def status_of(root: luigi.Task) -> Status:
    """Returns the status of what a task asks for.

    Raises:
        OSError, ValueError: it cannot be asked for so; see the tasks' ``requires``.
    """
    records = Records(Path(getattr(root, "work_folder", "")))
    stages, failed = stages_of(root), records.failed_folders()
    wanted = to_run(stages)
    graph = drawn(stages, failed)
    states = {node.id: node.state for node in graph.nodes}
    errors = {
        stage.id: stage.problem or next(failed[one] for one in stage.folders if one in failed)
        for stage in stages
        if states[stage.id] == "failed"
    }
    digest = identity_of(root)
    record = records.of_digest(digest)
    return Status(
        graph=graph,
        to_run=tuple(stage.id for stage in wanted),
        errors=errors,
        run="" if record is None else record.name,
        at_work=records.is_at_work(digest),
    )


def status_lines(status: Status, width: int | None = None, *, each: bool = False) -> list[str]:
    """Returns the status as people read it: a line a stage, and last what would run.

    Args:
        status: of a run.
        width: characters of a line of the terminal; None where there is none.
        each: gives each stage its line, where alike ones of one name would have one together.
    """
    groups = [[node] for node in status.graph.nodes] if each else _groups(status)
    rows = [_row(status, group) for group in groups]
    others = [(row[0], "", *row[2:]) for row in rows]
    taken = max(map(len, aligned(others, right=(2, 3, 4))))  # by all but the labels
    labels = [wrapped(row[1], max(_LEAST_OF_LABEL, (width or _WIDTH) - taken)) for row in rows]
    told = [(row[0], label[0], *row[2:]) for row, label in zip(rows, labels, strict=True)]
    indent = max(len(row[0]) for row in rows) + 4
    lines = [_title(status)]
    for group, label, line in zip(groups, labels, aligned(told, right=(2, 3, 4)), strict=True):
        lines += [line, *(f"{'':{indent}}{more}" for more in label[1:])]
        if error := status.errors.get(group[0].id):
            lines.append(f"{'':8}{printable(error)}")
    if len(groups) < len(status.graph.nodes):
        lines.append("× counts stages that are alike; --all has a line for each")
    return [*lines, "", _last_line(status)]


def _groups(status: Status) -> list[list[StageNode]]:
    """Returns the stages, those that have one line together in one list, in order."""
    alike: dict[tuple[str, ...], list[StageNode]] = {}
    for node in status.graph.nodes:
        alike.setdefault(_kind(status, node), []).append(node)
    groups: dict[tuple[str, ...], list[StageNode]] = {}
    for node in status.graph.nodes:
        kind = _kind(status, node)
        many = len(alike[kind]) > _MOST_ALIKE and node.state != "failed"
        groups.setdefault(kind if many else (node.id,), []).append(node)
    return list(groups.values())


def _kind(status: Status, node: StageNode) -> tuple[str, ...]:
    return node.name, node.state, _not_needed(status, node)


def _not_needed(status: Status, node: StageNode) -> str:
    return ", not needed" if node.state != "done" and node.id not in status.to_run else ""


def _title(status: Status) -> str:
    nodes = [node for node in status.graph.nodes if node.folder is not None]
    done = sum(node.state == "done" for node in nodes)
    name = f", run {status.run}" if status.run else ""
    at_work = ", at work now" if status.at_work else ""
    return f"{status.graph.nodes[-1].name}{name}: {done} of {len(nodes)} stages done{at_work}"


def _row(status: Status, group: list[StageNode]) -> list[str]:
    """Returns the cells of one stage, or of several that are alike: what they have together."""
    node = group[0]
    about = f" ({printable(node.about)})" if node.about else ""
    seconds = [one.seconds for one in group if one.seconds is not None]
    sizes = [one.num_bytes for one in group if one.num_bytes is not None]
    return [
        node.state,
        f"{node.name}{f' × {len(group)}' if len(group) > 1 else about}{_not_needed(status, node)}",
        _parts(group),
        duration(sum(seconds)) if seconds else "",
        size_in_words(sum(sizes)) if sizes else "",
    ]


def _parts(group: list[StageNode]) -> str:
    done = [one.num_parts_done for one in group if one.num_parts_done is not None]
    planned = [one.num_parts for one in group]
    known = [one for one in planned if one is not None]
    if not done or not (sum(known) or sum(done)):
        return ""
    return f"{sum(done):,}{f' of {sum(known):,}' if len(known) == len(planned) else ''}"


def _last_line(status: Status) -> str:
    wanted = [one for one in status.graph.nodes if one.id in status.to_run and one.folder]
    if not status.to_run:
        return "nothing would run: all that was asked for is there"
    return f"would run: {counted([node.name for node in wanted])}"


def counted(names: Sequence[str]) -> str:
    """Returns names, each once, with how many there are of it: ``TrainEncoders (3)``."""
    counts = Counter(names)
    return ", ".join(f"{name} ({n})" if n > 1 else name for name, n in counts.items())
