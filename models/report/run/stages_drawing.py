"""The stages of a run as a drawing: what was made from what, in which time, of which size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from models.report.html.layered_graph import Box, Graph, State, layered_graph
from models.report.html.sections import Figure, Section
from models.report.stage_graph import StageGraph, StageNode
from models.training.logs import duration

_STATES: dict[str, State] = {
    "done": "",
    "partial": "unmade",
    "missing": "unmade",
    "failed": "failed",
}
_KILO = 1000.0


def stages_section(graph: StageGraph, *, asking: str = "") -> Section:
    """Returns the drawing of a graph as a section.

    Args:
        graph: of which no node has parts that are drawn by themselves.
        asking: id of the stage that draws, which is at work and counts as done.
    """
    groups = _folded(graph, asking)
    box_of = {node.id: group[0].id for group in groups for node in group}
    boxes = tuple(_box(group, box_of, graph.root, asking) for group in groups)
    seconds = sum(node.seconds or 0.0 for node in graph.nodes)
    num_bytes = sum(node.num_bytes or 0 for node in graph.nodes if node.id != asking)
    work = duration(seconds, digits=1)
    told = (
        f"{len(graph.nodes)} stages; together {work} of work and {in_bytes(num_bytes)}. "
        "Stages that do not need each other ran side by side."
    )
    drawing = layered_graph(
        Graph("stages", "Stages of the run", f"What each stage is made from. {told}", boxes)
    )
    states = {_STATES[node.state] for node in graph.nodes if node.id != asking}
    keys = [
        "a thick frame is what was asked for",
        *(["a box of several stages (×) is of alike ones"] if len(boxes) < len(box_of) else []),
        *(["a dashed one is not complete"] if "unmade" in states else []),
        *(["an orange one failed"] if "failed" in states else []),
    ]
    caption = f"Arrows lead from what is needed to what is made from it; {', '.join(keys)}. {told}"
    return Section.of("Stages of the run", Figure(caption, (drawing,)))


def _folded(graph: StageGraph, asking: str) -> list[list[StageNode]]:
    """Returns the stages, those together that one box stands for.

    They have one name and state, and as many stages stand before them in line: so no box can need
    itself through others.
    """
    depths: dict[str, int] = {}
    groups: dict[tuple[str, str, int], list[StageNode]] = {}
    for node in graph.nodes:
        depths[node.id] = 1 + max((depths[need] for need in node.needs), default=-1)
        state = "" if node.id == asking else _STATES[node.state]
        groups.setdefault((node.name, state, depths[node.id]), []).append(node)
    return list(groups.values())


def _box(nodes: Sequence[StageNode], box_of: Mapping[str, str], root: str, asking: str) -> Box:
    """Returns the box of alike stages."""
    first, *others = nodes
    is_written = first.id != asking  # who draws is not done, and has no size yet
    state = _STATES[first.state] if is_written else ""
    name = f"{first.name} × {len(nodes)}" if others else first.name
    about = "; ".join(node.about for node in nodes if node.about)
    lines = tuple(line for line in (name, about, _facts(nodes, asking)) if line)
    told = [first.state] if is_written and state else []
    words = ", ".join([*lines, *told])
    if others:
        each = "; ".join(
            ", ".join(filter(None, (node.about, _facts([node], asking)))) for node in nodes
        )
        words = f"{', '.join([name, *told])}: {each}"
    if not state and root in [node.id for node in nodes]:
        state = "asked"
    needs = dict.fromkeys(box_of[need] for node in nodes for need in node.needs)
    return Box(first.id, lines, tuple(needs), state, words)


def _facts(nodes: Sequence[StageNode], asking: str) -> str:
    """Returns the time, the size and the parts of stages together."""
    seconds = [node.seconds for node in nodes if node.seconds is not None]
    sizes = [n.num_bytes for n in nodes if n.num_bytes is not None and n.id != asking]
    facts = [duration(sum(seconds), digits=1)] if seconds else []
    facts += [in_bytes(sum(sizes))] if sizes else []
    if total := sum(node.num_parts or 0 for node in nodes):
        done = sum(_done(node) for node in nodes)
        parts = f"{total} part{'s' if total > 1 else ''}"
        facts.append(parts if done == total else f"{done} of {parts}")
    return " · ".join(facts)


def _done(node: StageNode) -> int:
    return (node.num_parts or 0) if node.num_parts_done is None else node.num_parts_done


def in_bytes(size: float) -> str:
    """Returns a size with its unit, three digits at most."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < _KILO:
            return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
        size /= _KILO
    return f"{size:,.1f} TB"
