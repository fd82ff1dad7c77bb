"""The stage that writes the report, and the root that asks for it."""

from __future__ import annotations

import filecmp
import shutil
from functools import cached_property
from pathlib import Path
from typing import Any

import luigi

from treeviews.models.config.held_out import HELD_OUT_REMEDY
from treeviews.models.report.figures import number_of
from treeviews.models.report.probing_table import RowDeclaration, declare_rows
from treeviews.models.report.run_report import (
    PAGE_NAME,
    REPORT_VERSION,
    ReportInputs,
    StageRecord,
    write_report,
)
from treeviews.pipeline.base.json_files import read_json
from treeviews.pipeline.parsers.parser_files import read_scores
from treeviews.pipeline.shards.manifests import read_dataset_manifest
from treeviews.tasks.artefact import Artefact, ReportingTask, ShardStage
from treeviews.tasks.checks import Check
from treeviews.tasks.evaluated_encoder import EncoderParameters
from treeviews.tasks.evaluation_data import BuildProbing
from treeviews.tasks.parameters import ModelParameters, SentEvalParameters
from treeviews.tasks.parsing import ParseStage
from treeviews.tasks.run_display import command_line
from treeviews.tasks.sentences import SplitSentences
from treeviews.tasks.senteval import EvaluateAll, EvaluateEncoder
from treeviews.tasks.training import TrainEncoders

_REMEDY = "delete the folder and run the stage again"


class WriteReport(SentEvalParameters, EncoderParameters):
    """Writes the report of a run: text, settings, training and results.

    Output: ``report.html``, a self-contained page; ``report.md`` and ``report.json`` with the same
    content; the drawings as SVG.
    """

    senteval = luigi.BoolParameter(
        description="Also score on SentEval's tasks; implied by --senteval-data."
    )
    marker = "report.json"
    announced = PAGE_NAME

    @property
    def trainings(self) -> list[TrainEncoders]:
        """The task that trains the pair with each of the seeds."""
        return [self.clone(TrainEncoders, seed=seed) for seed in self.seeds]

    @property
    def training(self) -> TrainEncoders:
        """The first of them."""
        return self.trainings[0]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds to train with, the first one's views being scored alone too.

        Raises:
            ValueError: ``further_seeds`` is not a list of whole numbers.
        """
        further = self.further_seeds
        if not isinstance(further, list | tuple) or not all(isinstance(s, int) for s in further):
            raise ValueError(f"further_seeds must be a list of whole numbers, got {further!r}")
        return tuple(dict.fromkeys((self.seed, *further)))

    @property
    def probing(self) -> BuildProbing:
        """The task that builds the probing tasks."""
        return self.clone(BuildProbing)

    @property
    def shard_stages(self) -> list[Artefact]:
        """Sentences and parses of the corpus."""
        return list(self.probing.requires().values())

    @cached_property
    def rows(self) -> list[tuple[RowDeclaration, EvaluateEncoder]]:
        """The rows of the table, each with the task that scores it on the probing tasks."""
        config = self.training.config
        width = sum(config.view_widths(self.training.word_vectors.size))
        declared = declare_rows(config.test_views, self.seeds, embedding_width=width)
        # Whatever a run asks of SentEval's tasks: rows stand beside each other as they always do.
        scoring = self.training.clone(EvaluateEncoder, derived=True)
        return [
            (
                row,
                scoring.clone(encoder=row.encoder, representation_changes=row.representation),
            )
            for row in declared
        ]

    @property
    def evaluation(self) -> EvaluateAll | None:
        """The task that scores on SentEval's tasks, where that is asked for."""
        if not (self.senteval or self.senteval_data):
            return None
        return self.clone(EvaluateAll)

    def checks(self) -> list[Check]:
        """Refuses seeds and probing tasks that cannot be."""
        return [*super().checks(), lambda: self.seeds, self._check_probing]

    def checked(self) -> list[luigi.Task]:
        """Returns the stages whose parameters are this one's, too."""
        scored = [] if self.evaluation is None else [self.evaluation]
        return [self.clone(TrainEncoders), self.probing, *scored]

    def _check_probing(self) -> None:
        """Refuses a text of which no probing task could be built.

        Raises:
            ValueError: it is one document, of which all is held out or none, or too short.
        """
        config, sentences = self.probing.config, self.clone(SplitSentences)
        if config.held_out_unit == "document" and sentences.is_one_document():
            raise ValueError(
                "the text is one document, so nothing would be held out of the training, or all of "
                "it; give --held-out-unit block, or more documents"
            )
        # What is held out is near to the share that is asked for, and hardly ever twice as much.
        most = sentences.most_sentences(config.min_tokens) * min(1.0, 2 * config.held_out_fraction)
        if most < sum(config.minimal_sizes.values()):
            raise ValueError(
                "the text is too short for any probing task, each of which takes "
                f"{sum(config.minimal_sizes.values())} held-out sentences at least; give more text "
                f"or a higher --limit, {HELD_OUT_REMEDY}"
            )

    def requires(self) -> dict[str, Any]:
        """Returns everything the report reads, also what its rows were made from."""
        evaluation = self.evaluation
        return {
            "rows": [task for _, task in self.rows],
            **({} if evaluation is None else {"senteval": evaluation}),
            "trainings": self.trainings,
            "probing": self.probing,
            "stages": self.shard_stages,
            **self.training.word_vectors.requires,
        }

    def content(self) -> dict[str, Any]:
        """Returns the rows and the digests of everything the report reads."""
        return {
            "rows": {row.name: task.digest for row, task in self.rows},
            "trainings": [task.digest for task in self.trainings],
            "probing": self.probing.digest,
            **({} if self.evaluation is None else {"senteval": self.evaluation.digest}),
            "report_version": REPORT_VERSION,
        }

    def is_whole(self) -> bool:
        """Returns whether the report tells of the scores that there are now.

        Data of SentEval's tasks that were absent may have come since it was written.
        """
        if self.evaluation is None:
            return True
        table = self.evaluation.folder / EvaluateAll.announced
        copy = self.folder / EvaluateAll.announced
        return (
            self.evaluation.complete()
            and copy.is_file()
            and filecmp.cmp(table, copy, shallow=False)
        )

    def place(self) -> Path:
        """Returns the report's folder."""
        name = f"{self.source}-{'-'.join(self.training.config.views)}"
        return self.work_folder / "reports" / name

    def fill(self) -> None:
        """Gathers the stages' manifests and writes the report."""
        self.write_config()
        if self.evaluation is not None:
            shutil.copy2(self.evaluation.folder / EvaluateAll.announced, self.folder)
        stages = self.probing.requires()
        inputs = ReportInputs(
            config=self.resolved_config(),
            stages=(*shard_records(self.probing), self.training_record()),
            training_folders=tuple(task.folder for task in self.trainings),
            probing_folder=self.probing.folder,
            rows={row: [Path(file.path) for file in task.output()] for row, task in self.rows},
            corpus=self.corpus_in_words(),
            command=command_line(),
            parsers=tuple(parser_record(s) for s in stages.values() if isinstance(s, ParseStage)),
            senteval=() if self.evaluation is None else tuple(self.evaluation.folders().values()),
        )
        write_report(self.folder, inputs)

    def headline(self) -> list[str]:
        """Returns the result in plain sentences, as the report begins; none before it stands."""
        path = self.folder / self.marker
        return list(read_json(path, remedy=_REMEDY)["headline"]) if path.is_file() else []

    def training_record(self) -> StageRecord:
        """Returns sentences and seconds of the trainings."""
        summaries = [task.summary() for task in self.trainings]
        epochs = number_of(summaries[0]["epochs"], "epoch")
        return StageRecord(
            f"training ({number_of(len(summaries), 'seed')}, {epochs} each)",
            rows=sum(summary["epochs"] * summary["train_sentences"] for summary in summaries),
            seconds=sum(summary["seconds"] for summary in summaries),
            not_selected=summaries[0]["skipped"],
        )

    def resolved_config(self) -> dict[str, Any]:
        """Returns the configuration of every stage the report stands on."""
        stages, words = self.probing.requires(), self.training.word_vectors.requires
        return {
            **{name: task.content() for name, task in stages.items()},
            **{name: task.content() for name, task in words.items()},
            "training": self.training.content(),
            "probing": self.probing.content(),
        }


def shard_records(probing: BuildProbing) -> tuple[StageRecord, ...]:
    """Returns rows, drops and seconds of every stage that writes shards."""
    return tuple(
        StageRecord(
            name, made.rows, made.seconds, made.drops, left_out=made.config.get("left_out", {})
        )
        for name, task in probing.requires().items()
        for made in [read_dataset_manifest(task.folder, name)]
    )


def parser_record(stage: ParseStage) -> dict[str, Any]:
    """Returns which parser a stage used, with its measured scores where the folder has them."""
    shards = stage.manifest().shards
    return {
        "kind": stage.stage,
        "name": stage.parser_folder.name,
        "checksum": shards[0].extra["parser_checksum"] if shards else None,
        "scores": read_scores(stage.parser_folder),
    }


class RunAll(ModelParameters, SentEvalParameters, ReportingTask, luigi.WrapperTask):
    """Runs the whole pipeline, from text to report.

    Splits and parses a corpus, trains the views of the preset, scores them and their baselines, and
    writes a report, whose path is printed last. With SentEval's data, also scores them on its
    tasks.
    """

    senteval = WriteReport.senteval
    work_folder = WriteReport.work_folder
    device = WriteReport.device

    def requires(self) -> list[Artefact]:
        """Returns the report, on which everything else hangs, and SentEval's table if asked.

        The latter and the stages with shards, too: Luigi asks for nothing below a report that
        stands, and they notice what is gone of them.
        """
        report: WriteReport = self.clone(WriteReport)
        evaluations = [] if report.evaluation is None else [report.evaluation]
        return [report, *evaluations, *report.shard_stages]

    @property
    def result(self) -> Path:
        """The report."""
        return self.requires()[0].result

    def headline(self) -> list[str]:
        """Returns what came of the stages that are no shards."""
        made = [stage for stage in self.requires() if not isinstance(stage, ShardStage)]
        return [sentence for stage in made for sentence in stage.headline()]
