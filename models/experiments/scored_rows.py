"""What was measured for a table: the results of each row, and how each training went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from models.evaluation.task_result import Result, TaskResult, scored_results
from models.experiments.columns import Column
from models.experiments.declaration import Experiment, Row, Scale, Training

Summary = Mapping[str, Any]
"""What a training says of itself, its ``summary.json``."""


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A row with the results of its encoders."""

    row: Row
    seeds: tuple[Mapping[str, Result], ...]
    """By the name of the task, one mapping a seed."""
    derived: tuple[Mapping[str, Result], ...] = ()
    """The same of tasks that are derived from the corpus."""
    scale: Scale = field(default_factory=Scale)
    summaries: tuple[tuple[Summary, ...], ...] = ()
    """Of what was trained for it, one tuple a seed; joined models have several."""
    folders: tuple[str, ...] = ()
    """Of the results, one a seed, within the table's folder."""

    def of_column(self, column: Column) -> tuple[Mapping[str, Result], ...]:
        """Returns the results that a column reads, one mapping a seed."""
        return self.derived if column.derived else self.seeds

    @property
    def scored(self) -> list[TaskResult]:
        """All results but the absent ones."""
        return [
            result
            for results in (*self.seeds, *self.derived)
            for result in scored_results(results).values()
        ]


@dataclass(frozen=True, slots=True)
class TrainingRecord:
    """How a training of the table went."""

    training: Training
    summaries: tuple[Summary, ...]
    """One a seed."""
    changed: Mapping[str, tuple[Any, Any]]
    """Fields that differ from the preset: its value, and ours."""


@dataclass(frozen=True, slots=True)
class TrainingText:
    """What all of them were trained on, each in words."""

    corpus: str
    vectors: str
    held_out: str
    """What of the corpus was not trained on; empty where nothing was trained."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that a table is assembled from."""

    experiment: Experiment
    """With the columns that were asked for."""
    rows: tuple[ScoredRow, ...]
    """One a row of the experiment that an encoder stands behind, in its order."""
    trainings: tuple[TrainingRecord, ...]
    text: TrainingText
    missing: Mapping[str, str] = field(default_factory=dict)
    """Rows whose encoder is not there, by full title, with the reason."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """SentEval's tasks whose data are not there, with the reason; no row has a result of them."""


def num_words(summary: Summary) -> int:
    """Returns the words of the text that was trained on."""
    return sum(int(summary["coverage"][kind]) for kind in ("exact", "lower_cased", "unknown"))
