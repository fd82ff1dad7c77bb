"""The stages that score encoders on tasks, and that put several encoders side by side."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import luigi

from treeviews.models.config.views import stage_of
from treeviews.models.encoding.encoder_names import (
    BAG_OF_WORDS,
    FORMS,
    READY,
    chosen_views,
    name_of,
)
from treeviews.models.evaluation.evaluation_settings import (
    PROTOCOL_VERSION,
    EvaluationSettings,
    ProtocolConfig,
)
from treeviews.models.evaluation.representation import Representation
from treeviews.models.evaluation.senteval_format import DATASETS
from treeviews.models.evaluation.task_data import NOTE_NAME, missing_files
from treeviews.models.evaluation.task_registry import (
    DERIVED,
    TASKS_VERSION,
    EvaluationTask,
    task_named,
    tasks_named,
)
from treeviews.models.evaluation.task_result import TaskResult, read_result
from treeviews.models.report.evaluation_table import evaluation_table
from treeviews.models.report.probing_table import RANDOM_SEEDS
from treeviews.pipeline.base.atomic_files import write_bytes_atomically, write_json_atomically
from treeviews.pipeline.base.digest import digest_of, remembered_sha256
from treeviews.pipeline.base.json_files import read_json
from treeviews.pipeline.downloads.senteval_data import SENTEVAL_SETS, check_data_folder
from treeviews.tasks.artefact import Artefact, checksum
from treeviews.tasks.checks import Check, check_device
from treeviews.tasks.evaluated_encoder import EncoderParameters, EvaluatedEncoder
from treeviews.tasks.evaluation_data import BuildProbing, DownloadSentEval
from treeviews.tasks.parameters import SentEvalParameters
from treeviews.tasks.training import TrainEncoders

DOWNLOADABLE = frozenset(dataset.name for dataset in SENTEVAL_SETS)


class SentEvalStage(SentEvalParameters, EncoderParameters):
    """The encoder and its data."""

    job_module = "treeviews.models.evaluate_tasks"

    encoder = luigi.Parameter(default="trained", description=f"{FORMS}.")
    derived = luigi.BoolParameter(
        description="Score on probing tasks derived from the held-out documents instead of "
        "SentEval's.",
    )

    @cached_property
    def evaluated(self) -> EvaluatedEncoder:
        """The encoder.

        Raises:
            FileNotFoundError: its folder, or that of the word vectors, lacks files.
            ValueError: no such encoder, no such views of it, or two sorts of data.
        """
        if self.derived and self.senteval_data:
            raise ValueError("--derived takes no --senteval-data; leave out one of them")
        encoder = self.evaluated_encoder(self.encoder, self.encoder_version)
        if encoder.views is not None:
            chosen_views(encoder.views, self.resolved_representation().get("views", ()))
        return encoder

    def checks(self) -> list[Check]:
        """Refuses encoders, representations and protocols that cannot be."""
        return [
            *super().checks(),
            self.resolved_representation,
            self.resolved_protocol,
            lambda: self.evaluated,
            lambda: check_device(self.device),
            *([lambda: check_data_folder(Path(self.senteval_data))] if self.senteval_data else []),
        ]

    def data(self, *datasets: str) -> DownloadSentEval:
        """Returns the task that brings these sets; one that cannot be had is listed as absent.

        All such tasks fill one folder and have one digest.
        """
        names = sorted(set(datasets) & DOWNLOADABLE)
        return self.clone(DownloadSentEval, datasets=",".join(names) or "all", allow_absent=True)

    @property
    def probing(self) -> BuildProbing:
        """The task that derives probing tasks from the corpus."""
        return self.clone(BuildProbing)

    @property
    def data_folder(self) -> Path:
        """The folder that SentEval calls ``data``: derived, the user's own, or downloaded."""
        if self.derived:
            return self.probing.data_folder
        return Path(self.senteval_data) if self.senteval_data else self.data().folder

    def declared(self, names: str) -> tuple[EvaluationTask, ...]:
        """Returns the tasks of a list of names; ``all`` are those that may be among the data.

        Raises:
            ValueError: no such task, or none that is derived though such are asked for.
        """
        if not self.derived:
            return tasks_named(names)
        if names.strip().lower() == "all":
            return DERIVED
        for task in (tasks := tasks_named(names)):
            if task not in DERIVED:
                known = ", ".join(one.name for one in DERIVED)
                raise ValueError(f"--derived has no task {task.name}; choose among {known}")
        return tasks

    @property
    def evaluations(self) -> list[EvaluateTask]:
        """The evaluations of single tasks that the stage makes."""
        raise NotImplementedError(f"{type(self).__name__} must define evaluations")

    def requires(self) -> Any:
        """Returns the data and what the encoder takes: its model, or trained word vectors."""
        datasets = [task.declaration.dataset for task in self.evaluations]
        needed: dict[str, Artefact] = {}
        if self.derived:
            needed["data"] = self.probing
        elif not self.senteval_data and DOWNLOADABLE.intersection(datasets):
            needed["data"] = self.data(*datasets)
        return needed | dict(self.evaluated.requires)

    def job(self) -> EvaluationSettings:
        """Returns the job that makes the results that do not stand, on one thread."""
        encoder, evaluations = self.evaluated, self._lacking()
        # The limit is what holds where nothing is asked for.
        on_refusal = {} if self.on_refusal == "limit" else {"on_refusal": self.on_refusal}
        is_own = encoder.version is not None
        return EvaluationSettings(
            encoder=encoder.spec,
            name=encoder.name,
            seed=encoder.seed,
            tasks=tuple(evaluation.declaration.name for evaluation in evaluations),
            data=self.data_folder,
            out={task.declaration.name: task.folder for task in evaluations},
            parses=self.work_folder / "evaluation-parses",
            encoder_version=encoder.version,
            encoder_source=encoder.content["source"] or "" if is_own else None,
            representation=Representation.from_dict(self.resolved_representation()),
            protocol=ProtocolConfig.from_dict(self.resolved_protocol()),
            encoder_settings=encoder.settings | on_refusal,
            device=self.device,
        )

    def _lacking(self) -> list[EvaluateTask]:
        return [task for task in self.evaluations if not task.complete()]

    def fill(self) -> None:
        """Scores on the tasks that lack a result, in one process; encoders run side by side."""
        for task in {self, *self._lacking()}:
            task.write_config()
        self.run_job(self.job())


class EvaluateTask(SentEvalStage):
    """Scores one encoder on one task.

    Output: a JSON file with scores and intervals, counts, dev score, chosen regulariser, seconds,
    digests and every prediction, or a note that the data are absent. Parses are kept in the work
    folder for other tasks and encoders.
    """

    task = luigi.Parameter(default="MR", description="Task name: MR, SICK-R, STS14, TreeDepth, …")

    @cached_property
    def declaration(self) -> EvaluationTask:
        """The task, as `declared` has it."""
        (task,) = self.declared(task_named(self.task).name)
        return task

    @property
    def evaluations(self) -> list[EvaluateTask]:
        """The task itself."""
        return [self]

    def content(self) -> dict[str, Any]:
        """Returns the encoder, the task, its data and how it is scored."""
        representation, words = self.resolved_representation(), dict[str, Any]()
        if representation["join_words"] and self.evaluated.version is not None:
            # A function of the user's own has none of these.
            words = {"words": self.clone(TrainEncoders).word_vectors.digest}
        return {
            "encoder": self.evaluated.content,
            **words,
            "task": self.declaration.name,
            "tasks_version": TASKS_VERSION,
            "representation": representation,
            "protocol": self.resolved_protocol(),
            "protocol_version": PROTOCOL_VERSION,
            **self._data_content(),
        }

    def _data_content(self) -> dict[str, Any]:
        """Returns what determines the data: the user's files, or where they come from."""
        if self.derived:
            return {"data": self.probing.digest}
        if not self.senteval_data:
            return {"data": self.data().digest}
        root = Path(self.senteval_data)
        names = [*DATASETS[self.declaration.dataset].files.values()]
        names += sorted({str(Path(name).parent / NOTE_NAME) for name in names})
        present = [name for name in names if (root / name).is_file()]
        return {"files": {name: checksum(root / name) for name in present}}

    def place(self) -> Path:
        """Returns the result's folder."""
        name = f"{self.evaluated.label}-{self.declaration.name}"
        return self.work_folder / "evaluation" / "results" / name

    def output(self) -> luigi.LocalTarget:
        """Returns the result."""
        return luigi.LocalTarget(str(self.folder / f"{self.declaration.name}.json"))

    def is_whole(self) -> bool:
        """Returns whether the result does not call data absent that may have come."""
        if self.derived or isinstance(read_result(Path(self.output().path)), TaskResult):
            return True
        dataset = self.declaration.dataset
        if not missing_files(self.declaration, self.data_folder):
            return False
        is_own = self.senteval_data or dataset not in DOWNLOADABLE
        return bool(is_own or self.data(dataset).complete())


class EvaluateEncoder(SentEvalStage):
    """Scores one encoder on several tasks in one process.

    Output: one file per task, as by ``EvaluateTask``. Existing results are not computed again.
    """

    tasks = luigi.Parameter(default="all", description="Task names separated by commas, or all.")
    turn = luigi.IntParameter(
        default=0,
        significant=False,
        description="Position in the list at which to begin, so that encoders running in parallel "
        "parse different sentences first and share the parses.",
    )

    @cached_property
    def evaluations(self) -> list[EvaluateTask]:
        """The evaluations, one a task, in the order in which they are made."""
        declared = self.declared(self.tasks)
        first = self.turn % len(declared)
        return [
            self.clone(EvaluateTask, task=task.name) for task in declared[first:] + declared[:first]
        ]

    @property
    def priority(self) -> int:
        """Luigi's: how many views read trees; the longest jobs come first, so none ends alone."""
        try:
            views = self.evaluated.views or ()
        except (OSError, ValueError):
            views = ()  # what is wrong is told where Luigi asks whether the output is there
        return sum(stage_of(name_of(view)) is not None for view in views)

    def content(self) -> dict[str, Any]:
        """Returns the digests of the evaluations."""
        return {"evaluations": sorted(task.digest for task in self.evaluations)}

    def place(self) -> Path:
        """Returns the folder of the job."""
        return self.work_folder / "evaluation" / "jobs" / self.evaluated.label

    def output(self) -> list[luigi.LocalTarget]:
        """Returns the results."""
        return [task.output() for task in self.evaluations]

    def complete(self) -> bool:
        """Returns whether every evaluation is."""
        return all(task.complete() for task in self.evaluations)

    def places(self) -> set[Path]:
        """Returns the folders of the job and of the results."""
        return super().places().union(*(task.places() for task in self.evaluations))

    def copy_results(self, folder: Path) -> None:
        """Copies the results into a folder, as ``treeviews compare`` takes it."""
        folder.mkdir(parents=True, exist_ok=True)
        for result in self.output():
            shutil.copy2(result.path, folder)


def digest_of_results(stages: Iterable[EvaluateEncoder]) -> str:
    """Returns a digest of results, by which a table knows that it was made of them."""
    files = (Path(task.output().path) for stage in stages for task in stage.evaluations)
    return digest_of({"results": [remembered_sha256(file) for file in files]})


class EvaluateAll(SentEvalParameters, EncoderParameters):
    """Scores several encoders on SentEval's tasks, or on derived ones, in one table.

    Output: ``evaluation.md``, a table with intervals, and a folder of results per encoder for
    ``treeviews compare``. Tasks without data are listed as absent; each new run tries them again.
    """

    marker = "evaluation.json"
    announced = "evaluation.md"
    derived = SentEvalStage.derived

    encoder = luigi.Parameter(
        default="",
        description="Encoders to score, as in EvaluateTask, separated by commas. Default: the "
        "trained model with every seed, three sets of random weights, "
        f"{', '.join(READY)} (with selected views, only {BAG_OF_WORDS} of the last).",
    )
    tasks = luigi.Parameter(default="all", description="Task names separated by commas, or all.")

    @property
    def encoders(self) -> list[str]:
        """The encoders to score, each once."""
        if names := list(filter(None, (name.strip() for name in self.encoder.split(",")))):
            return list(dict.fromkeys(names))
        # What has views of its own has none that are asked for.
        ready = (BAG_OF_WORDS,) if self.representation_changes.get("views") else READY
        return [
            "trained",
            *(f"trained-{seed}" for seed in self.further_seeds if seed != self.seed),
            *(f"random-{seed}" for seed in RANDOM_SEEDS),
            *ready,
        ]

    def checked(self) -> list[luigi.Task]:
        """Returns one stage an encoder, also where some cannot be."""
        return [self.clone(EvaluateEncoder, encoder=encoder) for encoder in self.encoders]

    def requires(self) -> list[EvaluateEncoder]:
        """Returns one stage an encoder.

        Raises:
            ValueError: two names stand for the same encoder.
        """
        apart = max(1, len(self.checked()[0].evaluations) // 2)
        stages = [
            self.clone(EvaluateEncoder, encoder=encoder, turn=place * apart)
            for place, encoder in enumerate(self.encoders)
        ]
        for place, stage in enumerate(stages):
            for other in stages[:place]:
                if stage.evaluated.content == other.evaluated.content:
                    both = f"{other.encoder} and {stage.encoder}"
                    raise ValueError(f"encoders {both} are the same one; name it once")
        return stages

    def content(self) -> dict[str, Any]:
        """Returns the digests of all evaluations."""
        return {"encoders": [stage.digest for stage in self.requires()]}

    def place(self) -> Path:
        """Returns the folder of the table."""
        return self.work_folder / "evaluation" / ("derived" if self.derived else "senteval")

    def is_whole(self) -> bool:
        """Returns whether every result stands, and the table was made of these very results."""
        stages = self.requires()
        if not all(stage.complete() for stage in stages):
            return False
        marker = read_json(self.folder / self.marker, remedy="delete it")
        return bool(marker.get("results") == digest_of_results(stages))

    def folders(self) -> dict[str, Path]:
        """Returns the folder of each encoder's results; numbers tell apart what is called alike."""
        labels = {stage.encoder: stage.evaluated.label for stage in self.requires()}
        called = list(labels.values())
        return {
            encoder: self.folder / (label if called.count(label) == 1 else f"{place}-{label}")
            for place, (encoder, label) in enumerate(labels.items())
        }

    def fill(self) -> None:
        """Gathers the results and writes the table."""
        self.write_config()
        folders = self.folders()
        for stage in self.requires():
            stage.copy_results(folders[stage.encoder])
        table = evaluation_table(list(folders.values()))
        write_bytes_atomically(self.folder / self.announced, table.encode())
        names = {encoder: folder.name for encoder, folder in folders.items()}
        results = digest_of_results(self.requires())
        write_json_atomically(self.folder / self.marker, {"encoders": names, "results": results})
