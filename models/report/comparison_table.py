"""The comparison of two encoders as a Markdown table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from models.evaluation.comparison import Comparison, TaskComparison
from models.evaluation.representations.representation import described
from models.evaluation.statistics.resampling import SeedMean
from models.evaluation.task_result import Setup
from models.report.markdown import bullets, markdown_table, with_interval
from models.report.table_notes import derived_notes, task_title

TESTS_IN_WORDS = {
    "permutation": "paired permutation test, answers swapped {0} by {0}",
    "bootstrap": "paired bootstrap over {0}s",
}
CORRECTIONS_IN_WORDS = {
    "holm": "Holm's correction",
    "bh": "Benjamini and Hochberg's correction",
    "none": "no correction",
}
SCORES_OF_ERRORS = frozenset({"mse"})
"""Scores of which the lower is the better; in their own unit, which needs more digits."""


def comparison_table(comparison: Comparison) -> str:
    """Returns the table, what it was computed by and the tasks without data."""
    config, sides = comparison.config, (comparison.first, comparison.second)
    header = [
        "task",
        "score",
        *_names(comparison),
        f"difference [{config.resampling.confidence:.0%}]",
        "p",
        "corrected p",
    ]
    rows = [_row(row, comparison.derived) for row in comparison.tasks]
    drawn = "item" if comparison.average is None else "document"
    notes = [
        *(_side(name, setups) for name, setups in zip(_names(comparison), sides, strict=True)),
        f"{TESTS_IN_WORDS[config.test].format(drawn)}, {config.resampling.num_resamples:,} "
        "resamples; "
        f"{CORRECTIONS_IN_WORDS[config.correction]} over {len(rows)} rows.",
        f"Intervals and p values are about other test {drawn}s, not about another training.",
    ]
    if comparison.average is not None and comparison.over_items is not None:
        notes.append(
            f"Difference averaged over tasks: {with_interval(comparison.average, signed=True)}; "
            f"over all test items: {with_interval(comparison.over_items, signed=True)}. Documents "
            "are drawn for all tasks at once."
        )
    if any(row.score in SCORES_OF_ERRORS for row in comparison.tasks):
        notes.append("Of mse the lower is the better.")
    notes += derived_notes(comparison.derived)
    absent = [f"{task}: absent ({reason})" for task, reason in comparison.absent.items()]
    return f"{markdown_table(header, rows, num_text_columns=2)}\n\n{bullets([*notes, *absent])}"


def _names(comparison: Comparison) -> tuple[str, str]:
    setups = comparison.first[0], comparison.second[0]
    first, second = (setup.encoder.name for setup in setups)
    if first != second:
        return first, second
    used, otherwise = (described(setup.representation) for setup in setups)
    if used != otherwise:
        return f"{first} ({used})", f"{second} ({otherwise})"
    return f"{first}, first", f"{second}, second"


def _side(name: str, setups: Sequence[Setup]) -> str:
    digests = ", ".join(setup.encoder.digest for setup in setups)
    representation, classifier = setups[0].how_used()
    return f"{name}: encoder {digests}; representation {representation}; classifier {classifier}."


def _row(row: TaskComparison, derived: Mapping[str, str]) -> list[str]:
    digits = digits_of(row.score)
    return [
        task_title(row.task, derived),
        row.score,
        with_seeds(row.first, digits=digits),
        with_seeds(row.second, digits=digits),
        with_interval(row.difference, signed=True, digits=digits),
        p_value(row.p),
        p_value(row.corrected_p),
    ]


def digits_of(score: str) -> int:
    """Returns how many decimals a score is given with."""
    return 3 if score in SCORES_OF_ERRORS else 1


def with_seeds(figure: SeedMean, *, digits: int = 1) -> str:
    """Returns a figure as ``80.1 ± 0.3 (3)``: mean, deviation and number of seeds."""
    if figure.deviation is None:
        return f"{figure.mean:.{digits}f}"
    return f"{figure.mean:.{digits}f} ± {figure.deviation:.{digits}f} ({figure.num_seeds})"


def p_value(p: float) -> str:
    """Returns a p value with as many digits as matter."""
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"
