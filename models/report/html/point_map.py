"""Points in a plane, of classes: panels that share one legend. A point names what it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.report.html.drawing import (
    MARKERS,
    NUM_STEPS,
    Drawing,
    LegendEntry,
    label,
    legend,
    marker,
    title_of,
)
from models.report.html.markup import Attributes, Markup, element, joined

WIDTH, PLOT = 380.0, 300.0
_TOP, _MARGIN = 48.0, 10.0


@dataclass(frozen=True, slots=True)
class Point:
    """A point; both coordinates between 0 and 1."""

    x: float
    y: float
    class_number: int
    words: str
    """Shown where a pointer rests on it."""


@dataclass(frozen=True, slots=True)
class PointMap:
    """Points of several classes."""

    name: str
    title: str
    subtitle: str
    description: str
    class_names: tuple[str, ...]
    ordered: bool
    """Whether the classes have an order, which the colours then show."""
    points: tuple[Point, ...]


def point_map(chart: PointMap) -> Drawing:
    """Returns the drawing: a square of points, its legend below."""
    side = WIDTH - 2 * _MARGIN
    frame: Attributes = {"x": _MARGIN, "y": _TOP, "width": side, "height": PLOT, "class": "node"}
    signs, below = legend(_entries(chart), _MARGIN, _TOP + PLOT + 10, side)
    points = [
        marker(
            _form(point.class_number),
            _MARGIN + 8 + point.x * (side - 16),
            _TOP + 8 + (1 - point.y) * (PLOT - 16),
            3.4,
            f"{_color(chart, point.class_number)} dot",
            title_of(chart.class_names[point.class_number], point.words),
        )
        for point in chart.points
    ]
    parts = [
        label(chart.title, _MARGIN, 14, kind="strong"),
        label(chart.subtitle, _MARGIN, 32, kind="muted"),
        element("rect", frame),
        *points,
        signs,
    ]
    height = _TOP + PLOT + 10 + below
    return Drawing(chart.name, chart.title, chart.description, WIDTH, height, joined(parts))


def _color(chart: PointMap, number: int) -> str:
    if not chart.ordered:
        return f"c{number % len(MARKERS)}"
    most = max(1, len(chart.class_names) - 1)
    return f"o{round(number * (NUM_STEPS - 1) / most)}"


def _form(number: int) -> str:
    return MARKERS[number % len(MARKERS)]


def _entries(chart: PointMap) -> Sequence[LegendEntry]:
    def entry(number: int, words: str) -> LegendEntry:
        def sign(x: float, y: float) -> Markup:
            return marker(_form(number), x, y, 4.2, f"{_color(chart, number)} dot")

        return LegendEntry(words, sign)

    return [entry(number, words) for number, words in enumerate(chart.class_names)]
