"""What the report says first: what training changed, and on what."""

from __future__ import annotations

from typing import Any

import pytest

from models.report.training_effect import effect_of_training, headline, without_neighbour


def summary(untrained: float, trained: float, **fields: Any) -> dict[str, Any]:
    found = {"chance": 0.005, "num_anchors": 1000}
    held_out = {
        "untrained": {**found, "accuracy": untrained},
        "final": {**found, "accuracy": trained},
    }
    return {"objective": "contrastive", "held_out": held_out, **fields}


@pytest.mark.parametrize(
    ("seeds", "verb"),
    [
        ([(0.006, 0.060)], "raises"),
        ([(0.060, 0.006)], "lowers"),
        ([(0.006, 0.006)], "does not measurably change"),
        ([(0.050, 0.060)], "does not measurably change"),
        ([(0.006, 0.200), (0.010, 0.008)], "does not measurably change"),
    ],
)
def test_the_verb_follows_the_figures_of_every_seed(
    seeds: list[tuple[float, float]], verb: str
) -> None:
    effect = effect_of_training([summary(*seed) for seed in seeds])
    assert effect.verb == verb
    assert headline(effect).startswith(f"Training {verb} how often a held-out sentence picks")


def test_the_interval_is_that_of_one_seed_around_the_mean_of_all() -> None:
    one = effect_of_training([summary(0.0, 0.2)]).difference
    assert one.high - one.value == pytest.approx(1.96 * 100 * (0.2 * 0.8 / 1000) ** 0.5, rel=1e-3)
    both = effect_of_training([summary(0.0, 0.2), summary(0.0, 0.1)]).difference
    assert both.value == pytest.approx(15.0)
    assert both.high - both.low == pytest.approx(one.high - one.low)


def test_it_says_what_it_is_an_effect_on() -> None:
    text = headline(effect_of_training([summary(0.1, 0.6, objective="generative")] * 2))
    assert "how often a word of the sentence that follows a held-out one scores higher" in text
    assert "mean over 2 training seeds; chance 0.5 %; 1,000 sentences that were" in text


def test_it_says_why_accuracy_is_over_fewer_sentences_than_were_measured() -> None:
    final = {"num_anchors": 4716}

    said = without_neighbour({"held_out": {"final": final}, "held_out_measured": 4725})

    assert said.startswith("Of 4,725 held-out sentences, 4,716 have a neighbour")
    assert said.endswith("9 have none")
    assert not without_neighbour({"held_out": {"final": final}, "held_out_measured": 4716})
