"""What a report is made of. Everything is a plain path, mapping or value; no task and no model."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from models.report.evaluation_table import PublishedColumn
from models.report.probing_table import RowFiles
from pipeline.base.machine import processor
from pipeline.shards.manifests import DatasetManifest


@dataclass(frozen=True, slots=True)
class StageRecord:
    """One stage of the run."""

    name: str
    """As a person would call it: ``dependencies``, ``training``."""
    rows: int
    """Rows it wrote, or sentences it worked through."""
    seconds: float
    """Its own time, summed over its shards."""
    drops: Mapping[str, int] = field(default_factory=dict)
    """Sentences it refused, by reason; they are in its quarantine files."""
    not_selected: Mapping[str, int] = field(default_factory=dict)
    """Sentences of the stage before that it does not use, by reason; they are in no quarantine."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Files and folders among the text's paths that it did not read, by reason."""

    @classmethod
    def of_dataset(cls, name: str, manifest: DatasetManifest) -> StageRecord:
        """Returns the record of a stage that wrote shards."""
        left_out = manifest.config.get("left_out", {})
        return cls(name, manifest.rows, manifest.seconds, manifest.drops, left_out=left_out)


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """Everything that a report says something about."""

    config: Mapping[str, Any]
    """The resolved configuration of the run; ``seed`` among it where there is one."""
    stages: tuple[StageRecord, ...]
    """In the order in which they ran."""
    training_folder: Path
    """With ``summary.json`` and ``metrics.jsonl``; of the first training seed."""
    probing_folder: Path
    rows: tuple[RowFiles, ...]
    """Results of the rows of the probing table, in its order."""
    parsers: tuple[Mapping[str, Any], ...] = ()
    """``kind``, ``name``, ``checksum`` and, where the card has them, ``scores`` of each parser."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """By package; see `installed_versions`."""
    commit: str | None = None
    further_training_folders: tuple[Path, ...] = ()
    """Of the other training seeds, where there are any."""
    title: str = "Treeviews: report of a run"
    corpus: str | None = None
    """The text that was read, as a person would name it: ``python-docs, CPython 3.11.7``."""
    command: str | None = None
    """The command line that repeats the run."""
    machine: str | None = None
    """On which the report was written, in words; see `machine_in_words`."""
    senteval: tuple[Path, ...] = ()
    """Folders of results on SentEval's tasks, one an encoder and seed; none where not scored."""
    published: tuple[PublishedColumn, ...] = ()
    """What papers report on these tasks."""


PACKAGES = ("treeviews", "torch", "numpy", "pyarrow", "luigi", "spacy", "supar", "benepar")


def installed_versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Returns the version of Python and of each package, ``not installed`` where it is absent."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def machine_in_words() -> str:
    """Returns system, processor and cores of this machine; not its name."""
    cores = os.cpu_count() or 1
    plural = "s" if cores > 1 else ""
    return f"{platform.system()} {platform.machine()}, {cores} core{plural} of {processor()}"
