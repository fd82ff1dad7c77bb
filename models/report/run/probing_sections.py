"""The report's sections about the derived tasks: verdict, tables, and notes.

The notes are what a reader must know before quoting a figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.evaluation.probing_sentences import SPLITS
from models.report.html.sections import (
    Bullets,
    Cell,
    Paragraph,
    Part,
    Section,
    Subheading,
    Table,
)
from models.report.markdown import bounds, count, percent, with_interval
from models.report.probing_table import (
    MAJORITY_ROW,
    PAIR_ROW,
    RANDOM_WEIGHTS,
    TRAINED_SEEDS,
    ProbingTable,
    RowComparison,
)
from models.report.run.run_sections import by_reason
from models.report.significance import Marks
from models.report.table_notes import doubts

MIN_TEST_ITEMS = 500
"""Test items over all tasks below which the report gives no verdict."""
SMALL_TEST = 200
"""Test sentences below which a task is marked as small."""
MANY_SEEDS = 3


def statement(table: ProbingTable, probing: Mapping[str, Any], marks: Marks) -> str:
    """Returns in words whether the trained model beats the same architecture untrained.

    Args:
        probing: the summary of the probing data.
        marks: of the table.
    """
    built, wanted = len(probing["tasks"]), len(probing["tasks"]) + len(probing["absent"])
    num_items = sum(task["sizes"]["test"] for task in probing["tasks"].values())
    if 2 * built < wanted or num_items < MIN_TEST_ITEMS:
        which = f"Only {built} of {wanted}" if built < wanted else f"All {wanted}"
        return (
            f"{which} tasks could be built, {count(num_items)} test items: too little for a "
            "verdict."
        )
    for comparison in table.comparisons:
        if comparison.first in (PAIR_ROW, TRAINED_SEEDS) and comparison.second == RANDOM_WEIGHTS:
            return _verdict(comparison, table, marks)
    return "No row with random weights was evaluated, so what training adds is not known."


def _verdict(comparison: RowComparison, table: ProbingTable, marks: Marks) -> str:
    row = "trained" if comparison.first == TRAINED_SEEDS else comparison.first
    of_tasks = marks.rows[row].tasks
    better, worse = (
        [task for task, mark in of_tasks.items() if mark == way] for way in ("better", "worse")
    )
    several = table.spreads.get("trained")
    seeds = f" (mean over {several.num_seeds} training seeds)" if several else ""
    return (
        f"On the average of the probing tasks the trained model {comparison.verdict} the same "
        f"architecture with random weights{seeds}: "
        f"{with_interval(comparison.difference, signed=True)} points. "
        f"Told apart task by task, corrected for their number: better on {listed(better)}; "
        f"worse on {listed(worse)}."
    )


def probing_section(table: ProbingTable, probing: Mapping[str, Any], marks: Marks) -> Section:
    """Returns the figures of rows and tasks, the comparisons, and the tasks that are absent."""
    about = (
        "Test accuracy in percent of a logistic regression on each task (Conneau et al. 2018; "
        "discourse coherence: Chen et al. 2019), on held-out sentences. Intervals: 95 %, bootstrap "
        "over what the second table names as resampled, drawn for all tasks at once."
    )
    titles = _titles(table.tasks, probing)
    return Section.of(
        "Probing",
        Paragraph.of(about),
        Paragraph.of(marks.note),
        _rows_table(table, titles, marks),
        _tasks_table(probing),
        Paragraph.of(
            "Chance is the accuracy of always answering the commonest class of the training split."
        ),
        *_absences(probing),
        Subheading("Differences on the same test sentences"),
        Paragraph.of("First row minus second, paired bootstrap."),
        _comparison_table(table, titles),
    )


def _absences(probing: Mapping[str, Any]) -> list[Part]:
    absent = tuple(f"{name}: {reason}" for name, reason in sorted(probing["absent"].items()))
    if not absent:
        return [Paragraph.of("No task is absent.")]
    return [Paragraph.of("Tasks absent for want of data:"), Bullets(absent)]


def _titles(tasks: Sequence[str], probing: Mapping[str, Any]) -> list[str]:
    return [
        task.replace("_", " ") + (" (small)" if is_small(probing["tasks"][task]) else "")
        for task in tasks
    ]


def _rows_table(table: ProbingTable, titles: Sequence[str], marks: Marks) -> Table:
    header = ("row", "width", *titles, "average")
    body: list[list[str | Cell]] = []
    for row in table.rows:
        width = str(row.width or "–")
        scores = [
            Cell(percent(found.value), marks.of_task(row.name, task), bounds(found))
            for task, found in ((task, row.accuracy(task)) for task in table.tasks)
        ]
        average = Cell(percent(row.average.value), marks.of_average(row.name), bounds(row.average))
        body.append([row.description, width, *scores, average])
        for name, spread in table.spreads.items():
            if row is table.of_spread(name)[-1]:
                cells = [
                    Cell(f"{mean:.1f} ± {deviation:.1f}", marks.of_task(name, task))
                    for task, (mean, deviation) in spread.tasks.items()
                ]
                of_seeds = f"{spread.average:.1f} ± {spread.deviation:.1f}"
                cells.append(Cell(of_seeds, marks.of_average(name)))
                body.append([spread.title(name), width, *cells])
    return Table.of("Test accuracy in percent, by row and task, with 95 % intervals", header, body)


def _tasks_table(probing: Mapping[str, Any]) -> Table:
    rows = [
        [
            title,
            task["label_rule"],
            task["split_by"].replace("_", " "),
            f"{count(task['num_resampled'])} {task['resampled_by']}s",
            str(len(task["classes"])),
            " / ".join(count(task["sizes"][split]) for split in SPLITS),
            percent(task["chance"]),
        ]
        for title, task in zip(
            _titles(list(probing["tasks"]), probing), probing["tasks"].values(), strict=True
        )
    ]
    header = ("task", "label", "split by", "resampled", "classes", "train / dev / test", "chance")
    return Table.of("The tasks, and what their intervals draw", header, rows, 4)


def _comparison_table(table: ProbingTable, titles: Sequence[str]) -> Table:
    rows = [
        [
            f"{_compared(c.first)} − {_compared(c.second)}",
            *(f"{c.tasks[task].value:+z.1f}" for task in table.tasks),
            with_interval(c.difference, signed=True),
        ]
        for c in table.comparisons
    ]
    header = ("rows", *titles, "average over tasks [95 %]")
    return Table.of("Differences in points of accuracy", header, rows)


def _compared(name: str) -> str:
    """Returns what a compared row is called; ids say pair also of one view or three."""
    return "trained" if name in (PAIR_ROW, TRAINED_SEEDS) else name.replace("_", " ")


def is_small(task: Mapping[str, Any]) -> bool:
    """Returns whether a task of the probing summary has few test sentences."""
    return bool(task["sizes"]["test"] < SMALL_TEST)


def listed(tasks: Sequence[str]) -> str:
    """Returns task names as running text."""
    return ", ".join(task.replace("_", " ") for task in tasks) or "none"


def notes_section(table: ProbingTable, probing: Mapping[str, Any]) -> Section:
    """Returns the notes, and how the tasks differ from the published ones."""
    notes = (
        *_of_seeds(table),
        "Labels come from the automatic parses. Tree encoders read the same parses, so on tasks "
        "whose label is a property of the tree they see what sequences and bags of words must "
        "infer.",
        *_of_tasks(probing["tasks"]),
        *_doubts(table),
        f"Held-out sentences left out of the tasks: {by_reason(probing['excluded'])}.",
    )
    differing = tuple(
        f"{name.replace('_', ' ')}: {task['differs']}"
        for name, task in probing["tasks"].items()
        if task["differs"]
    )
    return Section.of(
        "Notes",
        Bullets(notes),
        Paragraph.of("How the tasks differ from the published ones:") if differing else None,
        Bullets(differing),
    )


def _of_seeds(table: ProbingTable) -> list[str]:
    notes = []
    if several := table.spreads.get("trained"):
        notes.append(
            f"The model was trained from {several.num_seeds} seeds; its single views and its join "
            "with the words are those of the first. The intervals cover the choice of test "
            "documents alone."
        )
    elif table.trained is not None:
        notes.append(
            "One training seed was run: how far a row moves from seed to seed of training is not "
            "measured, and the intervals cover the choice of test documents alone."
        )
    if table.random is not None and table.random.num_seeds < MANY_SEEDS:
        notes.append(f"Random weights were drawn from {table.random.num_seeds} seeds only.")
    return notes


def _of_tasks(tasks: Mapping[str, Mapping[str, Any]]) -> list[str]:
    notes = []
    if small := [name for name, task in tasks.items() if is_small(task)]:
        notes.append(f"Fewer than {SMALL_TEST} test sentences: {listed(small)}.")
    by_sentence = [name for name, task in tasks.items() if task["resampled_by"] == "sentence"]
    if by_sentence:
        notes.append(
            "The test sentences stand in too few documents to resample these, so the intervals, "
            f"drawn over sentences, are too narrow for other documents: {listed(by_sentence)}."
        )
    return notes


def _doubts(table: ProbingTable) -> list[str]:
    rows = [row for row in table.rows if row.name != MAJORITY_ROW]
    by_task = {task: [row.results[task] for row in rows] for task in table.tasks}
    return doubts("All rows together", by_task)
