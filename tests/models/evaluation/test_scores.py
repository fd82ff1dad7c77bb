"""Scores, means over tasks and their intervals, against brute force over what is drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.evaluation_examples import answers, predictions, task
from treeviews.models.evaluation.averages import mean_interval
from treeviews.models.evaluation.resampling import (
    Interval,
    Resampling,
    average_ranks,
    bootstrap_weights,
    pearson,
)
from treeviews.models.evaluation.scores import (
    Predictions,
    resampled_scores,
    score,
    score_intervals,
    stream_of,
)
from treeviews.models.evaluation.task_registry import EvaluationTask

stats = pytest.importorskip("scipy.stats", reason="compared with scipy: the extra bench")


def drawn_items(of: EvaluationTask, made: Predictions, resampling: Resampling) -> list[list[int]]:
    """Returns the items of each resample, one by one."""
    generator = np.random.default_rng([resampling.seed, stream_of(of)])
    weights = bootstrap_weights(made.groups, resampling.num_resamples, generator)
    return [np.repeat(np.arange(len(row)), row.astype(int)).tolist() for row in weights]


def test_similarity_is_given_by_subset_as_mean_weighted_and_pooled() -> None:
    """One subset is answered in order, one of twice its size against it, on another scale."""
    made = predictions(
        [1, 2, 3, 60, 50, 40, 30, 20, 10],
        [1, 2, 3, 1, 2, 3, 4, 5, 6],
        [0, 0, 0, 1, 1, 1, 1, 1, 1],
        ("small", "large"),
    )
    found = score(task(protocol="similarity"), made)
    for measure, oracle in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        assert found[f"{measure}:small"] == pytest.approx(100.0)
        assert found[f"{measure}:large"] == pytest.approx(-100.0)
        assert found[f"{measure}_mean"] == pytest.approx(0.0)
        assert found[f"{measure}_weighted"] == pytest.approx(-100 / 3)
        assert found[f"{measure}_all"] == pytest.approx(100 * oracle(made.predicted, made.gold)[0])


@pytest.mark.parametrize("protocol", ["similarity", "relatedness"])
def test_resampled_correlations_are_those_of_the_drawn_items(protocol: str) -> None:
    """Ties in both series, and every resample ranked anew by scipy."""
    random = np.random.default_rng(3)
    made = predictions(
        random.integers(0, 5, 24), random.integers(0, 5, 24), random.permutation(24) % 2
    )
    of = task(protocol=protocol)  # type: ignore[arg-type]
    if protocol == "relatedness":
        made = predictions(made.predicted, made.gold)
    resampling = Resampling(num_resamples=40, seed=2)
    found = resampled_scores(of, made, resampling)
    for place, items in enumerate(drawn_items(of, made, resampling)):
        subset = Predictions(
            made.predicted[items], made.gold[items], made.groups[items], made.group_names
        )
        x, y = subset.predicted, subset.gold
        pooled = "" if protocol == "relatedness" else "_all"
        assert found[f"pearson{pooled}"][place] == pytest.approx(100 * stats.pearsonr(x, y)[0])
        assert found[f"spearman{pooled}"][place] == pytest.approx(100 * stats.spearmanr(x, y)[0])
        for name, value in score(of, subset).items():
            assert found[name][place] == pytest.approx(value), name


def test_resampled_accuracies_are_those_of_the_drawn_items() -> None:
    random = np.random.default_rng(4)
    made = predictions(
        random.integers(0, 2, 30), random.integers(0, 2, 30), random.permutation(30) % 3
    )
    of = task(protocol="nested_folds", f1=True)
    resampling = Resampling(num_resamples=30)
    found = resampled_scores(of, made, resampling)
    for place, items in enumerate(drawn_items(of, made, resampling)):
        right = made.predicted[items] == made.gold[items]
        folds = [right[made.groups[items] == fold].mean() for fold in range(3)]
        assert found["accuracy"][place] == pytest.approx(100 * np.mean(folds))
        hits = ((made.predicted[items] == 1) & (made.gold[items] == 1)).sum()
        called = (made.predicted[items] == 1).sum() + (made.gold[items] == 1).sum()
        assert found["f1"][place] == pytest.approx(100 * 2 * hits / called)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=40))
def test_correlation_and_ranks_are_scipys_with_ties(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert pearson(x, y) == 0.0
        return
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)
    ranked = pearson(average_ranks(x), average_ranks(y))
    assert ranked == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-12)


# Means over tasks, and intervals by clusters.


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
