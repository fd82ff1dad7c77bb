"""Sections as Markdown, in which text stays text; figures with their intervals."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from models.evaluation.resampling import Interval, SeedMean
from models.report.html.sections import (
    Bullets,
    Code,
    CodeBlock,
    Facts,
    Figure,
    Folded,
    Group,
    Page,
    Paragraph,
    Part,
    Row,
    Section,
    Span,
    Subheading,
    Table,
)
from pipeline.base.foreign_text import escaped_markdown, printable

SCORES_OF_ERRORS = frozenset({"mse"})
"""Scores of which the lower is the better; in their own unit, which needs more digits."""


def markdown_page(page: Page) -> str:
    """Returns a whole report; drawings are files beside it that bear their names."""
    first, *further = page.headline or [""]
    opening = [f"# {escaped_markdown(page.title)}", first and f"**{escaped_markdown(first)}**"]
    opening += map(escaped_markdown, further)
    return "\n\n".join([*filter(None, opening), *map(markdown_section, page.sections)]) + "\n"


def markdown_section(found: Section) -> str:
    """Returns a section with its parts."""
    return section(escaped_markdown(found.title), *map(_part, found.parts))


def _part(part: Part) -> str:
    match part:
        case Paragraph():
            made = _spans(part.spans)
        case Subheading():
            made = f"### {escaped_markdown(part.text)}"
        case Bullets():
            made = bullets(part.items)
        case Facts():
            named = ((escaped_markdown(name), _spans([said])) for name, said in part.pairs)
            made = "\n".join(f"- {name}: {said}" for name, said in named)
        case CodeBlock():
            made = code_block(part.text, part.language)
        case Table():
            rows = [_cells(row, len(part.header)) for row in part.rows]
            made = markdown_table(
                part.header,
                rows,
                num_text_columns=part.num_text_columns,
                further_text=part.further_text,
            )
        case Figure():
            images = [f"![{escaped_markdown(one.title)}]({one.name}.svg)" for one in part.drawings]
            made = "\n\n".join([*images, escaped_markdown(part.caption)])
        case Folded():
            made = "\n\n".join([f"{escaped_markdown(part.summary)}:", *map(_part, part.parts)])
    return made


def _cells(row: Row, width: int) -> list[str]:
    if isinstance(row, Group):
        return [row.text, *[""] * (width - 1)]
    return [cell if isinstance(cell, str) else cell.plain for cell in row]


def _spans(spans: Sequence[Span]) -> str:
    """Returns words in a line; white space between what is set apart stays."""
    return "".join(map(_span, spans))


def _span(span: Span) -> str:
    match span:
        case Code():
            return code(span.text)
        case _:
            before, after = (" " if side.isspace() else "" for side in (span[:1], span[-1:]))
            return f"{before}{escaped_markdown(span)}{after}" if span.strip() else before


def markdown_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    num_text_columns: int = 1,
    further_text: Collection[int] = (),
) -> str:
    """Returns a Markdown table; columns of figures are aligned right.

    Args:
        num_text_columns: so many columns at the left hold words.
        further_text: places of others that do.

    Raises:
        ValueError: a row has not one cell a column.
    """
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"table row {list(row)} does not fit the header {list(header)}")

    def escaped(cells: Sequence[str]) -> list[str]:
        return [escaped_markdown(cell) for cell in cells]

    is_text = [i < num_text_columns or i in further_text for i in range(len(header))]
    rule = ["---" if words else "---:" for words in is_text]
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
    """Returns a figure with its interval's bounds, as ``63.2 [61.0, 65.4]``; no 0 is negative."""
    form = f"{'+' if signed else ''}z.{digits}f"
    return f"{interval.value:{form}} {bounds(interval, form)}"


def bounds(interval: Interval, form: str = "z.1f") -> str:
    """Returns an interval alone, as ``[61.0, 65.4]``."""
    return f"[{interval.low:{form}}, {interval.high:{form}}]"


def count(value: int) -> str:
    """Returns a whole number with thousands separated."""
    return f"{value:,}"


def number_of(value: int, thing: str) -> str:
    """Returns ``1 epoch``, ``3 epochs``."""
    return f"1 {thing}" if value == 1 else f"{count(value)} {thing}s"


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
