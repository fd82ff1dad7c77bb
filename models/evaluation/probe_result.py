"""What probing one row of the table gives; read and reported where torch is not loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from models.evaluation.statistics.interval import Interval


@dataclass(frozen=True, slots=True)
class TaskScore:
    """One task's result; accuracies in percent."""

    accuracy: Interval
    correct: tuple[int, ...]
    """1 for each test item answered rightly, in the order of the items."""
    clusters: tuple[int, ...]
    """What the bootstrap drew as one, for each test item; see ``probing.clusters``."""
    num_train: int
    num_test: int
    dev_accuracy: float | None = None
    """None for the majority class, as is the regulariser."""
    regulariser: float | None = None
    """The λ chosen on dev."""
    at_grid_edge: bool = False
    """Whether the chosen λ is the smallest or largest offered, so a wider grid might do better."""
    converged: bool = True
    """Whether all fits, one a regulariser, reached the tolerance before the last step."""
    gap: float | None = None
    """Share of its objective by which the least finished of these fits may lie above its minimum;
    None where nothing was fitted."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """One row of the probing table."""

    tasks: Mapping[str, TaskScore]
    average: Interval
    """Mean over the tasks."""
    width: int
    """Dimensions of the embeddings."""
    seconds: float
