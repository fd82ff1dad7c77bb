"""The status of a run as lines: alike stages together, none wider than the terminal."""

from __future__ import annotations

from pathlib import Path

from models.report.stage_graph import StageGraph, StageNode, State
from tasks.runs.status import Status, status_lines

_ABOUT = "views SEQ,SEQ, preset structured-views, representation plain, encoder trained"


def node(place: int, state: State = "missing") -> StageNode:
    return StageNode(
        id=f"EvaluateEncoder-{place}",
        name="EvaluateEncoder",
        about=f"{_ABOUT}-{place}",
        folder=Path(f"results/{place}"),
        state=state,
        num_parts=14,
        num_parts_done=2,
        num_bytes=1000,
    )


def status(*nodes: StageNode) -> Status:
    return Status(
        graph=StageGraph(nodes[-1].id, nodes),
        to_run=tuple(one.id for one in nodes),
        errors={one.id: "the disk is full" for one in nodes if one.state == "failed"},
        run="",
        at_work=False,
    )


def test_many_alike_stages_have_a_line_together() -> None:
    lines = status_lines(status(*map(node, range(12)), node(12, "failed"), node(13, "partial")))

    assert " ".join(lines[1].split()) == "missing EvaluateEncoder × 12 24 of 168 12 kB"
    assert lines[2].startswith("failed   EvaluateEncoder (views")
    assert "        the disk is full" in lines
    assert any(line.startswith("partial") for line in lines)
    assert "× counts stages that are alike; --all has a line for each" in lines


def test_each_stage_has_its_line_where_all_are_asked_for_or_few_are_alike() -> None:
    many, few = (status(*map(node, range(n))) for n in (12, 8))

    for lines in (status_lines(many, each=True), status_lines(few)):
        assert not any("×" in line for line in lines)
    assert sum(line.startswith("missing") for line in status_lines(many, each=True)) == 12
    assert sum(line.startswith("missing") for line in status_lines(few)) == 8


def test_a_label_is_wrapped_to_the_terminal_and_nothing_of_it_is_lost() -> None:
    for width in (60, 80, 200):
        lines = status_lines(status(node(0), node(1, "partial")), width)

        assert max(map(len, lines)) <= width
        said = " ".join(" ".join(lines).replace("2 of 14", "").replace("1 kB", "").split())
        assert f"EvaluateEncoder ({_ABOUT}-0)" in said
        assert f"EvaluateEncoder ({_ABOUT}-1)" in said
