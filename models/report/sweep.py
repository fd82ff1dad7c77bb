"""A grid of changes as a table: a training a cell, beside random weights and word vectors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.training_presets import preset
from treeviews.models.report.experiment import (
    SIF_WORDS,
    WORDS,
    Experiment,
    Note,
    Row,
    Trained,
    Training,
    Untrained,
    config_of,
)
from treeviews.models.report.table_columns import columns

DEFAULT_TASKS = ("STS14", "SICK14", "MR", "TREC")
RESERVED = {"seed": "--seeds"} | {
    name: f"--{name.replace('_', '-')}"
    for name in ("held_out_fraction", "held_out_seed", "held_out_unit")
}
"""Fields that have parameters of their own."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid of changes: every combination is a cell, a training beside those of the others."""

    preset: str
    views: tuple[str, ...]
    """() takes the preset's."""
    values: Mapping[str, Sequence[Any]]
    """Field of the preset -> its values."""
    changes: Mapping[str, Any]
    """Of all cells."""

    def trainings(self) -> list[Training]:
        """Returns the training of each cell, the last field's values changing fastest."""
        cells = (
            dict(zip(self.values, cell, strict=True)) for cell in product(*self.values.values())
        )
        return [
            Training(
                ", ".join(f"{name} {_in_words(value)}" for name, value in cell.items()),
                self.preset,
                tuple(cell.pop("views", self.views)),
                cell,
            )
            for cell in cells
        ]

    def check(self) -> None:
        """Refuses a grid that cannot be trained, or that tries the same thing twice.

        Raises:
            ValueError: an unknown field or one that has a parameter of its own, no list of values,
                a value of another type or out of range, one that stands there twice, or a field
                that has no effect; says what to change.
        """
        if not self.values:
            raise ValueError("--grid names no field; give '{\"hidden_size\": [100, 300]}', say")
        TrainingConfig.check_names(self.values)
        for name, values in self.values.items():
            self._check_field(name, values)
        trainings = self.trainings()
        names = [training.name for training in trainings]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise ValueError(f"--grid has the cell {twice} twice; give each value once")
        configs = []
        for training in trainings:
            try:
                configs.append(config_of(training, {**self.changes, **training.changes}))
            except ValueError as error:
                raise ValueError(f"--grid, cell {training.name}: {error}") from error
        for name in self.values:
            if all(config.idle([name]) for config in configs):
                raise ValueError(
                    f"--grid varies {name}, which has no effect in these trainings; take it out"
                )

    def _check_field(self, name: str, values: Any) -> None:
        if name in RESERVED:
            raise ValueError(f"--grid sets {name}: use {RESERVED[name]}")
        if name in self.changes:
            raise ValueError(f"--grid and --changes both set {name}; give it in one of them")
        if name == "views" and self.views:
            raise ValueError("--grid and --views both set the views; give them in one of the two")
        if not isinstance(values, list | tuple) or not values:
            raise ValueError(
                f"--grid: {name} must have a list of values, not {json.dumps(values, default=dict)}"
            )


def sweep(
    grid: Grid, *, representation: str, changes: Mapping[str, Any], grid_scale: float = 1.0
) -> Experiment:
    """Returns the table of a grid; the best cell is marked.

    Best is the cell of the highest mean development score, on which classifiers' regularisers were
    chosen; where no task learns, none is marked.

    Args:
        grid: what is tried.
        representation: of all rows.
        changes: of the representation.
        grid_scale: see `Experiment`.

    Raises:
        ValueError: see `Grid.check`.
    """
    grid.check()
    trainings = grid.trainings()
    architectures: list[tuple[Any, Training]] = []  # all that matters to random weights
    for training in trainings:
        own = config_of(training, {**grid.changes, **training.changes}).architecture()
        if own not in (known for known, _ in architectures):
            architectures.append((own, training))
    # A bag of words has no views to choose and no words beside it.
    of_words = {name: v for name, v in changes.items() if name not in {"views", "join_words"}}
    views = "" if "views" in grid.values else ",".join(grid.views or preset(grid.preset).views)
    called = f"{views} by {grid.preset}" if views else grid.preset
    untrained = (training for _, training in architectures)
    return Experiment(
        "sweep",
        f"Sweep over {', '.join(grid.values)} of {called}",
        (),
        rows=(
            *(Row(one.name, Trained(one), "", "trained", changes) for one in trainings),
            *(
                Row(one.name, Untrained(one), "random weights", "untrained", changes)
                for one in untrained
            ),
            Row("word vectors", WORDS, "mean", "untrained", of_words),
            Row("word vectors, SIF weights", SIF_WORDS, "mean", "untrained", of_words),
        ),
        columns=columns(
            *DEFAULT_TASKS, "development score", "held-out accuracy", "parameters", "hours"
        ),
        notes=(
            Note(
                "Best: the cell of the highest mean development score of the tasks that learn. The "
                "test scores of a cell that was chosen so are a little too high, and a difference "
                "within the deviation over seeds is none."
            ),
        ),
        representation=representation,
        grid_scale=grid_scale,
        best_by="development score",
    )


def _in_words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, default=dict)
