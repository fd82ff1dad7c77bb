"""The one task that makes a declared table: trainings, scores, and the table in four formats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import luigi

from treeviews.models.config.training_presets import preset
from treeviews.models.evaluation.task_result import read_results
from treeviews.models.report.experiment import (
    DEFAULT_TASKS,
    RESERVED,
    Experiment,
    Row,
    Training,
    grid_trainings,
    paper_tables,
    sweep,
)
from treeviews.models.report.figures import number_of
from treeviews.models.report.measured_table import ScoredRow, Summary, assemble_table, num_words
from treeviews.models.report.result_table import headline, read_table, table_files, tables_files
from treeviews.models.report.table_columns import published_beside
from treeviews.pipeline.base.atomic_files import write_bytes_atomically, write_json_atomically
from treeviews.pipeline.base.digest import digest_of
from treeviews.pipeline.base.json_files import read_json, write_sealed_json
from treeviews.tasks.artefact import Artefact
from treeviews.tasks.experiments.table_stages import ExperimentParameters, TableStages
from treeviews.tasks.parameters import SentEvalParameters, TrainingParameters
from treeviews.tasks.senteval import EvaluateEncoder, digest_of_results
from treeviews.tasks.training import TrainEncoders
from treeviews.tasks.words import OF_THE_CORPUS

TABLE_VERSION = 6
"""Raised when the same results would give another table."""
MADE_FROM = "made-from.json"
"""Digest of the results that the table was made from."""
LONGEST_NAME = 100
"""Characters of a row's title in the name of its folder."""


class MakeTable(TableStages):
    """Makes a declared table: trains and scores its rows beside the published figures.

    Output: ``table.html``, ``table.md``, ``table.csv``, ``table.tex`` and ``table.json``, and a
    folder of results per row for ``treeviews compare``. Absent results are listed with the reason;
    each new run tries to get absent data again.
    """

    marker = "table.json"
    announced = "table.html"

    def requires(self) -> list[Artefact]:
        """Returns all trainings, SentEval's data, and the evaluations that can be named by now.

        Those of joined models and of data that are not there yet are named in `run`.
        """
        return [
            *self._trainings().values(),
            *self.data(),
            *self.evaluations(joined=False, tasks=self.present()),
        ]

    def _trainings(self) -> dict[str, TrainEncoders]:
        rows = (self.trained_by(row) for row in self.here())
        return {task.digest: task for seeds in rows for seed in seeds for task in seed}

    def content(self) -> dict[str, Any]:
        """Returns the declaration, published figures, and digests of trainings and evaluations."""
        beside = [
            asdict(published)
            for row in self.experiment.rows
            if row.published is not None
            for published in published_beside(row.published, self.experiment.tables)
        ]
        return {
            "table_version": TABLE_VERSION,
            "declaration": digest_of(asdict(self.experiment)),
            "published": digest_of({"rows": beside}),
            "trainings": list(self._trainings()),
            "rows": [stage.digest for stage in self.evaluations(joined=False)],
        }

    def place(self) -> Path:
        """Returns the folder of the table."""
        return self.work_folder / "experiments" / self.experiment.name

    def is_whole(self) -> bool:
        """Returns whether the table was made of the results that there are now.

        Those of joined models are not asked: their models name them. Where data that were absent
        have come, they are made again along with the others; each new run asks for absent data once
        more.
        """
        stages = self.evaluations(joined=False, tasks=self.present())
        return (
            all(task.complete() for task in (*self.data(), *stages))
            and (self.folder / MADE_FROM).is_file()
            and read_json(self.folder / MADE_FROM, remedy="delete it")
            == {"results": digest_of_results(stages)}
        )

    def run(self) -> Iterator[list[EvaluateEncoder]]:
        """Scores what could not be named before the models and the data were there; see `fill`."""
        yield self.evaluations(tasks=self.present())
        super().run()

    def fill(self) -> None:
        """Gathers the results, one folder a row and seed, and writes the table in its formats."""
        self.write_config()
        seeds = self.all_seeds
        trainings = {
            training.name: (training, [self.training(training, seed) for seed in seeds])
            for training in self.experiment.trainings
        }
        # One whose words were expanded is no longer the row's.
        complete = {k: v for k, v in trainings.items() if all(task.complete() for task in v[1])}
        table = assemble_table(
            self.experiment,
            [self._scored(number, row) for number, row in enumerate(self.here())],
            {name: [task.summary() for task in tasks] for name, (_, tasks) in complete.items()},
            about=[*self._about(), *(_changed(t, tasks[0]) for t, tasks in complete.values())],
            absent=self.absent(),
        )
        for ending, text in table_files(table).items():
            write_bytes_atomically(self.folder / f"table.{ending}", text.encode())
        stages = self.evaluations(joined=False, tasks=self.present())
        write_json_atomically(self.folder / MADE_FROM, {"results": digest_of_results(stages)})
        write_sealed_json(self.folder / self.marker, asdict(table))

    def _about(self) -> list[str]:
        """Returns on what our trainings were made."""
        units = "documents" if self.held_out_unit == "document" else "blocks of sentences"
        held_out = f"{100 * self.held_out_fraction:g} % of the {units}"
        task = self.clone(TrainEncoders, **self.own(None))
        used, is_own = task.word_vectors, task.vectors == OF_THE_CORPUS
        vectors = "of the corpus" if is_own else used.path.name
        return [
            f"Text: {self.corpus_in_words()}. Held out, and so not trained on: {held_out}.",
            f"Word vectors: {vectors}, {used.size} wide.",
        ]

    def _scored(self, number: int, row: Row) -> ScoredRow:
        """Returns a row with its results, which are copied into folders of its own, one a seed."""
        words = re.sub(r"[^A-Za-z0-9]+", "-", row.full_title).strip("-")
        place = Path("results") / f"{number:02d}-{words[:LONGEST_NAME]}"
        published, derived = self.stages(row, tasks=self.present()), self.stages(row, derived=True)
        folders = [place / str(seed) for seed in range(len(published))]
        folders += [place / f"{seed}-derived" for seed in range(len(derived))]
        for folder, stage in zip(folders, (*published, *derived), strict=True):
            stage.copy_results(self.folder / folder)
        results = [read_results(self.folder / folder) for folder in folders]
        trained = self.trained_by(row)
        summaries = tuple(tuple(task.summary() for task in seed) for seed in trained)
        return ScoredRow(
            row,
            tuple(results[: len(published)]),
            tuple(results[len(published) :]),
            scale=self._scale(row, summaries),
            summaries=summaries,
            folders=tuple(map(str, folders)),
        )

    def _scale(self, row: Row, summaries: tuple[tuple[Summary, ...], ...]) -> str:
        """Returns on what a row's encoder was trained, in words."""
        if not row.trainings:
            return ""
        task = self.training(row.trainings[0], 0)
        width = task.config.view_widths(task.word_vectors.size)[0]
        if not summaries:
            return f"{width:,} wide"
        summary = summaries[0][0]
        return (
            f"{task.corpus_in_words()}; {summary['train_sentences']:,} sentences; "
            f"{num_words(summary):,} words; {width:,} wide; "
            f"{number_of(summary['epochs'], 'epoch')}"
        )

    def headline(self) -> list[str]:
        """Returns what the table says first."""
        return headline(read_table(self.folder / self.marker))


def _changed(training: Training, task: TrainEncoders) -> str:
    """Returns what sets our training apart from the preset."""
    published = preset(training.preset).to_dict()
    fields = ", ".join(
        f"{name} {value} ({published.get(name)})"
        for name, value in task.config.to_dict().items()
        if value != published.get(name) and name not in RESERVED
    )
    return f"{training.name}, in parentheses the preset: {fields or 'the same'}."


PAGE_VERSION = 5
"""Raised when the same tables would give another page."""


TABLES: dict[str, type[MakeTable]] = {
    table.task: type(
        table.task,
        (MakeTable,),
        {
            "__doc__": f"{table.title} (paper {'; '.join(table.tables)}).",
            "__module__": __name__,
            "declared": table,
        },
    )
    for table in paper_tables().values()
    if table.task
}
"""What `PaperTables` makes, by the names of the tasks, in the order of its page."""
globals().update(TABLES)  # where pickle looks for a class


class PaperTables(ExperimentParameters):
    """Makes all of the papers' tables at one scale.

    Shared models and results are made once. Output: ``tables.html``, ``tables.md``, ``tables.csv``
    and ``tables.tex`` with all tables, and a folder for each.
    """

    marker = "tables.json"
    announced = "tables.html"

    def requires(self) -> list[MakeTable]:
        """Returns the tables, in the order of the page."""
        return [self.clone(table) for table in TABLES.values()]

    def content(self) -> dict[str, Any]:
        """Returns the digests of the tables."""
        return {"tables": [table.digest for table in self.requires()], "page_version": PAGE_VERSION}

    def place(self) -> Path:
        """Returns the folder of the page."""
        return self.work_folder / "experiments" / "paper-tables"

    def is_whole(self) -> bool:
        """Returns whether all tables stand, and the page after them: absent data make them anew."""
        pages: list[Artefact] = [self, *self.requires()]
        if not all(table.complete() for table in self.requires()):
            return False
        times = [Path(task.output().path).stat().st_mtime_ns for task in pages]
        return max(times) == times[0]

    def fill(self) -> None:
        """Writes the page and the files of all tables."""
        self.write_config()
        tables = {task: read_table(task.folder / task.marker) for task in self.requires()}
        for ending, text in tables_files("The papers' tables", list(tables.values())).items():
            write_bytes_atomically(self.folder / f"tables.{ending}", text.encode())
        folders = {table.name: str(task.folder) for task, table in tables.items()}
        write_json_atomically(self.folder / self.marker, {"tables": folders})


class Sweep(MakeTable):
    """Trains and scores every combination of settings with every seed and marks the best.

    The table also has random weights of each architecture and the mean of the word vectors.
    """

    grid = luigi.DictParameter(
        description="Training settings and the values to try, as JSON: "
        '\'{"hidden_size": [100, 300], "learning_rate": [0.0005, 0.002]}\', or, for views, '
        '\'{"views": [["DEP", "CONST"], ["SEQ", "SEQ"]]}\'.',
    )
    tasks = luigi.Parameter(
        default=",".join(DEFAULT_TASKS), description="Task names separated by commas."
    )
    preset = TrainingParameters.preset
    views = TrainingParameters.views
    representation = SentEvalParameters.representation
    representation_changes = SentEvalParameters.representation_changes

    def declaration(self) -> Experiment:
        """Returns the table of the grid.

        Raises:
            ValueError: a grid that cannot be trained; see `grid_trainings`.
        """
        wide = {} if self.width is None else {"hidden_size": self.width}
        changes, grid = {**self.changes, **wide}, dict(self.grid)
        views = tuple(view.strip() for view in self.views.split(",")) if self.views else ()
        return sweep(
            grid_trainings(self.preset, views, grid, changes),
            changes,
            title=f"Sweep over {', '.join(grid)} by {self.preset}",
            representation=self.representation,
            changes=dict(self.representation_changes),
        )
