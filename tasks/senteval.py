"""Stages that score encoders on SentEval's tasks."""

from __future__ import annotations

import shutil
from functools import cached_property
from pathlib import Path
from typing import Any

import luigi

from models.evaluation.protocols.config import PROTOCOL_VERSION
from models.evaluation.tasks.declarations import task_named, tasks_named
from models.evaluation.tasks.layout import DATASETS
from models.evaluation.tasks.load import missing_files
from models.evaluation.tasks.task import EvaluationTask
from pipeline.shards import write_bytes_atomically, write_json_atomically
from tasks.artefact import Artefact, checksum
from tasks.evaluated_encoder import BAG_OF_WORDS, EncoderParameters, EvaluatedEncoder
from tasks.evaluation_data import DownloadSentEval
from tasks.parameters import SentEvalParameters
from tasks.process import run_job
from tasks.training import VECTOR_FILES

RANDOM_SEEDS = (0, 1, 2)
SENTENCE_SET_VERSION = 1
"""Raised when the same files would give other sentences."""


class SentEvalStage(SentEvalParameters, EncoderParameters, Artefact):
    """What embedding and scoring have in common: an encoder and the data."""

    encoder = luigi.Parameter(
        default="trained",
        description="trained, trained-SEED, random-SEED (the same architecture untrained), "
        "bag_of_words, a model's folder, or package.module:name of a function of your own from a "
        "list of strings to a matrix.",
    )

    @cached_property
    def evaluated(self) -> EvaluatedEncoder:
        """The encoder."""
        return self.evaluated_encoder(self.encoder, self.encoder_version)

    @property
    def data(self) -> DownloadSentEval:
        """The task that brings the data; a set that cannot be had is listed as absent."""
        task: DownloadSentEval = self.clone(DownloadSentEval, datasets="all", allow_absent=True)
        return task

    def encoder_content(self) -> dict[str, Any]:
        """Returns what determines the embeddings: the encoder, and words that it does not know."""
        content: dict[str, Any] = {"encoder": self.evaluated.content}
        representation = self.resolved_representation()
        if representation["join_words"] and self.evaluated.version is not None:
            content["words"] = checksum(self.vectors, names=VECTOR_FILES)
        return content | {"representation": representation}

    def data_content(self, dataset: str) -> dict[str, Any]:
        """Returns what determines a dataset: the user's files, or where they come from."""
        if not self.senteval_data:
            return {"data": self.data.digest}
        root, names = self.data.data_folder, DATASETS[dataset].files.values()
        present = [name for name in names if (root / name).is_file()]
        return {"files": {name: checksum(root / name) for name in present}}

    def job(self, tasks: list[str]) -> dict[str, Any]:
        """Returns the job of ``models.evaluate_tasks`` over these tasks."""
        encoder = self.evaluated
        job: dict[str, Any] = {
            "encoder": encoder.spec,
            "name": encoder.name,
            "seed": encoder.seed,
            "tasks": tasks,
            "data": str(self.data.data_folder),
            "out": str(self.folder),
            "cache": str(self.work_folder / "evaluation-embeddings"),
            "parses": str(self.work_folder / "evaluation-parses"),
            "representation": self.resolved_representation(),
            "protocol": self.resolved_protocol(),
            "encoder_settings": encoder.settings,
            "device": self.device,
            "threads": 1,
        }
        return job if encoder.version is None else job | {"encoder_version": encoder.version}


class EmbedSentenceSet(SentEvalStage):
    """Embeds the sentences of one of SentEval's sets, for all tasks that read it.

    Output: a note of what was done; the embeddings stand in the work folder's cache.
    """

    marker = "embedded.json"

    dataset = luigi.Parameter(default="MR", description="The set: MR, SICK, STS14, …")

    @property
    def tasks(self) -> list[EvaluationTask]:
        """The tasks that read the set."""
        return [task for task in tasks_named("all") if task.dataset == self.dataset]

    def requires(self) -> dict[str, Artefact]:
        """Returns the data and, for a trained encoder, the model."""
        training = self.evaluated.training
        return {"data": self.data} | ({"model": training} if training else {})

    def content(self) -> dict[str, Any]:
        """Returns the encoder, the set and how its states are pooled."""
        return {
            **self.encoder_content(),
            "dataset": self.dataset,
            "sentence_set_version": SENTENCE_SET_VERSION,
            **self.data_content(self.dataset),
        }

    def place(self) -> Path:
        """Returns the note's folder."""
        name = f"{self.evaluated.label}-{self.dataset}"
        return self.work_folder / "evaluation" / "embedded" / name

    def run(self) -> None:
        """Runs the embedding job on one thread: several of them run side by side."""
        self.write_config()
        job = {**self.job([task.name for task in self.tasks]), "only_embed": True}
        run_job(self, "models.evaluate_tasks", job, self.folder / "job.json", threads=1)
        write_json_atomically(self.folder / self.marker, {"tasks": job["tasks"]})


class EvaluateTask(SentEvalStage):
    """Scores one encoder on one task.

    Output: one JSON file: scores with intervals, counts, dev score, chosen regulariser, seconds,
    digests and the prediction of every item; or that the task's data is absent.
    """

    task = luigi.Parameter(default="MR", description="The task: MR, SICK-R, STS14, TreeDepth, …")

    @cached_property
    def declaration(self) -> EvaluationTask:
        """The task, declared."""
        return task_named(self.task)

    def requires(self) -> EmbedSentenceSet:
        """Returns the embeddings of the sentences."""
        stage: EmbedSentenceSet = self.clone(EmbedSentenceSet, dataset=self.declaration.dataset)
        return stage

    def content(self) -> dict[str, Any]:
        """Returns the encoder, the task, its data and how it is scored."""
        return {
            **self.encoder_content(),
            "task": self.declaration.name,
            "protocol": self.resolved_protocol(),
            "protocol_version": PROTOCOL_VERSION,
            **self.data_content(self.declaration.dataset),
        }

    def place(self) -> Path:
        """Returns the result's folder."""
        name = f"{self.evaluated.label}-{self.declaration.name}"
        return self.work_folder / "evaluation" / "results" / name

    def output(self) -> luigi.LocalTarget:
        """Returns the result."""
        return luigi.LocalTarget(str(self.folder / f"{self.declaration.name}.json"))

    def complete(self) -> bool:
        """Returns whether the result stands, and does not call data absent that have come."""
        if not super().complete():
            return False
        if not self.data_is_absent:
            return True
        return bool(missing_files(self.declaration, self.data.data_folder))

    @property
    def data_is_absent(self) -> bool:
        """Whether the result that stands says so."""
        from models.evaluation.task_result import AbsentResult, read_result

        return isinstance(read_result(Path(self.output().path)), AbsentResult)

    def run(self) -> None:
        """Runs the evaluation on one thread: several of them run side by side."""
        self.write_config()
        if Path(self.output().path).exists():  # that of absent data
            Path(self.output().path).unlink()
        job = self.job([self.declaration.name])
        run_job(self, "models.evaluate_tasks", job, self.folder / "job.json", threads=1)


class EvaluateAll(SentEvalStage):
    """Scores encoders on all of SentEval's tasks and puts them side by side.

    Output: ``evaluation.md``, a table with intervals, and a folder an encoder of the results, as
    ``python -m models.compare`` takes them. Tasks whose data is absent are listed as absent.
    """

    marker = "evaluation.json"
    announced = "evaluation.md"

    encoder = luigi.Parameter(
        default="",
        description="Encoders to score, separated by commas, each as EvaluateTask takes it; by "
        "default the trained pair with every seed, three of random weights and the bag of words.",
    )
    tasks = luigi.Parameter(default="all", description="Tasks, separated by commas, or all.")

    @property
    def encoders(self) -> list[str]:
        """The encoders to score."""
        if self.encoder:
            names = (name.strip() for name in self.encoder.split(","))
            return list(dict.fromkeys(name for name in names if name))
        seeds = [seed for seed in self.further_seeds if seed != self.seed]
        return [
            "trained",
            *(f"trained-{seed}" for seed in seeds),
            *(f"random-{seed}" for seed in RANDOM_SEEDS),
            BAG_OF_WORDS,
        ]

    def requires(self) -> list[EvaluateTask]:
        """Returns one evaluation an encoder and task."""
        return [
            self.clone(EvaluateTask, encoder=encoder, task=task.name)
            for encoder in self.encoders
            for task in tasks_named(self.tasks)
        ]

    def content(self) -> dict[str, Any]:
        """Returns the digests of all evaluations."""
        return {"evaluations": [task.digest for task in self.requires()]}

    def place(self) -> Path:
        """Returns the folder of the table."""
        return self.work_folder / "evaluation" / "senteval"

    def complete(self) -> bool:
        """Returns whether the table stands and every result in it does."""
        return super().complete() and all(task.complete() for task in self.requires())

    def folders(self) -> dict[str, Path]:
        """Returns the folder of each encoder's results; numbers tell apart what is called alike."""
        labels = {task.encoder: task.evaluated.label for task in self.requires()}
        called = list(labels.values())
        return {
            encoder: self.folder / (label if called.count(label) == 1 else f"{place}-{label}")
            for place, (encoder, label) in enumerate(labels.items())
        }

    def run(self) -> None:
        """Gathers the results and writes the table."""
        from models.report.evaluation_table import evaluation_table

        self.write_config()
        folders = self.folders()
        for task in self.requires():
            folders[task.encoder].mkdir(exist_ok=True)
            shutil.copy2(task.output().path, folders[task.encoder])
        table = evaluation_table(list(folders.values()))
        write_bytes_atomically(self.folder / self.announced, table.encode())
        names = {encoder: folder.name for encoder, folder in folders.items()}
        write_json_atomically(self.folder / self.marker, {"encoders": names})
