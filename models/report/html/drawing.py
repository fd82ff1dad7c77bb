"""Drawings in SVG: what all charts share. Sizes are CSS pixels.

Colours are classes, so that a page shows them light, dark or for print; a drawing that stands alone
in a file brings its own style. Lines, fills and marks differ in form, too: no colour need be seen.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from models.report.html.markup import Child, Markup, element, joined, raw_style
from models.report.html.style import SVG_STYLE, variables

LINE_HEIGHT = 16.0
"""Of text in drawings, which is 12 high."""
_CHARACTER = 6.7
"""Mean width of a character of that text, with something to spare."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing with its size and what it says to those who do not see it."""

    name: str
    """Of its file, without a suffix: letters, digits, hyphens, underscores."""
    title: str
    description: str
    width: float
    height: float
    body: Markup


def inline(drawing: Drawing) -> Markup:
    """Returns the drawing as an element of a page."""
    # Of a page with two drawings of one name each still has labels of its own.
    own = hashlib.sha256(drawing.body.encode()).hexdigest()[:8]
    label, description = f"{drawing.name}-{own}-title", f"{drawing.name}-{own}-desc"
    return element(
        "svg",
        {
            "viewBox": f"0 0 {drawing.width:g} {drawing.height:g}",
            "width": drawing.width,
            "height": drawing.height,
            "role": "img",
            "aria-labelledby": f"{label} {description}",
        },
        element("title", {"id": label}, drawing.title),
        element("desc", {"id": description}, drawing.description),
        drawing.body,
    )


def svg_file(drawing: Drawing) -> str:
    """Returns the drawing as a file of its own, on white."""
    return element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {drawing.width:g} {drawing.height:g}",
            "width": drawing.width,
            "height": drawing.height,
            "role": "img",
        },
        element("title", {}, drawing.title),
        element("desc", {}, drawing.description),
        raw_style(f"svg{{{variables('light')}background:var(--ground)}}{SVG_STYLE}"),
        drawing.body,
    ) + Markup("\n")


def width_of(words: str) -> float:
    """Returns about how wide a text is."""
    return len(words) * _CHARACTER


def label(words: str, x: float, y: float, *, anchor: str = "start", kind: str = "") -> Markup:
    """Returns a line of text, its middle at a height.

    Args:
        words: the line.
        x: where it begins, is centred or ends, as ``anchor`` says.
        y: of its middle.
        anchor: ``start``, ``middle`` or ``end``.
        kind: a class: ``muted``, ``strong``.
    """
    return element(
        "text",
        {
            "x": x,
            "y": y + 4,
            "text-anchor": None if anchor == "start" else anchor,
            "class": kind or None,
        },
        words,
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """Returns a straight line of a class."""
    return element("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "class": kind})


def path(points: Sequence[tuple[float, float]], kind: str) -> Markup:
    """Returns a line through points."""
    steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return element("polyline", {"points": steps, "class": f"{kind} line"})


MARKERS = ("circle", "square", "triangle", "diamond", "down", "hexagon")
"""By number."""


def marker(form: str, x: float, y: float, radius: float, kind: str, *children: Child) -> Markup:
    """Returns a mark of a form, with what is shown where a pointer rests on it."""
    if form == "circle":
        return element("circle", {"cx": x, "cy": y, "r": radius, "class": kind}, *children)
    steps = " ".join(f"{x + dx * radius:.1f},{y + dy * radius:.1f}" for dx, dy in _CORNERS[form])
    return element("polygon", {"points": steps, "class": kind}, *children)


_CORNERS: dict[str, list[tuple[float, float]]] = {
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "triangle": [(0, -1.15), (1.1, 0.85), (-1.1, 0.85)],
    "down": [(0, 1.15), (1.1, -0.85), (-1.1, -0.85)],
    "diamond": [(0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)],
    "hexagon": [(math.cos(k * math.pi / 3), math.sin(k * math.pi / 3)) for k in range(6)],
}


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """What a mark or a line of a drawing stands for."""

    words: str
    sign: Callable[[float, float], Markup]
    """From x and y of its middle to the sign, 18 wide."""


def legend(
    entries: Sequence[LegendEntry], x: float, y: float, width: float
) -> tuple[Markup, float]:
    """Returns the signs with their words in lines that have this width, and their height."""
    parts: list[Markup] = []
    across, down = x, y
    for entry in entries:
        room = 26 + width_of(entry.words) + 10
        if across > x and across + room > x + width:
            across, down = x, down + LINE_HEIGHT + 2
        parts += [entry.sign(across + 9, down + 8), label(entry.words, across + 24, down + 8)]
        across += room
    return joined(parts), (down - y + LINE_HEIGHT + 4) if entries else 0.0


def ticks(low: float, high: float, most: int = 5, *, keep_low: bool = False) -> list[float]:
    """Returns round numbers between two bounds, the bounds' neighbours among them.

    Args:
        low: the lower bound.
        high: the upper bound.
        most: about how many.
        keep_low: whether bounds that are one value are widened upward alone, to both sides if not.

    Raises:
        ValueError: a bound is not finite.
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"an axis needs finite bounds, got {low} and {high}")
    if high <= low:
        low, high = low - (0.0 if keep_low else 0.5), low + (1.0 if keep_low else 0.5)
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def said(value: float) -> str:
    """Returns a number of an axis as short as it can be."""
    if value != 0 and (abs(value) < 1e-4 or abs(value) >= 1e6):
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def title_of(words: str) -> Markup:
    """Returns what is shown where a pointer rests on a mark."""
    return element("title", {}, words)
