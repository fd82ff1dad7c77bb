"""Curves over one axis, such as a loss over steps; of panel size, several stand side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from models.report.html.drawing import (
    MARKERS,
    Drawing,
    LegendEntry,
    label,
    legend,
    line,
    marker,
    path,
    said,
    ticks,
    title_of,
    width_of,
)
from models.report.html.markup import Markup, joined

WIDTH, PLOT_HEIGHT = 380.0, 190.0
_TOP, _RIGHT, _BELOW = 34.0, 14.0, 44.0

Stroke = Literal["", "thin", "dashed"]


@dataclass(frozen=True, slots=True)
class Line:
    """One curve."""

    words: str
    """For the legend; curves of the same words are named once."""
    points: tuple[tuple[float, float], ...]
    color: int
    """0 to 6; gives the form of its marks, too."""
    stroke: Stroke = ""
    marked: bool = False
    """Whether each point has a mark."""


@dataclass(frozen=True, slots=True)
class LineChart:
    """Curves, and what their axes are, with units."""

    name: str
    title: str
    description: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    from_zero: bool = False
    """Whether the upright axis begins at 0."""


def line_chart(chart: LineChart) -> Drawing:
    """Returns the drawing.

    Raises:
        ValueError: no point, or one that is not finite.
    """
    points = [point for one in chart.lines for point in one.points]
    if not points:
        raise ValueError(f"{chart.name}: a chart needs at least one point")
    xs, ys = zip(*points, strict=True)
    across = ticks(min(xs), max(xs))
    upright = ticks(0.0 if chart.from_zero else min(ys), max(ys), keep_low=chart.from_zero)
    plot = _Plot(across, upright)
    axes = _axes(chart, plot)
    curves = [_curve(one, plot) for one in chart.lines]
    entries = {one.words: _entry(one) for one in chart.lines}  # of equal words the last one
    ordered = [entries[words] for words in dict.fromkeys(one.words for one in chart.lines)]
    signs, below = legend(ordered, 10.0, _TOP + PLOT_HEIGHT + _BELOW, WIDTH - 20)
    return Drawing(
        chart.name,
        chart.title,
        chart.description,
        WIDTH,
        _TOP + PLOT_HEIGHT + _BELOW + below,
        joined([axes, *curves, signs]),
    )


class _Plot:
    """Where values stand between the axes."""

    def __init__(self, across: Sequence[float], upright: Sequence[float]) -> None:
        self.across, self.upright = across, upright
        self.left = 16.0 + max(width_of(said(value)) for value in upright)
        self.right, self.bottom = WIDTH - _RIGHT, _TOP + PLOT_HEIGHT

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Returns where a point stands."""
        share_x = (x - self.across[0]) / (self.across[-1] - self.across[0])
        share_y = (y - self.upright[0]) / (self.upright[-1] - self.upright[0])
        return (
            self.left + share_x * (self.right - self.left),
            self.bottom - share_y * (self.bottom - _TOP),
        )


def _axes(chart: LineChart, plot: _Plot) -> Markup:
    parts = [label(f"{chart.title}, {chart.y_label}", 10, 14, kind="strong")]
    for value in plot.upright:
        _, y = plot.place(plot.across[0], value)
        parts.append(line(plot.left, y, plot.right, y, "grid"))
        parts.append(label(said(value), plot.left - 6, y, anchor="end", kind="muted"))
    parts.append(line(plot.left, plot.bottom, plot.right, plot.bottom, "axis"))
    for value in plot.across:
        x, _ = plot.place(value, plot.upright[0])
        parts.append(line(x, plot.bottom, x, plot.bottom + 4, "axis"))
        parts.append(label(said(value), x, plot.bottom + 13, anchor="middle", kind="muted"))
    middle = (plot.left + plot.right) / 2
    parts.append(label(chart.x_label, middle, plot.bottom + 30, anchor="middle", kind="muted"))
    return joined(parts)


def _curve(one: Line, plot: _Plot) -> Markup:
    places = [plot.place(x, y) for x, y in one.points]
    color = f"c{one.color}"
    marks = [
        marker(_form(one), *place, 3.2, color, title_of(f"{one.words}: {said(x)}, {y:.4g}"))
        for place, (x, y) in zip(places, one.points, strict=True)
        if one.marked
    ]
    return joined([path(places, f"{color} {one.stroke}".strip()), *marks])


def _form(one: Line) -> str:
    return MARKERS[one.color % len(MARKERS)]


def _entry(one: Line) -> LegendEntry:
    def sign(x: float, y: float) -> Markup:
        color = f"c{one.color}"
        drawn = path([(x - 9, y), (x + 9, y)], f"{color} {one.stroke}".strip())
        return joined([drawn, marker(_form(one), x, y, 3.2, color) if one.marked else None])

    return LegendEntry(one.words, sign)
