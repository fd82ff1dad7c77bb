"""Charts: where marks stand, what they say, and input that cannot be drawn."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from models.report.html.drawing import MARKERS, Drawing, inline, marker, said, ticks
from models.report.html.line_chart import Line, LineChart, line_chart
from tests.support.parsed_pages import parsed

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


def test_marks_differ_in_form() -> None:
    forms = {marker(form, 0, 0, 3, "c0") for form in MARKERS}
    assert len(forms) == len(MARKERS)
