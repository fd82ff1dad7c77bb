"""What the report says of training: its effect, on what, and the curves of every seed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.parsed_pages import parsed
from tests.support.report_examples import SUMMARY
from treeviews.models.report.sections import Drawing, Section
from treeviews.models.report.training_section import draw, effect_of_training, training_section


def summary(untrained: float, trained: float, **fields: Any) -> dict[str, Any]:
    of = {"chance": 0.005, "num_anchors": 1000}
    held_out = {"untrained": {**of, "accuracy": untrained}, "final": {**of, "accuracy": trained}}
    return {"objective": "contrastive", "held_out": held_out, **fields}


@pytest.mark.parametrize(
    ("seeds", "verb"),
    [
        ([(0.006, 0.060)], "raises"),
        ([(0.060, 0.006)], "lowers"),
        ([(0.050, 0.060)], "does not measurably change"),
        ([(0.006, 0.200), (0.010, 0.008)], "does not measurably change"),
    ],
)
def test_the_verb_follows_the_figures_of_every_seed(
    seeds: list[tuple[float, float]], verb: str
) -> None:
    effect = effect_of_training([summary(*seed) for seed in seeds])
    assert effect.verb == verb
    assert effect.headline.startswith(f"Training {verb} how often a held-out sentence picks")


def test_the_interval_is_that_of_one_seed_around_the_mean_of_all() -> None:
    one = effect_of_training([summary(0.0, 0.2)]).difference
    assert one.high - one.value == pytest.approx(1.96 * 100 * (0.2 * 0.8 / 1000) ** 0.5, rel=1e-3)
    both = effect_of_training([summary(0.0, 0.2), summary(0.0, 0.1)]).difference
    assert both.value == pytest.approx(15.0)
    assert both.high - both.low == pytest.approx(one.high - one.low)


def test_curves_are_of_every_seed_and_named_once() -> None:
    metrics = [
        [
            {"kind": "held_out", "step": 0, "accuracy": 0.1, "chance": 0.01, "loss": 5.0},
            *({"kind": "train", "step": s, "loss": 6 - s / 9} for s in range(1, 20)),
            {"kind": "held_out", "step": 19, "accuracy": 0.2 + seed, "chance": 0.01, "loss": 4.0},
        ]
        for seed in range(2)
    ]
    (drawing,) = drawings(training_section([SUMMARY, {**SUMMARY, "seed": 1}], metrics))
    assert "chance, 1 %" in drawing.svg
    for seed in range(2):
        assert drawing.svg.count(f">seed {seed}</text>") == 1
    assert drawings(training_section([SUMMARY], [[]])) == []


def drawings(section: Section) -> list[Drawing]:
    return [part for part in section.parts if isinstance(part, Drawing)]


def test_a_drawing_is_the_same_each_time_and_takes_the_colours_of_the_page() -> None:
    lines = [([0.0, 10.0], [6.0, 4.0], {"color": "c0", "label": "seed 0"})]
    first, again = (draw({"Loss, nats": lines}) for _ in range(2))
    assert first == again and "#0072b2" in first
    inline = Drawing("loss", "Loss", "It falls.", first).inline
    page = parsed(inline)
    assert "Loss, nats" in page.text
    assert "stroke: var(--c0)" in inline and "#0072b2" not in inline
    assert not any(element == "g" and "id" in attributes for element, attributes in page.elements)
