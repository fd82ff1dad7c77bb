"""Means over tasks, and intervals by clusters: closed cases, pinned draws, pairing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from models.evaluation.resampling import (
    Interval,
    Resampling,
    clusters_of,
    mean_interval,
)
from models.evaluation.scores import score_intervals
from tests.support.evaluation_examples import answers, task

Scores = Mapping[str, npt.ArrayLike]


def interval(
    scores: Scores,
    clusters: Scores | None = None,
    *,
    seed: int = 0,
    num_resamples: int = 2_000,
) -> Interval:
    """Returns the interval; without clusters, each item is one of its own."""
    if clusters is None:
        ends = np.cumsum([np.size(scores[name]) for name in sorted(scores)])
        sizes = [np.size(scores[name]) for name in sorted(scores)]
        clusters = {
            name: np.arange(end - size, end)
            for name, end, size in zip(sorted(scores), ends, sizes, strict=True)
        }
    how = Resampling(num_resamples, seed=seed)
    return mean_interval(scores, clusters, resampling=how)


def paired(first: Scores, second: Scores) -> Interval:
    """Returns first minus second, both on the same draws."""
    return interval({name: np.subtract(first[name], second[name]) for name in first})


def test_pinned_interval() -> None:
    found = interval({"a": [1, 0, 1, 1, 0, 1, 1, 0, 1, 1]}, seed=0, num_resamples=1000)
    assert (found.value, found.low, found.high) == pytest.approx((70.0, 40.0, 100.0))


def test_pairing_removes_what_both_rows_share() -> None:
    """One row is right where the other is, and on five items more: all the draws agree."""
    first = {"a": [1] * 60 + [0] * 40}
    second = {"a": [1] * 50 + [0] * 50}
    difference = paired(first, second)
    assert difference.value == pytest.approx(10.0)
    assert difference.low > 0
    assert difference.high - difference.low < interval(first).high - interval(first).low
    assert difference.excludes_zero


def test_a_score_of_one_task_has_the_interval_of_its_mean() -> None:
    """The answers to single items and the sums over clusters are two ways to one figure."""
    made = answers(300, 0.7)
    right = {"a": made.predicted == made.gold}
    for clusters in (np.arange(300) // 4, -1 - np.arange(300)):
        of_task = score_intervals(task(), replace(made, clusters=clusters))["accuracy"]
        assert of_task == interval(right, {"a": clusters})


def test_with_few_documents_sentences_are_drawn() -> None:
    sentences = np.arange(300)
    assert len(set(clusters_of(sentences, sentences // 100).tolist())) == 300
    assert len(set(clusters_of(sentences, sentences // 5).tolist())) == 60
    assert max(clusters_of(sentences, sentences // 100)) < 0


def test_items_of_a_cluster_are_drawn_together() -> None:
    """Forty documents of ten sentences each, all right or all wrong, are forty answers."""
    scores = {"a": [1] * 300 + [0] * 100}
    clusters = {"a": [i // 10 for i in range(400)]}
    found = interval(scores, clusters, num_resamples=4000)
    error = 196 * math.sqrt(0.75 * 0.25 / 40)
    assert found.low == pytest.approx(75 - error, abs=2.6)
    assert found.high == pytest.approx(75 + error, abs=2.6)


def test_a_cluster_is_drawn_for_all_tasks_at_once() -> None:
    """Two tasks on the same documents, answered alike: the average has one task's interval."""
    answers = [int(value) for value in np.random.default_rng(0).random(200) < 0.6]
    clusters = [i // 2 for i in range(200)]
    one = interval({"a": answers}, {"a": clusters})
    both = interval({"a": answers, "b": answers}, {"a": clusters, "b": clusters})
    assert both == one
    apart = interval(
        {"a": answers, "b": answers}, {"a": clusters, "b": [c + 100 for c in clusters]}
    )
    assert apart.high - apart.low < 0.8 * (one.high - one.low)


def test_a_brute_force_bootstrap_gives_the_same_interval() -> None:
    random = np.random.default_rng(5)
    scores = {"a": random.random(30), "b": random.random(12)}
    clusters = {"a": random.integers(0, 8, 30), "b": random.integers(0, 8, 12)}
    ids = sorted({*clusters["a"].tolist(), *clusters["b"].tolist()})
    drawn = np.random.default_rng(1).integers(0, len(ids), size=(200, len(ids)))
    means = []
    for draw in drawn:
        items = {
            name: np.concatenate([scores[name][clusters[name] == ids[c]] for c in draw])
            for name in scores
        }
        means.append(np.mean([found.mean() for found in items.values()]))
    low, high = 100 * np.percentile(means, [2.5, 97.5])
    found = interval(scores, clusters, seed=1, num_resamples=200)
    assert (found.low, found.high) == pytest.approx((low, high))
