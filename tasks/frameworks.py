"""The stage that sets Tang & de Sa's frameworks beside baselines and the papers' own figures."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import luigi

from models.config.training_presets import preset
from models.frameworks.frameworks import (
    PUBLISHED_PRESETS,
    Framework,
    FrameworkRow,
    check_distinct,
    frameworks_named,
    joined_named,
    rows_of,
    taken_of,
    together,
    word_rows,
)
from models.frameworks.frameworks_table import (
    FrameworkComparison,
    TrainingRecord,
    TrainingText,
    frameworks_table,
)
from pipeline.base.atomic_files import write_bytes_atomically, write_json_atomically
from pipeline.base.json_files import read_json
from tasks.artefact import Artefact
from tasks.parameters import (
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    SentEvalParameters,
    TrainingParameters,
)
from tasks.senteval import EvaluateEncoder
from tasks.training import TrainEncoders

FRAMEWORKS_VERSION = 3
"""Raised when the same results would give another table."""
NOT_OF_THE_PRESET = ("seed", "held_out_fraction", "held_out_seed", "held_out_unit")
"""Fields of a training that have parameters of their own and that no paper gives."""


class CompareFrameworks(
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    TrainingParameters,
    SentEvalParameters,
    Artefact,
):
    """Trains frameworks on one corpus and scores their views, alone and together.

    What is compared is declared in `models.frameworks.frameworks`; presets and representations are
    the frameworks' own. Output: ``frameworks.md``, our scores with the papers' beside them, random
    weights of the same architectures and the mean of the same word vectors, plain and with SIF
    weights; and a folder a row of the results, as ``treeviews compare`` takes them.
    """

    marker = "frameworks.json"
    announced = "frameworks.md"

    frameworks = luigi.Parameter(
        default=",".join(PUBLISHED_PRESETS),
        description="Presets to compare, separated by commas: B-G, B-D, B-GD, C-linear, "
        "C-bijective.",
    )
    variants = luigi.BoolParameter(
        description="Train what Tang & de Sa's table 6 (2018) has beside B-G and B-D, too: a free "
        "decoder, two views of one kind, single views, and ensembles of views trained apart."
    )
    f = luigi.ChoiceParameter(
        default="SEQ",
        choices=["SEQ", "DEP", "CONST"],
        description="The view in the place of the papers' bi-GRU.",
    )
    tasks = luigi.Parameter(
        default="STS14,SICK14,MR,TREC", description="Tasks, separated by commas, or all."
    )
    component_kept = luigi.ChoiceParameter(
        default="ensemble",
        choices=["none", "ensemble", "all"],
        description="For what the top principal component is also kept: nothing, all views of a "
        "model together, or each of them as well.",
    )
    further_seeds = luigi.ListParameter(
        default=[], description="Further seeds to train each framework with; [] trains once."
    )
    random_seeds = luigi.ListParameter(
        default=[0],
        description="Seeds of the random weights that stand beside each framework; [] for none.",
    )
    grid_scale = luigi.FloatParameter(
        default=4.0,
        description="Factor on every C of SentEval's grids of the logistic regression, since views "
        "have length 1 here; 1 is SentEval's own.",
    )

    preset = ""
    views = ""
    representation = "multi-view"
    representation_changes: Any = None

    # What is trained.

    @cached_property
    def compared(self) -> list[Framework]:
        """The frameworks, variants among them.

        Raises:
            ValueError: a name that is none, or changes that would make one framework another.
        """
        if "objective" in self.changes:
            raise ValueError(
                "changes sets objective, which makes a framework another one; choose among "
                "frameworks"
            )
        names = [name.strip() for name in self.frameworks.split(",") if name.strip()]
        return frameworks_named(names, variants=self.variants, f=self.f)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds to train with."""
        return tuple(dict.fromkeys((self.seed, *self.further_seeds)))

    def training(self, framework: Framework, seed: int) -> TrainEncoders:
        """Returns the task that trains a framework."""
        task: TrainEncoders = self.clone(TrainEncoders, **_own(self, framework), seed=seed)
        return task

    def trainings(self) -> dict[str, list[TrainEncoders]]:
        """Returns the trainings of each framework, one a seed."""
        return {
            one.name: [self.training(one, seed) for seed in self.seeds] for one in self.compared
        }

    # What is scored.

    @cached_property
    def trained_rows(self) -> list[FrameworkRow]:
        """What each trained model gives."""
        encoders = ["trained", *(f"trained-{seed}" for seed in self.seeds[1:])]
        rows = []
        for one in self.compared:
            views = self.training(one, self.seed).config.test_views
            taken = taken_of(views, self.component_kept)
            rows += rows_of(one.name, taken, encoders, model=one, published=one.published)
        return rows

    @cached_property
    def baseline_rows(self) -> list[FrameworkRow]:
        """Random weights beside each framework that is no variant, and the word vectors."""
        encoders = [f"random-{seed}" for seed in dict.fromkeys(self.random_seeds)]
        random = [
            row
            for one in self.compared
            if encoders and not one.is_variant
            for row in rows_of(
                f"{one.name}, random weights", together(self.component_kept), encoders, model=one
            )
        ]
        return [*random, *word_rows(self.component_kept)]

    @property
    def rows(self) -> list[FrameworkRow]:
        """The rows whose encoders can be named before anything is trained."""
        return [*self.trained_rows, *self.baseline_rows]

    def joined_rows(self) -> list[FrameworkRow]:
        """Returns the rows of views that were trained apart, whose models must be there."""
        by_name = {one.name: one for one in self.compared}
        rows = []
        for joined in joined_named(self.compared, f=self.f):
            encoders = [
                "+".join(
                    f"{self.training(by_name[name], seed).folder}@{view}"
                    for name, view in joined.parts
                )
                for seed in self.seeds
            ]
            taken = together(self.component_kept)
            rows += rows_of(joined.name, taken, encoders, published=joined.published)
        return rows

    def stages(self, row: FrameworkRow) -> list[EvaluateEncoder]:
        """Returns the tasks that score a row's encoders on all tasks, one a seed."""
        own = _own(self, row.model or self.compared[0])
        changes = dict(row.changes)
        return [
            self.clone(EvaluateEncoder, **own, encoder=one, representation_changes=changes)
            for one in row.encoders
        ]

    # The task.

    def requires(self) -> list[Artefact]:
        """Returns all trainings and the evaluations that can be named before them.

        Raises:
            ValueError: two frameworks are one training, which would be made twice at a time.
        """
        of_frameworks = self.trainings()
        digests = [tasks[0].digest for tasks in of_frameworks.values()]
        check_distinct(self.compared, digests, self.changes)
        trainings = [task for tasks in of_frameworks.values() for task in tasks]
        return [*trainings, *(stage for row in self.rows for stage in self.stages(row))]

    def content(self) -> dict[str, Any]:
        """Returns the digests of trainings and evaluations, and what is joined of them."""
        return {
            "frameworks_version": FRAMEWORKS_VERSION,
            "trainings": {
                name: [task.digest for task in tasks] for name, tasks in self.trainings().items()
            },
            "rows": [[stage.digest for stage in self.stages(row)] for row in self.rows],
            "joined": [one.parts for one in joined_named(self.compared, f=self.f)],
        }

    def place(self) -> Path:
        """Returns the folder of the table."""
        return self.work_folder / "evaluation" / "frameworks"

    def complete(self) -> bool:
        """Returns whether the table stands and the results in it do.

        Those of views trained apart are not asked: their models name them. Where data that were
        absent have come, they are made again along with the others.
        """
        return super().complete() and all(
            stage.complete() for row in self.rows for stage in self.stages(row)
        )

    def run(self) -> Iterator[list[EvaluateEncoder]]:
        """Scores the views trained apart, whose models are there now, and writes the table."""
        yield [stage for row in self.joined_rows() for stage in self.stages(row)]
        super().run()

    def fill(self) -> None:
        """Writes the table."""
        self.write_config()
        declared = [*self.trained_rows, *self.joined_rows(), *self.baseline_rows]
        rows = tuple(self._gathered(number, row) for number, row in enumerate(declared))
        table = frameworks_table(
            FrameworkComparison(
                rows,
                tuple(_record(name, tasks) for name, tasks in self.trainings().items()),
                tuple(one.declaration.name for one in self.stages(declared[0])[0].evaluations),
                self._text(),
            )
        )
        write_bytes_atomically(self.folder / self.announced, table.encode())
        names = [{"row": row.title, "folders": [str(f) for f in row.folders]} for row in rows]
        write_json_atomically(self.folder / self.marker, {"rows": names})

    def _gathered(self, number: int, row: FrameworkRow) -> FrameworkRow:
        """Copies the results of a row into folders of its own, one a seed."""
        words = re.sub(r"[^A-Za-z0-9]+", "-", f"{row.framework} {row.taken} {row.component}")
        folders = []
        for seed, stage in enumerate(self.stages(row)):
            folder = self.folder / "results" / f"{number:02d}-{words}" / str(seed)
            folder.mkdir(parents=True, exist_ok=True)
            for evaluation in stage.evaluations:
                shutil.copy2(evaluation.output().path, folder)
            folders.append(folder)
        if row.model is not None:
            summary = _read(self.training(row.model, self.seed))
            row = replace(row, num_parameters=summary["num_parameters"])
        return replace(row, folders=tuple(folders))

    def _text(self) -> TrainingText:
        """Returns in words what all were trained on."""
        training = self.training(self.compared[0], self.seed)
        sizes = _read(training, "model.json")["sizes"]
        used = training.word_vectors
        origin = f"of {used.path}" if used.training is None else "trained on the same text"
        units = "documents" if self.held_out_unit == "document" else "blocks of sentences"
        return TrainingText(
            corpus=self.corpus_in_words(),
            vectors=f"{sizes['words']:,} words, {sizes['word_size']} wide, {origin}",
            held_out=f"{100 * self.held_out_fraction:g} % of the {units}",
        )


def _own(task: CompareFrameworks, framework: Framework) -> dict[str, Any]:
    """Returns the parameters that tell a framework's training from another's."""
    return {
        "preset": framework.preset,
        "views": ",".join(framework.views),
        "changes": {**task.changes, **framework.changes},
    }


def _record(name: str, tasks: Sequence[TrainEncoders]) -> TrainingRecord:
    ours, published = tasks[0].config.to_dict(), preset(tasks[0].preset).to_dict()
    changed = {
        field: (published[field], value)
        for field, value in ours.items()
        if value != published[field] and field not in NOT_OF_THE_PRESET
    }
    return TrainingRecord(name, tuple(_read(task) for task in tasks), changed)


def _read(training: TrainEncoders, name: str = TrainEncoders.marker) -> Mapping[str, Any]:
    """Returns a JSON file of a finished training, by default what it says of itself."""
    remedy = "delete the folder to train again"
    value: Mapping[str, Any] = read_json(training.folder / name, remedy=remedy)
    return value
