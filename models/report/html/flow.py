"""How many go where: nodes in columns, bands between them as wide as what they carry (Sankey)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from models.report.html.drawing import Drawing, clipped, label, title_of
from models.report.html.markup import Attributes, Markup, element, joined

_NODE_WIDTH, _COLUMN, _PLOT_HEIGHT = 14.0, 270.0, 220.0
_LABEL_HEIGHT, _GAP, _TOP = 36.0, 10.0, 14.0
_THINNEST = 2.0


@dataclass(frozen=True, slots=True)
class FlowNode:
    """A state that things are in."""

    id: str
    column: int
    words: str
    value: float
    small: str = ""
    """Said below its count."""
    is_loss: bool = False
    """Whether it ends there, refused or not used."""


@dataclass(frozen=True, slots=True)
class FlowLink:
    """How many go from one state to another."""

    source: str
    target: str
    value: float


@dataclass(frozen=True, slots=True)
class Flow:
    """Nodes and links; the order of nodes in a column is from the top down."""

    name: str
    title: str
    description: str
    nodes: tuple[FlowNode, ...]
    links: tuple[FlowLink, ...]


def flow(chart: Flow) -> Drawing:
    """Returns the drawing.

    Raises:
        ValueError: a link of no node, or nothing flows.
    """
    known = {node.id for node in chart.nodes}
    if lost := [one for one in chart.links if not {one.source, one.target} <= known]:
        raise ValueError(f"{chart.name}: {lost[0]} joins what is no node")
    most = max((node.value for node in chart.nodes), default=0.0)
    if most <= 0:
        raise ValueError(f"{chart.name}: nothing flows")
    scale = _PLOT_HEIGHT / most
    tops = _tops(chart.nodes, scale)
    bands = _bands(chart, tops, scale)
    columns = 1 + max(node.column for node in chart.nodes)
    bottom = max(tops[node.id] + max(_height(node.value, scale), 44.0) for node in chart.nodes)
    nodes = [_node(node, tops[node.id], scale) for node in chart.nodes]
    return Drawing(
        chart.name, chart.title, chart.description,
        columns * _COLUMN, bottom + 14, joined([*bands, *nodes]),
    )  # fmt: skip


def _height(value: float, scale: float) -> float:
    return max(_THINNEST, value * scale)


def _tops(nodes: Sequence[FlowNode], scale: float) -> Mapping[str, float]:
    """Returns where each node begins; a label has room beside every one."""
    tops: dict[str, float] = {}
    next_free: defaultdict[int, float] = defaultdict(lambda: _TOP)
    for node in nodes:
        tops[node.id] = next_free[node.column]
        room = _LABEL_HEIGHT + (16.0 if node.small else 0.0)
        next_free[node.column] += max(_height(node.value, scale), room) + _GAP
    return tops


def _x(node: FlowNode) -> float:
    return node.column * _COLUMN + 2


def _bands(chart: Flow, tops: Mapping[str, float], scale: float) -> list[Markup]:
    by_id = {node.id: node for node in chart.nodes}
    leaving, entering = dict(tops), dict(tops)
    bands = []
    for one in chart.links:
        source, target = by_id[one.source], by_id[one.target]
        thick = _height(one.value, scale)
        x1, x2 = _x(source) + _NODE_WIDTH, _x(target)
        y1, y2 = leaving[one.source], entering[one.target]
        leaving[one.source] += one.value * scale
        entering[one.target] += one.value * scale
        bend = (x1 + x2) / 2
        steps = (
            f"M{x1:.1f},{y1:.1f}C{bend:.1f},{y1:.1f} {bend:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"
            f"V{y2 + thick:.1f}"
            f"C{bend:.1f},{y2 + thick:.1f} {bend:.1f},{y1 + thick:.1f} {x1:.1f},{y1 + thick:.1f}Z"
        )
        kind = "lost" if target.is_loss else "band"
        shown = title_of(f"{source.words} → {target.words}: {one.value:,.0f}")
        bands.append(element("path", {"d": steps, "class": kind}, shown))
    return bands


def _node(node: FlowNode, top: float, scale: float) -> Markup:
    height = _height(node.value, scale)
    kind = "bar-lost" if node.is_loss else "bar"
    place: Attributes = {
        "x": _x(node),
        "y": top,
        "width": _NODE_WIDTH,
        "height": height,
        "class": kind,
    }
    across, room = _x(node) + _NODE_WIDTH + 8, _COLUMN - _NODE_WIDTH - 14
    down = top + min(height / 2, 24.0) - 4 if height > _LABEL_HEIGHT else top + 8
    return joined(
        [
            element("rect", place, title_of(f"{node.words}: {node.value:,.0f}")),
            label(f"{node.value:,.0f}", across, down, kind="strong"),
            label(clipped(node.words, room), across, down + 16, title=node.words),
            label(clipped(node.small, room), across, down + 32, title=node.small)
            if node.small
            else None,
        ]
    )
