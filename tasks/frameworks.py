"""The stage that sets Tang & de Sa's frameworks beside baselines and the papers' own figures."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from models.frameworks import check_distinct, joined_named
from models.report.framework_trainings import TrainingRecord, TrainingText
from models.report.frameworks_table import FrameworkComparison, FrameworkRow, frameworks_table
from models.training_presets import preset
from pipeline.atomic_files import write_bytes_atomically, write_json_atomically
from tasks.artefact import Artefact
from tasks.framework_rows import ComparedRow, FrameworkParameters
from tasks.senteval import EvaluateEncoder
from tasks.training import TrainEncoders

FRAMEWORKS_VERSION = 3
"""Raised when the same results would give another table."""
NOT_OF_THE_PRESET = ("seed", "held_out_fraction", "held_out_seed", "held_out_unit")
"""Fields of a training that have parameters of their own and that no paper gives."""


class CompareFrameworks(FrameworkParameters):
    """Trains frameworks on one corpus and scores their views, alone and together.

    Output: ``frameworks.md``, our scores with the papers' beside them, random weights of the same
    architectures and the mean of the same word vectors; and a folder a row of the results, as
    ``python -m models.compare`` takes them.
    """

    marker = "frameworks.json"
    announced = "frameworks.md"

    def trainings(self) -> dict[str, list[TrainEncoders]]:
        """Returns the trainings of each framework, one a seed."""
        return {
            one.name: [self.training(one, seed) for seed in self.seeds] for one in self.compared
        }

    def requires(self) -> list[Artefact]:
        """Returns all trainings and the evaluations that can be named before them.

        Raises:
            ValueError: two frameworks are one training, which would be made twice at a time.
        """
        of_frameworks = self.trainings()
        digests = [tasks[0].digest for tasks in of_frameworks.values()]
        check_distinct(self.compared, digests, self.changes)
        trainings = [task for tasks in of_frameworks.values() for task in tasks]
        return [*trainings, *(stage for row in self.rows for stage in row.stages)]

    def content(self) -> dict[str, Any]:
        """Returns the digests of trainings and evaluations, and what is joined of them."""
        return {
            "frameworks_version": FRAMEWORKS_VERSION,
            "trainings": {
                name: [task.digest for task in tasks] for name, tasks in self.trainings().items()
            },
            "rows": [[stage.digest for stage in row.stages] for row in self.rows],
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
            stage.complete() for row in self.rows for stage in row.stages
        )

    def run(self) -> Iterator[list[EvaluateEncoder]]:
        """Scores the views trained apart, whose models are there now, and writes the table."""
        joined = self.joined_rows()
        yield [stage for row in joined for stage in row.stages]
        self.write_config()
        rows = [*self.trained_rows, *joined, *self.baseline_rows]
        gathered = [self._gathered(number, row) for number, row in enumerate(rows)]
        comparison = FrameworkComparison(
            tuple(gathered),
            tuple(self._record(name, tasks) for name, tasks in self.trainings().items()),
            tuple(one.declaration.name for one in rows[0].stages[0].evaluations),
            TrainingText(
                self.corpus_in_words(), self._vectors_in_words(), self._held_out_in_words()
            ),
        )
        table = frameworks_table(comparison)
        write_bytes_atomically(self.folder / self.announced, table.encode())
        names = [{"row": row.title, "folders": [str(f) for f in row.folders]} for row in gathered]
        write_json_atomically(self.folder / self.marker, {"rows": names})

    def _gathered(self, number: int, row: ComparedRow) -> FrameworkRow:
        """Copies the results of a row into folders of its own, one a seed."""
        component = "removed" if row.component_removed else "kept"
        words = re.sub(r"[^A-Za-z0-9]+", "-", f"{row.framework} {row.taken} {component}")
        folders = []
        for seed, stage in enumerate(row.stages):
            folder = self.folder / "results" / f"{number:02d}-{words}" / str(seed)
            folder.mkdir(parents=True, exist_ok=True)
            for evaluation in stage.evaluations:
                shutil.copy2(evaluation.output().path, folder)
            folders.append(folder)
        return FrameworkRow(
            row.framework,
            row.taken,
            row.component_removed,
            tuple(folders),
            row.published,
            None if row.training is None else summary_of(row.training)["num_parameters"],
        )

    def _record(self, name: str, tasks: list[TrainEncoders]) -> TrainingRecord:
        ours, published = tasks[0].config.to_dict(), preset(tasks[0].preset).to_dict()
        changed = {
            field: (published[field], value)
            for field, value in ours.items()
            if value != published[field] and field not in NOT_OF_THE_PRESET
        }
        return TrainingRecord(name, tuple(summary_of(task) for task in tasks), changed)

    def _vectors_in_words(self) -> str:
        training = next(iter(self.trainings().values()))[0]
        sizes = read_json(training.folder / "model.json")["sizes"]
        used = training.word_vectors
        origin = f"of {used.path}" if used.training is None else "trained on the same text"
        return f"{sizes['words']:,} words, {sizes['word_size']} wide, {origin}"

    def _held_out_in_words(self) -> str:
        units = "documents" if self.held_out_unit == "document" else "blocks of sentences"
        return f"{100 * self.held_out_fraction:g} % of the {units}"


def summary_of(training: TrainEncoders) -> Mapping[str, Any]:
    """Returns what a finished training says of itself."""
    return read_json(Path(training.output().path))


def read_json(path: Path) -> Mapping[str, Any]:
    """Returns the content of a JSON file."""
    value: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value
