"""Which figures of a table differ from those of random weights, on the same test items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from models.evaluation.comparison import ComparisonConfig, compare
from models.evaluation.resampling import CONFIDENCE, Interval
from models.report.html.sections import Mark
from models.report.probing_table import (
    MAJORITY_ROW,
    RANDOM_WEIGHTS,
    ProbingRow,
    ProbingTable,
)

_HOW = ComparisonConfig(test="bootstrap", correction="holm")


@dataclass(frozen=True, slots=True)
class RowMarks:
    """What of a row differs from the baseline."""

    tasks: Mapping[str, Mark]
    """By paired bootstrap, p values corrected for the number of tasks (Holm 1979)."""
    average: Mark
    """Whether the interval of the difference of averages excludes 0."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of a table against one baseline."""

    baseline: str
    """The baseline in words; empty where there is none."""
    rows: Mapping[str, RowMarks]
    """By row, and by what rows are taken together under; the baseline and what it is made of have
    none."""

    def of_task(self, row: str, task: str) -> Mark:
        """Returns the mark of a figure."""
        return self.rows[row].tasks[task] if row in self.rows else ""

    def of_average(self, row: str) -> Mark:
        """Returns the mark of a row's average."""
        return self.rows[row].average if row in self.rows else ""

    @property
    def note(self) -> str:
        """What the signs mean, as a sentence; empty where there is no baseline."""
        if not self.baseline:
            return ""
        return (
            f"▲ better, ▼ worse than {self.baseline} on the same test items (paired bootstrap, "
            f"{CONFIDENCE:.0%}; of tasks corrected for their number by Holm's method, of the "
            "average its interval); without a sign not told apart."
        )


def marks_of_table(table: ProbingTable) -> Marks:
    """Returns which figures of a table differ from those of random weights; no marks without."""
    compared = table.of_spread(RANDOM_WEIGHTS)
    if not compared:
        return Marks("", {})
    own = {row.name for row in compared}
    sides = {row.name: [row] for row in table.rows if row.name != MAJORITY_ROW}
    sides |= {name: table.of_spread(name) for name in table.spreads}
    found = {
        name: _marks(rows, compared)
        for name, rows in sides.items()
        if not own & {row.name for row in rows}
    }
    seeds = f"{len(compared)} seeds" if len(compared) > 1 else "one seed"
    return Marks(f"{RANDOM_WEIGHTS} ({seeds})", found)


def _marks(rows: Sequence[ProbingRow], baseline: Sequence[ProbingRow]) -> RowMarks:
    found = compare([row.results for row in rows], [row.results for row in baseline], _HOW)
    tasks = {
        task: _mark(one.difference) if one.corrected_p < 1 - CONFIDENCE else ""
        for task, one in zip(rows[0].results, found.tasks, strict=True)
    }
    average = found.average
    differs = average is not None and average.excludes_zero
    return RowMarks(tasks, _mark(average) if average is not None and differs else "")


def _mark(difference: Interval) -> Mark:
    return "better" if difference.value > 0 else "worse"
