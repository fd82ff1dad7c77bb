"""The stage that writes the report."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from models.report.inputs import REPORT_VERSION, ReportInputs, StageRecord
from models.report.report import write_report
from models.report.versions import installed_versions
from pipeline.manifests import read_dataset_manifest
from tasks.evaluation import BuildProbing, EmbedProbing, ProbingStage, row_tasks
from tasks.parsing import ParseStage
from tasks.word_vectors import UsedVectors


class WriteReport(ProbingStage):
    """Writes what was run, on what, with which result: report.md, report.json and plots."""

    marker = "report.json"
    announced = "report.md"

    def requires(self) -> dict[str, Any]:
        """Returns everything the report reads, also what its rows were made from."""
        return {
            "rows": row_tasks(self),
            "trainings": self.trainings,
            "probing": self.probing,
            "embeddings": self.embeddings(),
            "stages": [task for part in self.probing.requires().values() for task in part.values()],
            **self.training.word_vectors.requires,
        }

    def content(self) -> dict[str, Any]:
        """Returns the digests of everything the report reads."""
        return {
            "rows": [task.digest for task in row_tasks(self)],
            "trainings": [task.digest for task in self.trainings],
            "probing": self.probing.digest,
            "report_version": REPORT_VERSION,
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
            stages=(
                *shard_records(self.probing),
                *vector_records(self.training.word_vectors),
                *self.model_records(),
            ),
            training_folder=self.training.folder,
            further_training_folders=tuple(task.folder for task in self.trainings[1:]),
            probing_folder=self.probing.folder,
            row_files=tuple(task.folder / task.marker for task in row_tasks(self)),
            parsers=tuple(parser_record(s) for s in stages.values() if isinstance(s, ParseStage)),
            versions=installed_versions(),
            commit=current_commit(),
            corpus=self.corpus_in_words(),
            command=command_line(),
        )
        write_report(self.folder, inputs)

    def model_records(self) -> tuple[StageRecord, ...]:
        """Returns sentences and seconds of the stages that train views and use them."""
        summaries = [read_json(task.folder / task.marker) for task in self.trainings]
        embedded = [read_json(task.folder / task.marker) for task in self.embeddings()]
        results = [read_json(task.folder / task.marker)["result"] for task in row_tasks(self)]
        return (
            StageRecord(
                f"training ({len(summaries)} seeds, {summaries[0]['epochs']} epochs each)",
                rows=sum(summary["epochs"] * summary["train_sentences"] for summary in summaries),
                seconds=sum(summary["seconds"] for summary in summaries),
                not_selected=summaries[0]["skipped"],
            ),
            StageRecord(
                f"embedding ({len(embedded)} encoders)",
                rows=sum(record["num_encoded"] for record in embedded),
                seconds=sum(record["seconds"] for record in embedded),
            ),
            StageRecord(
                f"probing ({len(results)} rows of scores)",
                rows=sum(
                    len(task["correct"]) for result in results for task in result["tasks"].values()
                ),
                seconds=sum(result["seconds"] for result in results),
            ),
        )

    def embeddings(self) -> list[EmbedProbing]:
        """Returns the embeddings that the rows join, each once."""
        tasks = {
            task.task_id: task
            for row in row_tasks(self)
            for task in row.requires().values()
            if isinstance(task, EmbedProbing)
        }
        return list(tasks.values())

    def resolved_config(self) -> dict[str, Any]:
        """Returns the configuration of every stage the report stands on."""
        stages, words = self.probing.requires()["corpus"], self.training.word_vectors.requires
        return {
            **{name: task.content() for name, task in stages.items()},
            **{name: task.content() for name, task in words.items()},
            "training": self.training.content(),
            "probing": self.probing.content(),
        }


def shard_records(probing: BuildProbing) -> tuple[StageRecord, ...]:
    """Returns rows, drops and seconds of every stage that writes shards."""
    titles = {"corpus": "", "altered": " (altered sentences)"}
    return tuple(
        StageRecord.of_dataset(name + titles[part], read_dataset_manifest(task.folder, name))
        for part, stages in probing.requires().items()
        for name, task in stages.items()
    )


def vector_records(words: UsedVectors) -> tuple[StageRecord, ...]:
    """Returns sentences and seconds of the training of word vectors, where they are trained."""
    if words.training is None:
        return ()
    facts = read_json(words.training.folder / words.training.marker)
    how = f"{facts['words']:,} words, {facts['config']['epochs']} passes, gensim {facts['gensim']}"
    return (
        StageRecord(
            f"word vectors ({how})",
            rows=facts["config"]["epochs"] * facts["sentences"],
            seconds=facts["seconds"],
        ),
    )


def read_json(path: Path) -> Any:
    """Returns the content of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def parser_record(stage: ParseStage) -> dict[str, Any]:
    """Returns which parser a stage used, with its measured scores where the folder has them."""
    shards = stage.manifest().shards
    scores = stage.parser_folder / "scores.json"
    return {
        "kind": stage.stage,
        "name": stage.parser_folder.name,
        "checksum": shards[0].extra["parser_checksum"] if shards else None,
        "scores": read_json(scores) if scores.exists() else {},
    }


def command_line() -> str | None:
    """Returns the command that runs this process, or None where it is not Luigi's own."""
    program = Path(sys.argv[0]).name
    return shlex.join([program, *sys.argv[1:]]) if program == "luigi" else None


def current_commit() -> str | None:
    """Returns the commit of the working tree this code runs from, or None outside of git."""
    repository = Path(__file__).resolve().parent
    command = ["git", "-C", str(repository), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.strip() or None
