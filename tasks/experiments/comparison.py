"""The table of Tang & de Sa's frameworks that are chosen by parameters."""

from __future__ import annotations

import luigi

from models.experiments.declaration import Experiment
from models.experiments.papers.comparison import PUBLISHED_PRESETS, comparison
from models.experiments.sweep import DEFAULT_TASKS
from tasks.experiments.make_table import MakeTable


class CompareFrameworks(MakeTable):
    """Trains frameworks on one corpus and scores their views, alone and together.

    Beside them stand random weights of the same architectures, the mean of the same word vectors,
    plain and with SIF weights, and the papers' figures.
    """

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
        default=",".join(DEFAULT_TASKS), description="Tasks, separated by commas, or all."
    )
    component_kept = luigi.ChoiceParameter(
        default="ensemble",
        choices=["none", "ensemble", "all"],
        description="For what the top principal component is also kept: nothing, all views of a "
        "model together, or each of them as well.",
    )

    def declaration(self) -> Experiment:
        """Returns the table of these frameworks.

        Raises:
            ValueError: a name that is no framework.
        """
        names = [name.strip() for name in self.frameworks.split(",") if name.strip()]
        return comparison(names, variants=self.variants, f=self.f, kept=self.component_kept)
