"""The one task that makes a declared table: trainings, scores, and the table in four formats."""

from __future__ import annotations

import filecmp
import re
import shutil
from collections.abc import Collection, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from treeviews.models.config.training_presets import preset
from treeviews.models.evaluation.task_result import read_results
from treeviews.models.report.experiment import Row, Scale, Training
from treeviews.models.report.measured_table import (
    Measured,
    ScoredRow,
    Summary,
    TrainingRecord,
    assembled,
    num_words,
)
from treeviews.models.report.result_table import headline, read_table, table_files, write_table
from treeviews.models.report.table_columns import published_beside
from treeviews.pipeline.base.atomic_files import write_bytes_atomically
from treeviews.pipeline.base.digest import digest_of
from treeviews.pipeline.base.json_files import read_json
from treeviews.tasks.artefact import Artefact
from treeviews.tasks.experiments.table_stages import TableStages
from treeviews.tasks.senteval import EvaluateEncoder
from treeviews.tasks.training import TrainEncoders
from treeviews.tasks.words import OF_THE_CORPUS

TABLE_VERSION = 5
"""Raised when the same results would give another table."""
NOT_OF_THE_PRESET = ("seed", "held_out_fraction", "held_out_seed", "held_out_unit")
"""Fields of a training that have parameters of their own and that no paper gives."""
LONGEST_NAME = 100
"""Characters of a row's title in the name of its folder."""


class MakeTable(TableStages):
    """Makes a declared table: trains what is in it, scores it, and sets published figures beside.

    Output: ``table.html``, ``table.md``, ``table.csv``, ``table.tex`` and ``table.json``, and a
    folder a row of the results, as ``treeviews compare`` takes them. What is absent is said to be,
    with the reason; each new run asks for absent data once more.
    """

    marker = "table.json"
    announced = "table.html"

    def requires(self) -> list[Artefact]:
        """Returns all trainings, SentEval's data, and the evaluations that can be named by now.

        Those of joined models and of data that are not there yet are named in `run`.
        """
        trainings = {
            task.digest: task
            for row in self.here()
            for seed in self.trained_by(row)
            for task in seed
        }
        data = self.data()
        return [
            *trainings.values(),
            *([] if data is None else [data]),
            *self._present_evaluations(self.here(joined=False)),
        ]

    def _evaluations(
        self, rows: list[Row], tasks: Collection[str] | None = None
    ) -> list[EvaluateEncoder]:
        found = (
            stage
            for row in rows
            for stage in (*self.stages(row, tasks=tasks), *self.stages(row, derived=True))
        )
        return list(dict.fromkeys(found))

    def _present_evaluations(self, rows: list[Row]) -> list[EvaluateEncoder]:
        """Returns the evaluations of rows on the tasks whose data are there."""
        return self._evaluations(rows, self._present())

    def _present(self) -> set[str]:
        return {*self.task_names()} - {*self.absent()}

    def content(self) -> dict[str, Any]:
        """Returns the declaration, published figures, and digests of trainings and evaluations."""
        beside = [
            asdict(one)
            for row in self.experiment.rows
            if row.published is not None
            for one in published_beside(row.published, self.experiment.tables)
        ]
        trainings = [
            task.digest for row in self.here() for seed in self.trained_by(row) for task in seed
        ]
        return {
            "table_version": TABLE_VERSION,
            "declaration": digest_of(asdict(self.experiment)),
            "published": digest_of({"rows": beside}),
            "trainings": list(dict.fromkeys(trainings)),
            "missing": sorted(self.missing),  # the reasons hold paths of this machine
            "rows": [stage.digest for stage in self._evaluations(self.here(joined=False))],
        }

    def place(self) -> Path:
        """Returns the folder of the table."""
        return self.work_folder / "experiments" / self.experiment.name

    def complete(self) -> bool:
        """Returns whether the table stands, made of the results that there are now.

        Those of joined models are not asked: their models name them. Where data that were absent
        have come, they are made again along with the others; each new run asks for absent data once
        more.
        """
        if not super().complete():
            return False
        data = self.data()
        rows = self.here(joined=False)
        return (
            (data is None or data.complete())
            and all(stage.complete() for stage in self._present_evaluations(rows))
            and self._is_current(rows)
        )

    def _is_current(self, rows: list[Row]) -> bool:
        """Returns whether the copied results are those that stand."""
        return all(
            (self.folder / folder / result.name).is_file()
            and filecmp.cmp(result, self.folder / folder / result.name)
            for number, row in enumerate(self.here())
            if row in rows
            for folder, stage in self._result_folders(number, row)
            for result in (Path(one.output().path) for one in stage.evaluations)
        )

    def run(self) -> Iterator[list[EvaluateEncoder]]:
        """Scores what could not be named before the models and the data were there; see `fill`."""
        yield self._present_evaluations(self.here())
        super().run()

    def fill(self) -> None:
        """Gathers the results and writes the table in its formats."""
        self.write_config()
        table = assembled(self.measured())
        for ending, text in table_files(table).items():
            write_bytes_atomically(self.folder / f"table.{ending}", text.encode())
        write_table(self.folder / self.marker, table)

    def measured(self) -> Measured:
        """Returns all that the table is assembled from; copies the results into its folder."""
        rows = tuple(self._scored(number, row) for number, row in enumerate(self.here()))
        units = "documents" if self.held_out_unit == "document" else "blocks of sentences"
        return Measured(
            self.experiment,
            rows,
            self._records(),
            corpus=self.corpus_in_words(),
            held_out=f"{100 * self.held_out_fraction:g} % of the {units}",
            vectors=self._vectors(),
            missing=self.missing,
            absent=self.absent(),
        )

    def _vectors(self) -> str:
        """Returns the run's word vectors, in words."""
        return _given_vectors(self.clone(TrainEncoders, **self.own(None)))

    def _scored(self, number: int, row: Row) -> ScoredRow:
        """Returns a row with its results, which are copied into folders of its own, one a seed."""
        gathered = self._result_folders(number, row)
        for folder, stage in gathered:
            (self.folder / folder).mkdir(parents=True, exist_ok=True)
            for evaluation in stage.evaluations:
                shutil.copy2(evaluation.output().path, self.folder / folder)
        results = [
            (stage.derived, read_results(self.folder / folder)) for folder, stage in gathered
        ]
        trained = self.trained_by(row)
        summaries = tuple(tuple(map(summary_of, seed)) for seed in trained)
        return ScoredRow(
            row,
            tuple(found for is_derived, found in results if not is_derived),
            tuple(found for is_derived, found in results if is_derived),
            scale=self._scale(row, trained, summaries),
            summaries=summaries,
            folders=tuple(str(folder) for folder, _ in gathered),
        )

    def _result_folders(self, number: int, row: Row) -> list[tuple[Path, EvaluateEncoder]]:
        """Returns the folder of each seed's results, within the table's, and who makes them."""
        words = re.sub(r"[^A-Za-z0-9]+", "-", row.full_title).strip("-")
        place = Path("results") / f"{number:02d}-{words[:LONGEST_NAME]}"
        published, derived = self.stages(row, tasks=self._present()), self.stages(row, derived=True)
        return [
            *((place / str(seed), stage) for seed, stage in enumerate(published)),
            *((place / f"{seed}-derived", stage) for seed, stage in enumerate(derived)),
        ]

    def _scale(
        self,
        row: Row,
        trained: list[list[TrainEncoders]],
        summaries: tuple[tuple[Summary, ...], ...],
    ) -> Scale:
        if trained:
            scales = [_scale_of(*pair) for pair in zip(trained[0], summaries[0], strict=True)]
            vectors = "; ".join(dict.fromkeys(one.vectors for one in scales))
            return replace(scales[0], vectors=vectors)
        if row.architecture is not None:
            return _scale_of(self.training(row.architecture, 0), None)
        stages = self._any_stages(row)
        of_words = bool(stages) and "vectors" in stages[0].evaluated.settings
        return Scale(vectors=self._vectors() if of_words else "")

    def _records(self) -> tuple[TrainingRecord, ...]:
        """Returns how each training went; one whose words were expanded is no longer the row's."""
        return tuple(
            _record(training, [self.training(training, seed) for seed in self.all_seeds])
            for training in self.experiment.trainings
            if all(self.training(training, seed).complete() for seed in self.all_seeds)
        )

    def headline(self) -> list[str]:
        """Returns what the table says first."""
        return headline(read_table(self.folder / self.marker))


def _record(training: Training, tasks: list[TrainEncoders]) -> TrainingRecord:
    ours, published = tasks[0].config.to_dict(), preset(training.preset).to_dict()
    changed = {
        field: (published.get(field), value)
        for field, value in ours.items()
        if value != published.get(field) and field not in NOT_OF_THE_PRESET
    }
    return TrainingRecord(training, tuple(map(summary_of, tasks)), changed)


def summary_of(training: TrainEncoders) -> Summary:
    """Returns what a finished training says of itself."""
    value: Summary = read_json(
        training.folder / training.marker, remedy="delete the folder to train again"
    )
    return value


def _scale_of(training: TrainEncoders, summary: Summary | None) -> Scale:
    """Returns the scale of a model.

    Args:
        summary: of the training; None of random weights, which have no text.
    """
    widths = training.config.view_widths(training.word_vectors.size)
    vectors = _vectors_of(training, is_trained=summary is not None)
    if summary is None:
        return Scale(vectors=vectors, width=widths[0])
    return Scale(
        training.corpus_in_words(),
        summary["train_sentences"],
        num_words(summary),
        vectors,
        widths[0],
        summary["epochs"],
    )


def _vectors_of(training: TrainEncoders, *, is_trained: bool) -> str:
    """Returns which word vectors a model reads, trained or not."""
    config = training.config
    if config.word_vectors == "frozen" or config.trained_word_init == "given":
        given = _given_vectors(training)
        return f"{given}, trained on" if config.word_vectors == "trained" and is_trained else given
    how = "trained with the model" if is_trained else "drawn at random"
    return f"{how}, {config.trained_word_size} wide"


def _given_vectors(training: TrainEncoders) -> str:
    """Returns what word vectors are called: trained here, or their file; and their width."""
    used = training.word_vectors
    called = "of the corpus" if training.vectors == OF_THE_CORPUS else used.path.name
    return f"{called}, {used.size} wide"
