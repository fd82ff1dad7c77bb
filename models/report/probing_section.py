"""The report's sections about the derived tasks: verdict, tables, and notes.

The notes are what a reader must know before quoting a figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from treeviews.models.evaluation.probing_sentences import SPLITS
from treeviews.models.evaluation.resampling import CONFIDENCE
from treeviews.models.report.figures import (
    ALL_ROWS,
    by_reason,
    count,
    doubts,
    with_interval,
)
from treeviews.models.report.probing_table import (
    AVERAGE,
    PAIR_ROW,
    TRAINED,
    TRAINED_SEEDS,
    ProbingRow,
    ProbingTable,
)
from treeviews.models.report.sections import Cell, Row, Section, Table

MIN_TEST_ITEMS = 500
"""Test items over all tasks below which the report gives no verdict."""
SMALL_TEST = 200
"""Test sentences below which a task is marked as small."""
FEW_DOCUMENTS = (
    "The test sentences are from too few documents to resample these, so the intervals are over "
    "sentences and too narrow for other documents:"
)


def statement(table: ProbingTable, probing: Mapping[str, Any]) -> str:
    """Returns in words whether the trained model beats the same architecture untrained.

    Args:
        probing: the summary of the probing data.
    """
    built, wanted = len(probing["tasks"]), len(probing["tasks"]) + len(probing["absent"])
    num_items = sum(task["sizes"]["test"] for task in probing["tasks"].values())
    if 2 * built < wanted or num_items < MIN_TEST_ITEMS:
        which = f"Only {built} of {wanted}" if built < wanted else f"All {wanted}"
        return (
            f"{which} tasks could be built, {count(num_items)} test items: too little for a "
            "verdict."
        )
    trained, comparison = table.over_seeds[TRAINED], table.comparisons[0]
    row, several = PAIR_ROW, ""
    if len(trained.seeds) > 1:
        row, several = TRAINED, f" (mean over {len(trained.seeds)} training seeds)"
    better, worse = (
        listed(task for task in table.tasks if table.mark(row, task) == way)
        for way in ("better", "worse")
    )
    outcome = comparison.verdict("the trained model", "the same architecture with random weights")
    return (
        f"On the average of the probing tasks, {outcome}{several}: "
        f"{with_interval(comparison.difference, signed=True)} points. "
        f"Significant on single tasks, corrected for their number: better on {better}; "
        f"worse on {worse}."
    )


def listed(tasks: Iterable[str]) -> str:
    """Returns task names as running text."""
    return ", ".join(_called(task) for task in tasks) or "none"


def _called(name: str) -> str:
    return name.replace("_", " ")


def probing_section(table: ProbingTable, probing: Mapping[str, Any]) -> Section:
    """Returns the figures of rows and tasks, the comparisons, and the tasks that are absent."""
    absent = [f"{name}: {reason}" for name, reason in sorted(probing["absent"].items())]
    titles = _titles(probing)
    return Section.of(
        "Probing",
        "Test accuracy in percent of a logistic regression on each task (Conneau et al. 2018; "
        "discourse coherence: Chen et al. 2019), on held-out sentences. Intervals: 95 %, bootstrap "
        "over what the second table names as resampled, drawn for all tasks at once.",
        f"▲ better, ▼ worse than {table.baseline} on the same test items (paired bootstrap, "
        f"{CONFIDENCE:.0%}; of tasks corrected for their number by Holm's method, of the "
        "average its interval); no sign: no significant difference.",
        _rows_table(table, titles),
        _tasks_table(probing, titles),
        "Chance is the accuracy of always answering the commonest class of the training split.",
        "Tasks absent for want of data:" if absent else "No task is absent.",
        absent,
        "Differences on the same test sentences, first row minus second, by paired bootstrap:",
        _comparison_table(table, titles),
    )


def _titles(probing: Mapping[str, Any]) -> dict[str, str]:
    """Returns what tables call each task."""
    return {
        name: _called(name) + (" (small)" if task["sizes"]["test"] < SMALL_TEST else "")
        for name, task in probing["tasks"].items()
    }


def _rows_table(table: ProbingTable, titles: Mapping[str, str]) -> Table:
    rows: list[Row] = [
        [
            row.title,
            str(row.width or "–"),
            *(_cell(table, row, task) for task in (*table.tasks, AVERAGE)),
        ]
        for row in table.all_rows
    ]
    header = ("row", "width", *(titles[task] for task in table.tasks), AVERAGE)
    return Table("Test accuracy in percent, by row and task, with 95 % intervals", header, rows)


def _cell(table: ProbingTable, row: ProbingRow, task: str) -> Cell:
    mark, figure = table.mark(row.name, task), row.figures[task]
    value, *uncertain = figure.text().split(" ", 1)
    if figure.deviation is None:
        return Cell(value, mark, *uncertain)
    return Cell(f"{value} ± {figure.deviation:.1f}", mark)


def _tasks_table(probing: Mapping[str, Any], titles: Mapping[str, str]) -> Table:
    rows = [
        [
            titles[name],
            task["label_rule"],
            _called(task["split_by"]),
            f"{count(task['num_resampled'])} {task['resampled_by']}s",
            str(len(task["classes"])),
            " / ".join(count(task["sizes"][split]) for split in SPLITS),
            f"{task['chance']:.1f}",
        ]
        for name, task in probing["tasks"].items()
    ]
    header = ("task", "label", "split by", "resampled", "classes", "train / dev / test", "chance")
    return Table("The tasks, and what their intervals draw", header, rows, range(4))


def _comparison_table(table: ProbingTable, titles: Mapping[str, str]) -> Table:
    called = {PAIR_ROW: "trained", TRAINED_SEEDS: "trained"}  # also of one view or three
    rows = [
        [
            " − ".join(called.get(name, _called(name)) for name in (c.first, c.second)),
            *(f"{c.tasks[task].value:+z.1f}" for task in table.tasks),
            with_interval(c.difference, signed=True),
        ]
        for c in table.comparisons
    ]
    header = ("rows", *(titles[task] for task in table.tasks), "average over tasks [95 %]")
    return Table("Differences in points of accuracy", header, rows)


def notes_section(table: ProbingTable, probing: Mapping[str, Any]) -> Section:
    """Returns the notes, and how the tasks differ from the published ones."""
    tasks = probing["tasks"].items()
    by_sentence = [name for name, task in tasks if task["resampled_by"] == "sentence"]
    differing = [f"{_called(name)}: {task['differs']}" for name, task in tasks if task["differs"]]
    notes = [
        _of_seeds(table),
        "Labels come from the automatic parses. Tree encoders read the same parses, so on tasks "
        "whose label is a property of the tree they see what sequences and bags of words must "
        "infer.",
        *([f"{FEW_DOCUMENTS} {listed(by_sentence)}."] if by_sentence else []),
        *doubts(ALL_ROWS, table.rows, table.tasks),
        f"Held-out sentences left out of the tasks: {by_reason(probing['excluded'])}.",
    ]
    return Section.of(
        "Notes",
        notes,
        "How the tasks differ from the published ones:" if differing else None,
        differing,
    )


def _of_seeds(table: ProbingTable) -> str:
    if (num_seeds := len(table.over_seeds[TRAINED].seeds)) > 1:
        return (
            f"The model was trained from {num_seeds} seeds; its single views and its join "
            "with the words are those of the first. The intervals cover the choice of test "
            "documents alone."
        )
    return (
        "One training seed was run: how far a row moves from seed to seed of training is not "
        "measured, and the intervals cover the choice of test documents alone."
    )
