"""What a reader of the report must know before quoting a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.report.markdown import bullets, count, section
from models.report.probing_table import ProbingTable
from models.report.rows import MAJORITY_ROW

SMALL_TEST = 200
"""Test sentences below which a task is marked as small."""
MANY_SEEDS = 3


def is_small(task: Mapping[str, Any]) -> bool:
    """Returns whether a task of the probing summary has few test sentences."""
    return bool(task["sizes"]["test"] < SMALL_TEST)


def listed(tasks: Sequence[str]) -> str:
    """Returns task names as running text."""
    return ", ".join(task.replace("_", " ") for task in tasks) or "none"


def notes_section(table: ProbingTable, probing: Mapping[str, Any]) -> str:
    """Returns the notes, and how the tasks differ from the published ones."""
    notes = [
        *_of_seeds(table),
        "Labels come from the automatic parses. Tree encoders read the same parses, so on tasks "
        "whose label is a property of the tree they see what sequences and bags of words must "
        "infer.",
        *_of_tasks(probing["tasks"]),
        *_of_fits(table),
        *_of_single_answers(table, probing["tasks"]),
    ]
    excluded = ", ".join(
        f"{reason.replace('_', ' ')} {count(n)}" for reason, n in probing["excluded"].items()
    )
    notes.append(f"Held-out sentences left out of all probing tasks: {excluded}.")
    differing = [
        f"{name.replace('_', ' ')}: {task['differs']}"
        for name, task in probing["tasks"].items()
        if task["differs"]
    ]
    return section(
        "Notes",
        bullets(notes),
        "How the tasks differ from the published ones:" if differing else "",
        bullets(differing),
    )


def _of_seeds(table: ProbingTable) -> list[str]:
    notes = []
    if table.trained is not None and table.trained.num_seeds == 1:
        notes.append(
            "One training seed was run: how far a row moves from seed to seed of training is not "
            "measured, and the intervals cover the choice of test documents alone."
        )
    elif table.trained is not None:
        notes.append(
            f"The model was trained from {table.trained.num_seeds} seeds; its single views and its "
            "join with the words are those of the first. The intervals cover the choice of test "
            "documents alone."
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


def _of_fits(table: ProbingTable) -> list[str]:
    rows = [row for row in table.rows if row.name != MAJORITY_ROW]
    fits = [result.outcome for row in rows for result in row.results.values()]
    notes = []
    if edges := sum(fit.at_grid_edge for fit in fits):
        notes.append(
            f"In {edges} of {len(fits)} fits the best regulariser was the smallest or largest "
            "offered, so a wider grid might do better."
        )
    if unfinished := [fit for fit in fits if fit.not_converged]:
        largest = max(fit.details.get("largest_gap", 0.0) for fit in unfinished)
        notes.append(
            f"In {len(unfinished)} of {len(fits)} fits some classifier was stopped before it "
            f"converged; its objective may lie {largest:.1e} of itself above the minimum. Raise "
            "max_steps."
        )
    return notes


def _of_single_answers(table: ProbingTable, tasks: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Returns which rows answer a task with two classes by one of them alone."""
    found = []
    for task in table.tasks:
        rows = [
            row.description
            for row in table.rows
            if row.name != MAJORITY_ROW
            and len(set(row.results[task].outcome.predictions.predicted.tolist())) == 1
        ]
        if rows and len(tasks[task]["classes"]) == 2:
            found.append(f"{listed([task])} ({'; '.join(rows)})")
    return [f"These rows answered one class only: {', '.join(found)}."] if found else []
