"""Scores of figures and of ranked pairs, of samples and of two encoders' answers stacked."""

from __future__ import annotations

import numpy as np
import pytest

from models.evaluation.protocols.outcome import Predictions
from models.evaluation.scores import main_metric, score, score_intervals, scorer
from models.evaluation.statistics.weighted_scores import RankedPairs
from models.evaluation.tasks.task import EvaluationTask, Protocol


def task(protocol: Protocol) -> EvaluationTask:
    return EvaluationTask("T", "T", protocol, "", "", score="shown")


def predictions(predicted: list[float], gold: list[float], groups: list[int]) -> Predictions:
    names = tuple(f"g{number}" for number in range(max(groups) + 1))
    return Predictions(np.array(predicted), np.array(gold), np.array(groups), names)


def brute_force(scores: np.ndarray, gold: np.ndarray) -> float:
    """Returns Σ over thresholds of (recall gained) times precision, counted anew at each."""
    found, before = 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        above = scores >= threshold
        recall = gold[above].sum() / gold.sum()
        found += (recall - before) * gold[above].mean()
        before = recall
    return found


@pytest.mark.parametrize("seed", range(5))
def test_average_precision_counts_equal_scores_as_one_step(seed: int) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.integers(0, 8, 30).astype(float)
    gold = (generator.random(30) < 0.4).astype(float)
    found = RankedPairs.of(scores, gold).average_precisions(np.ones((1, 30)))
    assert found[0] == pytest.approx(brute_force(scores, gold))


def test_an_item_of_weight_2_stands_twice() -> None:
    generator = np.random.default_rng(0)
    scores, gold = generator.random(20).round(1), (generator.random(20) < 0.5).astype(float)
    weights = generator.integers(0, 3, 20)
    found = RankedPairs.of(scores, gold).average_precisions(weights[None].astype(float))
    repeated = np.repeat(scores, weights), np.repeat(gold, weights)
    assert found[0] == pytest.approx(brute_force(*repeated))


def test_without_class_1_average_precision_is_0() -> None:
    found = RankedPairs.of(np.arange(3.0), np.zeros(3)).average_precisions(np.ones((1, 3)))
    assert found.tolist() == [0.0]


def test_figures_are_averaged_over_groups() -> None:
    given = predictions([1.0, 0.0, 0.5, 0.5, 0.5], [1.0] * 5, [0, 0, 1, 1, 1])
    assert score(task("figures"), given) == {"shown": 50.0, "shown:g0": 50.0, "shown:g1": 50.0}
    assert main_metric(task("figures")) == "shown"


def test_one_group_has_no_score_of_its_own() -> None:
    assert list(score(task("figures"), predictions([1.0, 0.0], [1.0, 1.0], [0, 0]))) == ["shown"]


@pytest.mark.parametrize("protocol", ["figures", "ranked_pairs"])
def test_intervals_hold_the_score(protocol: Protocol) -> None:
    generator = np.random.default_rng(0)
    gold = (generator.random(60) < 0.5).astype(float)
    given = predictions(
        (0.3 * gold + 0.7 * generator.random(60)).tolist(), gold.tolist(), [0, 1] * 30
    )
    found = score_intervals(task(protocol), given)["shown"]
    assert found.low < found.value < found.high


@pytest.mark.parametrize("protocol", ["figures", "ranked_pairs"])
def test_stacked_answers_are_scored_apart(protocol: Protocol) -> None:
    gold = [1.0, 0.0, 1.0, 0.0]
    a = predictions([0.9, 0.1, 0.8, 0.2], gold, [0] * 4)
    b = predictions([10.0, 40.0, 20.0, 30.0], gold, [0] * 4)  # on a scale of its own
    both = scorer(task(protocol), a, b)
    for weights, alone in (([1.0] * 4 + [0.0] * 4, a), ([0.0] * 4 + [1.0] * 4, b)):
        found = both(np.array([weights]))["shown"][0]
        assert found == pytest.approx(score(task(protocol), alone)["shown"])
