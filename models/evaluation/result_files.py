"""One JSON file per row of the probing table, written whole and read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from models.evaluation.probe_result import ProbeResult, TaskScore
from models.evaluation.probing.declarations import in_declared_order
from models.evaluation.statistics.interval import Interval
from pipeline.atomic_files import write_json_atomically

FORMAT_VERSION = 3


@dataclass(frozen=True, slots=True)
class RowResult:
    """A named row of the probing table."""

    name: str
    description: str
    result: ProbeResult
    config: Mapping[str, Any]
    """The probe's configuration and where the embeddings came from."""


def write_row(path: Path, row: RowResult) -> None:
    """Writes a row's result; the file appears whole or not at all."""
    value = asdict(row)
    for task in value["result"]["tasks"].values():
        task["correct"] = "".join(str(answer) for answer in task["correct"])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json_atomically(path, {"format_version": FORMAT_VERSION, **value})


def read_row(path: Path) -> RowResult:
    """Returns a row's result.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a result of this version.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such result; run the evaluation that writes it")
    value = json.loads(path.read_text(encoding="utf-8"))
    if value.get("format_version") != FORMAT_VERSION:
        raise ValueError(f"{path}: not a probing result of version {FORMAT_VERSION}")
    result = value["result"]
    tasks = {name: _task(result["tasks"][name]) for name in in_declared_order(result["tasks"])}
    probed = ProbeResult(tasks, Interval(**result["average"]), result["width"], result["seconds"])
    return RowResult(value["name"], value["description"], probed, value["config"])


def _task(value: Mapping[str, Any]) -> TaskScore:
    return TaskScore(
        **{
            **value,
            "accuracy": Interval(**value["accuracy"]),
            "correct": tuple(int(answer) for answer in value["correct"]),
            "clusters": tuple(value["clusters"]),
        }
    )
