"""The comparison of two encoders as a Markdown table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from models.evaluation.comparison import Comparison, TaskComparison
from models.evaluation.representation import described
from models.evaluation.task_result import Setup
from models.report.markdown import (
    bullets,
    markdown_table,
    p_value,
    with_interval,
    with_seeds,
)
from models.report.table_notes import derived_notes, task_title

TESTS_IN_WORDS = {
    "permutation": ("paired permutation test, answers swapped ", "{0} by {0}"),
    "bootstrap": ("paired bootstrap over ", "{0}s"),
}
CORRECTIONS_IN_WORDS = {
    "holm": "Holm's correction",
    "none": "no correction",
}


def comparison_table(comparison: Comparison) -> str:
    """Returns the table, what it was computed by and the tasks without data."""
    names = _names(comparison)
    config, sides = comparison.config, (comparison.first, comparison.second)
    header = [
        "task",
        "score",
        *names,
        f"difference [{config.resampling.confidence:.0%}]",
        "p",
        "corrected p",
    ]
    rows = [_row(row, comparison.derived) for row in comparison.tasks]
    test, unit = TESTS_IN_WORDS[config.test]
    notes = [
        *(_side(name, setups) for name, setups in zip(names, sides, strict=True)),
        f"{test}{_by_drawn(comparison, unit)}, {config.resampling.num_resamples:,} resamples; "
        f"{CORRECTIONS_IN_WORDS[config.correction]} over {len(rows)} rows.",
        f"Intervals and p values are about other test {_by_drawn(comparison, '{0}s')}, not about "
        "another training.",
    ]
    if comparison.average is not None:
        notes.append(
            f"Difference averaged over tasks: {with_interval(comparison.average, signed=True)}. "
            "What is drawn is drawn for all tasks at once."
        )
    notes += derived_notes(comparison.derived)
    absent = [f"{task}: absent ({reason})" for task, reason in comparison.absent.items()]
    return f"{markdown_table(header, rows, num_text_columns=2)}\n\n{bullets([*notes, *absent])}"


def _by_drawn(comparison: Comparison, form: str) -> str:
    """Returns what is drawn, in this form; with the tasks in brackets where they differ in it."""
    tasks: dict[str, list[str]] = {}
    for row in comparison.tasks:
        tasks.setdefault(row.drawn, []).append(row.task)
    if len(tasks) == 1:
        return form.format(*tasks)
    return ", ".join(f"{form.format(kind)} ({', '.join(of)})" for kind, of in tasks.items())


def _names(comparison: Comparison) -> tuple[str, str]:
    setups = comparison.first[0], comparison.second[0]
    first, second = (setup.encoder.name for setup in setups)
    used, otherwise = (described(setup.representation) for setup in setups)
    if first == second and used != otherwise:
        first, second = f"{first} ({used})", f"{second} ({otherwise})"
    return (first, second) if first != second else (f"{first}, first", f"{second}, second")


def _side(name: str, setups: Sequence[Setup]) -> str:
    digests = ", ".join(setup.encoder.digest for setup in setups)
    representation, classifier = setups[0].how_used()
    return f"{name}: encoder {digests}; representation {representation}; classifier {classifier}."


def _row(row: TaskComparison, derived: Mapping[str, str]) -> list[str]:
    return [
        task_title(row.task, derived),
        row.score,
        with_seeds(row.first),
        with_seeds(row.second),
        with_interval(row.difference, signed=True),
        p_value(row.p),
        p_value(row.corrected_p),
    ]
