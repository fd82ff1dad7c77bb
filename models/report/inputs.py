"""What a report is made of: plain paths and mappings, no task and no model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.shards import DatasetManifest


@dataclass(frozen=True, slots=True)
class StageRecord:
    """One stage of the run."""

    name: str
    """As a person would call it: ``sentences``, ``dependencies (shifted)``."""
    rows: int
    """Rows it wrote."""
    seconds: float
    """Its own time, summed over its shards."""
    drops: Mapping[str, int] = field(default_factory=dict)
    """Sentences it refused, by reason."""

    @classmethod
    def of_dataset(cls, name: str, manifest: DatasetManifest) -> StageRecord:
        """Returns the record of a stage that wrote shards."""
        return cls(name, manifest.rows, manifest.seconds, manifest.drops)


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """Everything that a report says something about."""

    config: Mapping[str, Any]
    """The resolved configuration of the run; ``seed`` among it where there is one."""
    stages: tuple[StageRecord, ...]
    """In the order in which they ran."""
    training_folder: Path
    """With ``summary.json`` and ``metrics.jsonl``."""
    probing_folder: Path
    row_files: tuple[Path, ...]
    """Results of the probing rows, in the table's order."""
    parsers: tuple[Mapping[str, Any], ...] = ()
    """``kind``, ``name``, ``checksum`` and, where the card has them, ``scores`` of each parser."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """By package; see ``versions.installed_versions``."""
    commit: str | None = None
    title: str = "Treeviews: report of a run"
