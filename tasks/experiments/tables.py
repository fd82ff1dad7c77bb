"""The roots: each of the papers' tables by a name of its own, all of them at once, and sweeps."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import luigi

from treeviews.models.report.experiment import Experiment, paper_tables
from treeviews.models.report.result_table import read_table, tables_files
from treeviews.models.report.sweep import DEFAULT_TASKS, Grid, sweep
from treeviews.pipeline.base.atomic_files import write_bytes_atomically, write_json_atomically
from treeviews.tasks.artefact import Artefact
from treeviews.tasks.experiments.make_table import MakeTable
from treeviews.tasks.experiments.table_stages import ExperimentParameters
from treeviews.tasks.parameters import SentEvalParameters, TrainingParameters

PAGE_VERSION = 5
"""Raised when the same tables would give another page."""
_DECLARED = paper_tables()


class TableOfViewPairs(MakeTable):
    """Makes table 2 of Simoulin & Crabbé 2021: pairs of views, and single views."""

    declared = _DECLARED["view-pairs"]


class TableOfSentEval(MakeTable):
    """Makes table 1 of Simoulin & Crabbé 2021: pairs of views beside models of others."""

    declared = _DECLARED["senteval"]


class TableOfCorpusChoice(MakeTable):
    """Makes the first part of table 3 of Simoulin & Crabbé 2021: QuickThoughts on two texts."""

    declared = _DECLARED["corpus-choice"]


class TableOfEmbeddingSize(MakeTable):
    """Makes the second part of table 3 of Simoulin & Crabbé 2021: width by random projection."""

    declared = _DECLARED["embedding-size"]


class TableOfRandomBaselines(MakeTable):
    """Makes the third part of table 3 of Simoulin & Crabbé 2021: training and random weights."""

    declared = _DECLARED["random-baselines"]


class TableOfMultiViewSimilarity(MakeTable):
    """Makes tables 3 and 4 of Tang & de Sa 2018: both frameworks on similarity by cosine."""

    declared = _DECLARED["multi-view-similarity"]


class TableOfMultiViewSupervised(MakeTable):
    """Makes table 5 of Tang & de Sa 2018: both frameworks on tasks that learn."""

    declared = _DECLARED["multi-view-supervised"]


class TableOfMultiViewAblations(MakeTable):
    """Makes table 6 of Tang & de Sa 2018: single views, views of one kind, a free decoder."""

    declared = _DECLARED["multi-view-ablations"]


class TableOfPostProcessing(MakeTable):
    """Makes table 2 of the appendix of Tang & de Sa 2018: the top component removed and kept."""

    declared = _DECLARED["multi-view-post-processing"]


class TableOfJointObjectives(MakeTable):
    """Makes table 3 of the appendix of Tang & de Sa 2018: both objectives together."""

    declared = _DECLARED["joint-objectives"]


class TableOfInvertibleDecoders(MakeTable):
    """Makes tables 1 to 3 of Tang & de Sa 2019: linear and bijective decoders and their inverse."""

    declared = _DECLARED["invertible-decoders"]


TABLES: tuple[type[MakeTable], ...] = (
    TableOfViewPairs,
    TableOfSentEval,
    TableOfCorpusChoice,
    TableOfEmbeddingSize,
    TableOfRandomBaselines,
    TableOfMultiViewSimilarity,
    TableOfMultiViewSupervised,
    TableOfMultiViewAblations,
    TableOfPostProcessing,
    TableOfJointObjectives,
    TableOfInvertibleDecoders,
)
"""What `PaperTables` makes, in the order of its page."""


class PaperTables(ExperimentParameters, Artefact):
    """Makes all of the papers' tables at one scale; what they share is made once.

    Output: ``tables.html`` and ``tables.md`` with all of them, ``tables.csv`` and ``tables.tex``;
    each table has a folder of its own, too.
    """

    marker = "tables.json"
    announced = "tables.html"

    @cached_property
    def tables(self) -> list[MakeTable]:
        """The tables, in the order of the page."""
        return [self.clone(table) for table in TABLES]

    def requires(self) -> list[MakeTable]:
        """Returns the tables."""
        return self.tables

    def content(self) -> dict[str, Any]:
        """Returns the digests of the tables."""
        return {"tables": [table.digest for table in self.tables], "page_version": PAGE_VERSION}

    def place(self) -> Path:
        """Returns the folder of the page."""
        return self.work_folder / "experiments" / "paper-tables"

    def complete(self) -> bool:
        """Returns whether the page and all tables stand, newer than none of them."""
        return super().complete() and all(
            table.complete() and self._is_current(table) for table in self.tables
        )

    def _is_current(self, table: MakeTable) -> bool:
        """Returns whether the page was made after a table, which absent data make anew."""
        marker = Path(table.output().path)
        return marker.stat().st_mtime_ns <= Path(self.output().path).stat().st_mtime_ns

    def fill(self) -> None:
        """Writes the page and the files of all tables."""
        self.write_config()
        made = {task: read_table(task.folder / task.marker) for task in self.tables}
        for ending, text in tables_files("The papers' tables", list(made.values())).items():
            write_bytes_atomically(self.folder / f"tables.{ending}", text.encode())
        folders = {table.name: str(task.folder) for task, table in made.items()}
        write_json_atomically(self.folder / self.marker, {"tables": folders})


class Sweep(MakeTable):
    """Trains and scores every combination of some changes with every seed, and marks the best.

    Beside the cells stand random weights of each architecture and the mean of the word vectors.
    """

    grid = luigi.DictParameter(
        description="Fields of the preset and the values to try, as JSON: "
        '\'{"hidden_size": [100, 300], "learning_rate": [0.0005, 0.002]}\'; every combination is '
        'trained. views may be one of them: \'{"views": [["DEP", "CONST"], ["SEQ", '
        '"SEQ"]]}\'.',
    )
    tasks = luigi.Parameter(
        default=",".join(DEFAULT_TASKS), description="Tasks, separated by commas."
    )
    preset = TrainingParameters.preset
    views = TrainingParameters.views
    representation = SentEvalParameters.representation
    representation_changes = SentEvalParameters.representation_changes

    def declaration(self) -> Experiment:
        """Returns the table of the grid.

        Raises:
            ValueError: a grid that cannot be trained; see `Grid.check`.
        """
        wide = {} if self.width is None else {"hidden_size": self.width}
        views = tuple(view.strip() for view in self.views.split(",")) if self.views else ()
        return sweep(
            Grid(self.preset, views, dict(self.grid), {**dict(self.changes), **wide}),
            representation=self.representation,
            changes=dict(self.representation_changes),
        )
