"""The stage that writes the report."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from models.report.inputs import ReportInputs, StageRecord
from models.report.report import write_report
from models.report.versions import installed_versions
from pipeline.shards import read_dataset_manifest
from tasks.evaluation import BuildProbing, ProbingStage, row_tasks
from tasks.parsing import ParseStage


class WriteReport(ProbingStage):
    """Writes what was run, on what, with which result: report.md, report.json and plots."""

    marker = "report.json"

    def requires(self) -> dict[str, Any]:
        """Returns everything the report reads."""
        return {"rows": row_tasks(self), "training": self.training, "probing": self.probing}

    def content(self) -> dict[str, Any]:
        """Returns the digests of everything the report reads."""
        return {
            "rows": [task.digest for task in row_tasks(self)],
            "training": self.training.digest,
            "probing": self.probing.digest,
        }

    def place(self) -> Path:
        """Returns the report's folder."""
        return (
            self.work_folder / "reports" / f"{self.source}-{'-'.join(self.training.config.views)}"
        )

    def run(self) -> None:
        """Gathers the stages' manifests and writes the report."""
        self.write_config()
        stages = self.probing.requires()["corpus"]
        inputs = ReportInputs(
            config=self.resolved_config(),
            stages=stage_records(self.probing),
            training_folder=self.training.folder,
            probing_folder=self.probing.folder,
            row_files=tuple(task.folder / task.marker for task in row_tasks(self)),
            parsers=tuple(parser_record(s) for s in stages.values() if isinstance(s, ParseStage)),
            versions=installed_versions(),
            commit=current_commit(),
        )
        write_report(self.folder, inputs)

    def resolved_config(self) -> dict[str, Any]:
        """Returns the configuration of every stage the report stands on."""
        stages = self.probing.requires()["corpus"]
        return {
            **{name: task.content() for name, task in stages.items()},
            "training": self.training.content(),
            "probing": self.probing.content(),
        }


def stage_records(probing: BuildProbing) -> tuple[StageRecord, ...]:
    """Returns rows, drops and seconds of every stage that writes shards."""
    titles = {"corpus": "", "shifted": " (altered sentences)"}
    return tuple(
        StageRecord.of_dataset(name + titles[part], read_dataset_manifest(task.folder, name))
        for part, stages in probing.requires().items()
        for name, task in stages.items()
    )


def parser_record(stage: ParseStage) -> dict[str, Any]:
    """Returns which parser a stage used, with its card's scores where it has them."""
    return {
        "kind": stage.stage,
        "name": stage.parser_folder.name,
        "checksum": stage.content()["parser_checksum"],
    }


def current_commit() -> str | None:
    """Returns the commit of the working tree this code runs from, or None outside of git."""
    repository = Path(__file__).resolve().parent
    command = ["git", "-C", str(repository), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.strip() or None
