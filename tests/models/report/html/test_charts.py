"""Charts: where marks stand, what they say, and input that cannot be drawn."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from models.report.html.drawing import MARKERS, Drawing, clipped, inline, marker, said, ticks
from models.report.html.flow import Flow, FlowLink, FlowNode, flow
from models.report.html.layered_graph import BOX_WIDTH, Box, Graph, layered_graph
from models.report.html.line_chart import Line, LineChart, line_chart
from models.report.html.point_map import Point, PointMap, point_map
from models.report.html.row_chart import Dot, RowChart, row_chart
from tests.support.parsed_pages import parsed

HOSTILE = "</svg><script>alert(1)</script>\u202e"
CHART = LineChart(
    "loss", "Loss", "It falls.", "step", "nats",
    (Line("seed 0", ((0, 6.0), (10, 4.0)), 0, marked=True), Line("seed 0", ((0, 5.9),), 0)),
)  # fmt: skip


def texts(drawing: Drawing) -> str:
    page = parsed(inline(drawing))
    assert page.named("script") == []
    return page.text


def test_axes_have_round_numbers_around_the_values() -> None:
    assert ticks(0, 10) == [0, 2, 4, 6, 8, 10]
    assert ticks(0.0004, 0.002) == [0.0, 0.0005, 0.001, 0.0015, 0.002]
    assert ticks(3, 3)[0] < 3 < ticks(3, 3)[-1]
    assert ticks(0, 0, keep_low=True)[0] == 0
    assert ticks(-1.2, 1.3) == [-1.5, -1, -0.5, 0, 0.5, 1, 1.5]
    with pytest.raises(ValueError, match="finite bounds"):
        ticks(0, float("nan"))


def test_numbers_are_said_shortly() -> None:
    assert [said(v) for v in (0, 1000, 0.5, 2e-5, 3_000_000)] == [
        "0",
        "1,000",
        "0.5",
        "2e-5",
        "3e6",
    ]


def test_a_line_chart_names_axes_and_each_curve_once() -> None:
    drawing = line_chart(CHART)

    shown = texts(drawing)
    for words in ("Loss, nats", "step", "It falls.", "seed 0: 10, 4"):
        assert words in shown
    assert len(re.findall(">seed 0</text>", drawing.body)) == 1


def test_lower_values_stand_lower() -> None:
    (points,) = re.findall(r'points="([^"]*)" class="c0 line"', line_chart(CHART).body)[:1]
    (x1, y1), (x2, y2) = (map(float, one.split(",")) for one in points.split())
    assert x1 < x2
    assert y1 < y2


def test_an_axis_from_zero_begins_there_when_all_values_are_zero() -> None:
    flat = replace(CHART, lines=(Line("seed 0", ((0, 0.0), (10, 0.0)), 0),), from_zero=True)
    assert not re.search(r">-[0-9.]+</text>", line_chart(flat).body)


def test_a_chart_without_points_is_refused() -> None:
    with pytest.raises(ValueError, match="loss: a chart needs at least one point"):
        line_chart(replace(CHART, lines=()))


def row_chart_of(*marks: str) -> Drawing:
    dots = tuple(Dot(50, 40, 60, mark) for mark in marks)  # type: ignore[arg-type]
    rows = (("base", tuple(Dot(45, 44, 46, "", True) for _ in marks)), (HOSTILE, dots))
    names = tuple(f"task {n}" for n in range(len(marks)))
    return row_chart(RowChart("r", "R", "d", names, rows, (30.0,) * len(marks), "%", "base"))


def test_rows_have_a_mark_a_column_with_its_figure() -> None:
    shown = texts(row_chart_of("better", "worse", ""))
    for words in ("task 0: 50.0 [40.0, 60.0]", "task 2: 45.0 [44.0, 46.0]", "better than base"):
        assert words in shown


def test_marks_differ_in_form() -> None:
    forms = {marker(form, 0, 0, 3, "c0") for form in MARKERS}
    assert len(forms) == len(MARKERS)
    better, worse = (row_chart_of(mark).body for mark in ("better", "worse"))
    assert better != worse.replace("worse", "better")


def test_a_map_names_each_point() -> None:
    points = (Point(0, 0, 0, "low"), Point(1, 1, 1, HOSTILE))
    drawing = point_map(PointMap("m", "DEP", "sub", "d", ("past", HOSTILE), False, points))

    shown = texts(drawing)
    assert "past\nlow" in shown
    assert shown.count("</svg><script>alert(1)</script>\\u202e") >= 2
    circles = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="3.4"', drawing.body)
    assert len(circles) == 1  # the other class has another form


def test_classes_with_an_order_rise_in_color() -> None:
    points = tuple(Point(0.5, 0.5, n, "w") for n in range(3))
    drawing = point_map(PointMap("m", "DEP", "", "d", ("4", "5", "6"), True, points))
    assert re.findall(r'class="(o\d) dot"><title>', drawing.body) == ["o0", "o2", "o5"]


NODES = (
    FlowNode("in", 0, "found", 100, "in 3 documents"),
    FlowNode("kept", 1, "kept", 90),
    FlowNode("lost", 1, HOSTILE, 10, is_loss=True),
)
LINKS = (FlowLink("in", "kept", 90), FlowLink("in", "lost", 10))


def test_bands_are_as_wide_as_what_they_carry() -> None:
    drawing = flow(Flow("f", "F", "d", NODES, LINKS))

    assert "100" in texts(drawing)
    heights = [float(h) for h in re.findall(r'width="14" height="([\d.]+)"', drawing.body)]
    assert heights == [220, 198, 22]
    assert len(re.findall('class="lost"', drawing.body)) == 1


def test_a_flow_joins_nodes_that_are_there() -> None:
    with pytest.raises(ValueError, match="joins what is no node"):
        flow(Flow("f", "F", "d", NODES, (FlowLink("in", "gone", 1),)))
    with pytest.raises(ValueError, match="nothing flows"):
        flow(Flow("f", "F", "d", (FlowNode("in", 0, "found", 0),), ()))


def boxes(*edges: str) -> tuple[Box, ...]:
    """Boxes of ``b<a`` (b needs a), in the order of their names."""
    needs: dict[str, list[str]] = {}
    for edge in edges:
        one, _, need = edge.partition("<")
        needs.setdefault(one, []).extend(need)
        for other in need:
            needs.setdefault(other, [])
    return tuple(Box(one, (one, HOSTILE), tuple(needs[one])) for one in sorted(needs))


def places(drawing: Drawing) -> dict[str, tuple[float, float]]:
    found = re.findall(
        r'<g><rect x="([\d.]+)" y="([\d.]+)"[^>]*></rect><text [^>]*>(\w+)</text>', drawing.body
    )
    return {name: (float(x), float(y)) for x, y, name in found}


def graph_of(*edges: str) -> Drawing:
    return layered_graph(Graph("g", "G", "d", boxes(*edges)))


def test_what_is_needed_stands_above_what_needs_it() -> None:
    found = places(graph_of("b<a", "c<a", "d<bc"))
    assert found["a"][1] < found["b"][1] == found["c"][1] < found["d"][1]


def test_boxes_do_not_cover_each_other() -> None:
    found = places(graph_of("b<a", "c<a", "d<a", "e<bcd", "f<ab", "g<ef"))
    for one, (x, y) in found.items():
        for other, (x2, y2) in found.items():
            assert one == other or abs(x - x2) >= BOX_WIDTH or abs(y - y2) >= 40, (one, other)


def test_an_arrow_that_another_way_implies_is_left_out() -> None:
    assert graph_of("b<a", "c<ab").body.count('class="arrow"') == 2


def test_a_graph_with_a_circle_or_an_unknown_box_is_refused() -> None:
    with pytest.raises(ValueError, match="need each other"):
        graph_of("b<a", "a<b")
    with pytest.raises(ValueError, match="needs z, which is no box"):
        layered_graph(Graph("g", "G", "d", (Box("a", ("a",), ("z",)),)))
    with pytest.raises(ValueError, match="at least one box"):
        layered_graph(Graph("g", "G", "d", ()))


def test_words_are_cut_where_room_ends() -> None:
    assert clipped("short", 100) == "short"
    assert clipped("a very long sentence", 60).endswith("…")
