"""Means over tasks, and intervals by clusters: closed cases, brute force, one draw for all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.evaluation_examples import answers, task
from treeviews.models.evaluation.averages import mean_interval
from treeviews.models.evaluation.resampling import Interval, Resampling
from treeviews.models.evaluation.scores import score_intervals


def interval(
    scores: dict[str, npt.ArrayLike],
    clusters: dict[str, npt.ArrayLike],
    *,
    seed: int = 0,
    num_resamples: int = 2_000,
) -> Interval:
    floats = {name: np.asarray(values, dtype=np.float64) for name, values in scores.items()}
    ids = {name: np.asarray(values) for name, values in clusters.items()}
    return mean_interval(floats, ids, Resampling(num_resamples=num_resamples, seed=seed))


def test_a_score_of_one_task_has_the_interval_of_its_mean() -> None:
    """The answers to single items and the sums over clusters are two ways to one figure."""
    made = answers(300, 0.7)
    for clusters in (np.arange(300) // 4, -1 - np.arange(300)):
        of_task = score_intervals(task(), replace(made, clusters=clusters), Resampling())
        assert of_task["accuracy"] == interval({"a": made.predicted == made.gold}, {"a": clusters})


def test_a_cluster_is_drawn_for_all_tasks_at_once() -> None:
    """Two tasks on the same documents, answered alike: the average has one task's interval."""
    right, clusters = np.random.default_rng(0).random(200) < 0.6, np.arange(200) // 2
    alone = interval({"a": right}, {"a": clusters})
    assert interval({"a": right, "b": right}, {"a": clusters, "b": clusters}) == alone
    apart = interval({"a": right, "b": right}, {"a": clusters, "b": clusters + 100})
    assert apart.high - apart.low < 0.8 * (alone.high - alone.low)


def test_a_brute_force_bootstrap_gives_the_same_interval() -> None:
    random = np.random.default_rng(5)
    scores = {"a": random.random(30), "b": random.random(12)}
    clusters = {"a": random.integers(0, 8, 30), "b": random.integers(0, 8, 12)}
    ids = sorted({*clusters["a"].tolist(), *clusters["b"].tolist()})
    drawn = np.random.default_rng(1).integers(0, len(ids), size=(200, len(ids)))
    means = []
    for draw in drawn:
        items = [[scores[n][clusters[n] == ids[c]] for c in draw] for n in scores]
        means.append(np.mean([np.concatenate(of_task).mean() for of_task in items]))
    found = interval(dict(scores), dict(clusters), seed=1, num_resamples=200)
    assert [found.low, found.high] == pytest.approx(100 * np.percentile(means, [2.5, 97.5]))
