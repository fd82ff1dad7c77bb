"""Rows by columns, in each cell a figure as a mark with its interval on the column's own axis.

A column's line of the baseline, and the form and fill of a mark, say what stands above and below
it: a filled mark differs from the baseline, a hollow one is not told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from models.report.html.drawing import (
    Drawing,
    LegendEntry,
    clipped,
    label,
    legend,
    line,
    marker,
    said,
    ticks,
    title_of,
    width_of,
)
from models.report.html.markup import Attributes, Markup, element, joined
from models.report.html.sections import Mark

ROW_HEIGHT, _TALL_ROW = 24.0, 34.0
_MOST_LABEL, _COLUMN, _GAP = 262.0, 82.0, 15.0
_HEADER_LINES = 3
"""At most."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A figure with the ends of its bar."""

    value: float
    low: float
    high: float
    mark: Mark = ""
    is_baseline: bool = False
    """Whether it is what the others are compared with."""


@dataclass(frozen=True, slots=True)
class RowChart:
    """Rows of figures."""

    name: str
    title: str
    description: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Dot, ...]], ...]
    chances: tuple[float | None, ...]
    """Of each column; None draws none."""
    unit: str
    baseline: str
    """What marks are against, in words; empty where they are against nothing."""


def row_chart(chart: RowChart) -> Drawing:
    """Returns the drawing."""
    left = min(_MOST_LABEL, 12 + max(width_of(words) for words, _ in chart.rows))
    width = left + len(chart.columns) * (_COLUMN + _GAP) + 8
    labels = [_in_two_lines(words, left - 12) for words, _ in chart.rows]
    edges = [8.0 + 16.0 * max(len(_header_lines(title)) for title in chart.columns)]
    for lines in labels:
        edges.append(edges[-1] + (ROW_HEIGHT if len(lines) == 1 else _TALL_ROW))
    middles = [(top + below) / 2 for top, below in pairwise(edges)]
    parts = [_stripe(edges[place : place + 2], width) for place in range(0, len(labels), 2)]
    for lines, y, (words, _) in zip(labels, middles, chart.rows, strict=True):
        first = y - 7.5 * (len(lines) - 1)
        parts += [label(one, 6, first + 15 * place, title=words) for place, one in enumerate(lines)]
    for place, title in enumerate(chart.columns):
        x = left + _GAP / 2 + place * (_COLUMN + _GAP)
        dots = [(y, row[place]) for y, (_, row) in zip(middles, chart.rows, strict=True)]
        parts.append(_column(title, x, dots, chart.chances[place], (edges[0], edges[-1])))
    bottom = edges[-1]
    signs, below = legend(_entries(chart), 6, bottom + 40, width - 12)
    parts += [label(chart.unit, 6, bottom + 13, kind="muted"), signs]
    return Drawing(
        chart.name, chart.title, chart.description, width, bottom + 40 + below, joined(parts)
    )


def _stripe(edges: Sequence[float], width: float) -> Markup:
    place: Attributes = {"x": 0.0, "y": edges[0], "width": width, "height": edges[1] - edges[0]}
    return element("rect", {**place, "class": "stripe"})


def _in_two_lines(words: str, width: float) -> list[str]:
    """Returns words in one line or two; the second is cut where they have no room in it."""
    if width_of(words) <= width:
        return [words]
    cut = words.rfind(" ", 0, int(width / width_of("x")))
    if cut <= 0:
        return [clipped(words, width)]
    return [words[:cut], clipped(words[cut + 1 :], width)]


def _column(
    title: str,
    x: float,
    dots: Sequence[tuple[float, Dot]],
    chance: float | None,
    ends: tuple[float, float],
) -> Markup:
    """Returns one column: its axis, the baseline, and a mark a row at its height."""
    top, bottom = ends
    low, high = min(dot.low for _, dot in dots), max(dot.high for _, dot in dots)
    if chance is not None:
        low, high = min(low, chance), max(high, chance)
    marks = ticks(low, high, 3)
    bounds = (marks[0], marks[-1])

    def place(value: float) -> float:
        return x + (value - bounds[0]) / (bounds[1] - bounds[0]) * _COLUMN

    parts = [_header(title, x + _COLUMN / 2, top), line(x, bottom, x + _COLUMN, bottom, "axis")]
    for value, anchor in zip(bounds, ("start", "end"), strict=True):
        parts.append(line(place(value), top, place(value), bottom + 3, "grid"))
        parts.append(label(said(value), place(value), bottom + 12, anchor=anchor, kind="muted"))
    if chance is not None:
        parts.append(line(place(chance), top, place(chance), bottom, "axis dotted"))
    for _, dot in dots:
        if dot.is_baseline:
            parts.append(line(place(dot.value), top, place(dot.value), bottom, "c1 dashed"))
    for y, dot in dots:
        shown = title_of(f"{title}: {dot.value:.1f} [{dot.low:.1f}, {dot.high:.1f}]")
        kind = _kind(dot)
        parts.append(line(place(dot.low), y, place(dot.high), y, kind.split()[0]))
        parts.append(marker(_form(dot), place(dot.value), y, 4.0, kind, shown))
    return joined(parts)


def _header(title: str, x: float, top: float) -> Markup:
    """Returns the title of a column, its last line right above the column."""
    lines = _header_lines(title)
    first = top - 12 - 16 * (len(lines) - 1)
    return joined(
        label(one, x, first + 16 * place, anchor="middle", kind="strong", title=title)
        for place, one in enumerate(lines)
    )


def _header_lines(title: str) -> list[str]:
    room = _COLUMN + _GAP - 4
    lines = [""]
    for word in title.split():
        longer = f"{lines[-1]} {word}".strip()
        if width_of(longer) <= room or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    if len(lines) > _HEADER_LINES:
        lines = [*lines[: _HEADER_LINES - 1], f"{lines[_HEADER_LINES - 1]}…"]
    return [clipped(one, room) for one in lines]


def _kind(dot: Dot) -> str:
    if dot.is_baseline:
        return "c1"
    return dot.mark or "c6 hollow"


def _form(dot: Dot) -> str:
    if dot.is_baseline:
        return "diamond"
    return {"better": "triangle", "worse": "down", "": "circle"}[dot.mark]


def _entries(chart: RowChart) -> list[LegendEntry]:
    def sign(form: str, kind: str) -> LegendEntry:
        words = {
            "triangle": f"better than {chart.baseline}",
            "down": "worse",
            "circle": "not told apart" if chart.baseline else "figure with its interval",
            "diamond": f"{chart.baseline}, the baseline",
        }
        return LegendEntry(words[form], lambda x, y: marker(form, x, y, 4.0, kind))

    entries = [sign("circle", "c6 hollow")]
    if chart.baseline:
        entries = [sign("triangle", "better"), sign("down", "worse"), *entries]
        entries.append(sign("diamond", "c1"))
    if any(chance is not None for chance in chart.chances):
        entries.append(LegendEntry("chance", lambda x, y: line(x, y - 7, x, y + 7, "axis dotted")))
    return entries
