"""A grid of changes as a table: a training a cell, beside random weights and word vectors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.encoding.encoder_names import BAG_OF_WORDS, SIF
from treeviews.models.report.experiment import UNTRAINED, Experiment, Row, Training, config_of
from treeviews.models.report.table_columns import columns

DEFAULT_TASKS = ("STS14", "SICK14", "MR", "TREC")
RESERVED = ("seed", "held_out_fraction", "held_out_seed", "held_out_unit")
"""Fields that have parameters of their own."""


BEST = (
    "Best: the cell of the highest mean development score of the tasks that learn. The test scores "
    "of a cell that was chosen so are a little too high, and a difference within the deviation "
    "over seeds is none."
)


def grid_trainings(
    of_preset: str,
    views: Sequence[str],
    grid: Mapping[str, Sequence[Any]],
    all_changes: Mapping[str, Any],
) -> list[Training]:
    """Returns the training of each cell, the last field's values changing fastest.

    Args:
        of_preset: what is trained but for the changes.
        views: () takes the preset's.
        grid: field of the preset -> its values.
        all_changes: of the preset in all cells.

    Raises:
        ValueError: an unknown field, one that is given elsewhere, too, or that has no effect, or no
            list of values.
    """
    if not grid:
        raise ValueError("--grid names no field; give '{\"hidden_size\": [100, 300]}', say")
    TrainingConfig.check_names(grid)
    elsewhere = {*RESERVED, *all_changes, *(["views"] if views else [])}
    for name, values in grid.items():
        if name in elsewhere:
            raise ValueError(f"--grid sets {name}, which another parameter gives; give it once")
        if not isinstance(values, list | tuple) or not values:
            raise ValueError(f"--grid: {name} must have a list of values, not {values!r}")
    trainings = {}
    for values in product(*grid.values()):
        cell = dict(zip(grid, values, strict=True))
        name = ", ".join(f"{field} {_in_words(value)}" for field, value in cell.items())
        trainings[name] = Training(name, of_preset, tuple(cell.pop("views", views)), cell)
    configs = [config_of(t, {**all_changes, **t.changes}) for t in trainings.values()]
    for name in grid:
        if all(config.idle([name]) for config in configs):
            raise ValueError(f"--grid varies {name}, which has no effect in these trainings")
    return list(trainings.values())


def sweep(
    trainings: Sequence[Training],
    all_changes: Mapping[str, Any],
    *,
    title: str,
    representation: str,
    changes: Mapping[str, Any],
) -> Experiment:
    """Returns the table of a grid; the best cell is marked.

    Best is the cell of the highest mean development score, on which classifiers' regularisers were
    chosen; where no task learns, none is marked.

    Args:
        trainings: of the cells.
        all_changes: of the preset in all cells.
        representation: of all rows.
        changes: of the representation.

    Raises:
        ValueError: cells that cannot be.
    """
    architectures: list[dict[str, Any]] = []  # all that matters to random weights
    untrained = []
    for training in trainings:
        own = config_of(training, {**all_changes, **training.changes}).architecture()
        if own not in architectures:
            architectures.append(own)
            untrained.append(training)
    # A bag of words has no views to choose and no words beside it.
    of_words = {name: v for name, v in changes.items() if name not in {"views", "join_words"}}
    shared: dict[str, Any] = {"group": "untrained", "changes": of_words}
    random: dict[str, Any] = {"taken": "random weights", "group": "untrained", "changes": changes}
    return Experiment(
        "sweep",
        title,
        (),
        rows=(
            *(
                Row(training.name, "trained", (training,), group="trained", changes=changes)
                for training in trainings
            ),
            *(Row(training.name, UNTRAINED, (training,), **random) for training in untrained),
            Row("word vectors", BAG_OF_WORDS, taken="mean", **shared),
            Row("word vectors, SIF weights", SIF, taken="mean", **shared),
        ),
        columns=columns(
            *DEFAULT_TASKS, "development score", "held-out accuracy", "parameters", "hours"
        ),
        notes=({"text": BEST},),
        representation=representation,
        best_by="development score",
    )


def _in_words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, default=dict)
