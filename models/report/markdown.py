"""Markdown pieces: tables, lists and code, in which text stays text; figures with intervals."""

from __future__ import annotations

import re
from collections.abc import Sequence

from models.evaluation.statistics.resampling import Interval, SeedMean
from pipeline.base.foreign_text import escaped_markdown, printable

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

    def escaped(cells: Sequence[str]) -> list[str]:
        return [escaped_markdown(cell) for cell in cells]

    rule = ["---" if i < num_text_columns else "---:" for i in range(len(header))]
    lines = [escaped(header), rule, *map(escaped, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def section(title: str, *paragraphs: str) -> str:
    """Returns a second-level section; empty paragraphs are left out."""
    return "\n\n".join([f"## {title}", *(p for p in paragraphs if p)])


def bullets(items: Sequence[str]) -> str:
    """Returns a bullet list of plain text."""
    return "\n".join(f"- {escaped_markdown(item)}" for item in items)


def code(text: str) -> str:
    """Returns text as code within a line, whatever backticks it holds."""
    shown = printable(text)
    mark = "`" * (_longest_run(shown) + 1)
    space = " " if "`" in shown else ""
    return f"{mark}{space}{shown}{space}{mark}"


def code_block(text: str, language: str) -> str:
    """Returns lines as a block of code, whatever fences they hold."""
    shown = printable(text, keep_lines=True)
    fence = "`" * max(3, _longest_run(shown) + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


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
