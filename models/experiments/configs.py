"""Which configuration each training of a table has, and that no two have the same."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from models.config.training_config import TrainingConfig
from models.config.training_presets import preset
from models.experiments.declaration import Experiment, Training

WIDTH = "hidden_size"


def changes_of(
    training: Training, changes: Mapping[str, Any], width: int | None = None
) -> dict[str, Any]:
    """Returns what a training changes of its preset.

    Its own changes make it what it is, so those of all trainings yield to them; the width yields to
    none.

    Args:
        changes: of all trainings of the table.
        width: of each view, where it is given.
    """
    wide = {} if width is None else {WIDTH: width}
    return {**changes, **training.changes, **wide}


def config_of(training: Training, changes: Mapping[str, Any]) -> TrainingConfig:
    """Returns the configuration of a training.

    Args:
        changes: see `changes_of`.

    Raises:
        ValueError: see `preset`.
    """
    views = {"views": training.views} if training.views else {}
    return preset(training.preset, **views, **changes)


def check_trainings(
    experiment: Experiment, changes: Mapping[str, Any], width: int | None = None
) -> None:
    """Refuses trainings that cannot be, or that are the same one under two names.

    Args:
        changes: of all trainings, which may have made them so; likewise ``width``.

    Raises:
        ValueError: names the training and the field, or the two trainings.
    """
    if width is not None and WIDTH in changes:
        raise ValueError(f"--width and --changes both set {WIDTH}; give one of them")
    if width is not None and width < 1:
        raise ValueError(f"--width must be at least 1, not {width}")
    found = []
    for training in experiment.trainings:
        try:
            config = config_of(training, changes_of(training, changes, width))
            config.check_trainable()
        except ValueError as error:
            raise ValueError(f"training {training.name}: {error}") from error
        found.append((training, config))
    for (one, first), (other, second) in combinations(found, 2):
        if first == second and one.corpus == other.corpus:
            raise ValueError(
                f"trainings {one.name} and {other.name} are the same; leave one out, or the field "
                "that --changes or --width made equal"
            )
