"""The table of a grid of changes."""

from __future__ import annotations

import luigi

from models.experiments.declaration import Experiment
from models.experiments.sweep import DEFAULT_TASKS, Grid, sweep
from tasks.experiments.make_table import MakeTable
from tasks.parameters import SentEvalParameters, TrainingParameters


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
