"""A graph without circles, drawn in layers from the top down: what is needed first stands first.

Edges that pass a layer are led through it by a place of their own; places in a layer follow the
mean place of their neighbours (barycentre method: Sugiyama et al. 1981).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from models.report.html.drawing import Drawing, clipped, label
from models.report.html.markup import Attributes, Markup, element, joined

BOX_WIDTH, _LINE, _GAP, _BETWEEN = 214.0, 15.0, 20.0, 36.0
"""A box and its line of text; the room between the boxes of a layer, and between layers. Five boxes
beside each other fit a report's page, whose text is 1,168 pixels wide."""
_BOLD, _SMALL = 1.12, 0.88
"""How wide characters of names and of what stands below them are."""
_PASSING = 8.0
"""Width of the place of an edge that passes."""
_SWEEPS = 8

State = Literal["", "asked", "failed", "unmade"]


@dataclass(frozen=True, slots=True)
class Box:
    """A node."""

    id: str
    lines: tuple[str, ...]
    """The first one is its name."""
    needs: tuple[str, ...] = ()
    state: State = ""
    words: str = ""
    """Shown where a pointer rests on it."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Boxes and what they need."""

    name: str
    title: str
    description: str
    boxes: tuple[Box, ...]


def layered_graph(graph: Graph) -> Drawing:
    """Returns the drawing.

    Raises:
        ValueError: no box, a box that needs an unknown one, or boxes that need each other.
    """
    needs = _without_shortcuts(_checked(graph))
    layers = _layers(needs)
    chains = _chains(needs, layers)
    ordered = _ordered(graph, layers, chains)
    heights = {box.id: 10 + _LINE * len(box.lines) for box in graph.boxes}
    places = _places(ordered, heights)
    bottom = max(place.y + place.height for place in places.values())
    right = max(place.x + place.width for place in places.values())
    arrows = [_arrow([places[one] for one in chain]) for chain in chains]
    boxes = [_box(box, places[box.id]) for box in graph.boxes]
    drawn = joined([*arrows, *boxes])
    return Drawing(graph.name, graph.title, graph.description, right + 8, bottom + 10, drawn)


def _checked(graph: Graph) -> dict[str, list[str]]:
    known = {box.id for box in graph.boxes}
    if not known:
        raise ValueError(f"{graph.name}: a graph needs at least one box")
    for box in graph.boxes:
        if unknown := [one for one in box.needs if one not in known]:
            raise ValueError(f"{graph.name}: {box.id} needs {unknown[0]}, which is no box")
    return {box.id: list(dict.fromkeys(box.needs)) for box in graph.boxes}


def _above(needs: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """Returns all that each box needs, directly or not, in an order in which needs come first."""
    found: dict[str, set[str]] = {}
    waiting = list(needs)
    while waiting:
        ready = [one for one in waiting if all(need in found for need in needs[one])]
        if not ready:
            raise ValueError(f"{', '.join(waiting)} need each other; a graph has no circles")
        for one in ready:
            found[one] = set(needs[one]).union(*(found[need] for need in needs[one]))
        waiting = [one for one in waiting if one not in found]
    return found


def _without_shortcuts(needs: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Returns the needs that no other need implies, so that fewer arrows say the same."""
    above = _above(needs)
    return {
        one: [need for need in own if not any(need in above[other] for other in own)]
        for one, own in needs.items()
    }


def _layers(needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Returns the layer of each box: one behind the last of its needs."""
    layers: dict[str, int] = {}
    for one in _above(needs):
        layers[one] = 1 + max((layers[need] for need in needs[one]), default=-1)
    return layers


def _chains(needs: Mapping[str, Sequence[str]], layers: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Returns each edge as the places it passes: from, one a layer between, to."""
    return [
        (
            need,
            *(f"{need}\n{one}\n{layer}" for layer in range(layers[need] + 1, layers[one])),
            one,
        )
        for one, own in needs.items()
        for need in own
    ]


def _ordered(
    graph: Graph, layers: Mapping[str, int], chains: Iterable[Sequence[str]]
) -> list[list[str]]:
    """Returns the places of each layer from left to right."""
    ordered: list[list[str]] = [[] for _ in range(1 + max(layers.values()))]
    for box in graph.boxes:
        ordered[layers[box.id]].append(box.id)
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for chain in chains:
        first = layers[chain[0]]
        for step, (one, other) in enumerate(pairwise(chain)):
            if step:
                ordered[first + step].append(one)
            after.setdefault(one, []).append(other)
            before.setdefault(other, []).append(one)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        for layer in ordered if forward else reversed(ordered):
            _sort(layer, before if forward else after, ordered)
    return ordered


def _sort(
    layer: list[str], beside: Mapping[str, Sequence[str]], ordered: Sequence[Sequence[str]]
) -> None:
    places = {
        one: (place + 0.5) / len(other) for other in ordered for place, one in enumerate(other)
    }

    def mean(one: str) -> float:
        own = [places[other] for other in beside.get(one, ())]
        return sum(own) / len(own) if own else places[one]

    layer.sort(key=lambda one: (round(mean(one), 9), places[one]))


class _Place(NamedTuple):
    """Where a box stands, or an edge passes a layer."""

    x: float
    y: float
    width: float
    height: float
    """Of the box, or of the layer that is passed."""

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def _places(ordered: Sequence[Sequence[str]], heights: Mapping[str, float]) -> dict[str, _Place]:
    """Returns each place; layers are centred."""
    widths = [sum(_width(one, heights) + _GAP for one in layer) - _GAP for layer in ordered]
    widest, y = max(widths), 10.0
    places = {}
    for layer, width in zip(ordered, widths, strict=True):
        tallest = max(heights.get(one, 0.0) for one in layer)
        x = 8 + (widest - width) / 2
        for one in layer:
            places[one] = _Place(x, y, _width(one, heights), heights.get(one, tallest))
            x += _width(one, heights) + _GAP
        y += tallest + _BETWEEN
    return places


def _width(one: str, heights: Mapping[str, float]) -> float:
    return BOX_WIDTH if one in heights else _PASSING


def _arrow(chain: Sequence[_Place]) -> Markup:
    x, y = chain[0].middle, chain[0].y + chain[0].height
    steps = [f"M{x:.1f},{y:.1f}"]
    for place in chain[1:]:
        is_last = place is chain[-1]
        across, ends = place.middle, place.y - (7 if is_last else 0)
        bend = (y + ends) / 2
        steps.append(f"C{x:.1f},{bend:.1f} {across:.1f},{bend:.1f} {across:.1f},{ends:.1f}")
        x, y = across, place.y
        if not is_last:
            y += place.height
            steps.append(f"V{y:.1f}")
    head = f"{x - 4:.1f},{y - 8:.1f} {x:.1f},{y:.1f} {x + 4:.1f},{y - 8:.1f}"
    return joined(
        [
            element("path", {"d": "".join(steps), "class": "arrow"}),
            element("polygon", {"points": head, "class": "head"}),
        ]
    )


def _box(box: Box, place: _Place) -> Markup:
    x, y = place.x, place.y
    kind = f"node {box.state}".strip()
    frame: Attributes = {
        "x": x,
        "y": y,
        "width": BOX_WIDTH,
        "height": place.height,
        "rx": 5,
        "class": kind,
    }
    name, *further = box.lines
    room = BOX_WIDTH - 16
    lines = [label(clipped(name, room, _BOLD), x + 8, y + 12, kind="strong")]
    lines += [
        label(clipped(words, room, _SMALL), x + 8, y + 12 + _LINE * number, kind="muted tiny")
        for number, words in enumerate(further, start=1)
    ]
    shown = element("title", {}, box.words) if box.words else None
    return element("g", {}, shown, element("rect", frame), lines)
