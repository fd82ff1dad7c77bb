"""Markdown pieces: tables, figures with their intervals, escaped cells."""

from __future__ import annotations

from collections.abc import Sequence

from models.evaluation.statistics.resampling import Interval, SeedMean

SCORES_OF_ERRORS = frozenset({"mse"})
"""Scores of which the lower is the better; in their own unit, which needs more digits."""


def markdown_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, num_text_columns: int = 1
) -> str:
    """Returns a Markdown table; columns after the first text columns are aligned right.

    Raises:
        ValueError: a row has not one cell a column.
    """
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"table row {list(row)} does not fit the header {list(header)}")
    rule = ["---" if i < num_text_columns else "---:" for i in range(len(header))]
    lines = [header, rule, *([escape(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def escape(cell: str) -> str:
    """Returns text that stays within one table cell."""
    return cell.replace("|", "\\|").replace("\n", " ")


def section(title: str, *paragraphs: str) -> str:
    """Returns a second-level section; empty paragraphs are left out."""
    return "\n\n".join([f"## {title}", *(p for p in paragraphs if p)])


def bullets(items: Sequence[str]) -> str:
    """Returns a bullet list."""
    return "\n".join(f"- {item}" for item in items)


def percent(value: float) -> str:
    """Returns a percentage with one decimal and no sign, as tables give it."""
    return f"{value:.1f}"


def with_interval(interval: Interval, *, signed: bool = False, digits: int = 1) -> str:
    """Returns a figure with its interval's bounds, as ``63.2 [61.0, 65.4]``."""
    form = f"{'+' if signed else ''}.{digits}f"
    return f"{interval.value:{form}} [{interval.low:{form}}, {interval.high:{form}}]"


def count(value: int) -> str:
    """Returns a whole number with thousands separated."""
    return f"{value:,}"


def duration(seconds: float) -> str:
    """Returns seconds with their unit, minutes where they are many."""
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


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
