"""Cosines of pairs: equal pairs are tied, whatever rounding made of them."""

from __future__ import annotations

import numpy as np
import pytest

from models.evaluation.pair_protocols import cosine_similarity, cosines
from models.evaluation.scores import ZERO_VECTORS, score
from models.evaluation.task_registry import task_named

WIDTH = 100


def vectors(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, WIDTH)).astype(np.float32)


def nudged(rows: np.ndarray, seed: int) -> np.ndarray:
    """Returns vectors of which every component is one unit in the last place off, or none."""
    generator = np.random.default_rng(seed)
    towards = generator.choice([-np.inf, np.inf], rows.shape).astype(np.float32)
    return np.where(generator.random(rows.shape) < 0.5, rows, np.nextafter(rows, towards))


def unrounded(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    a, b = first.astype(np.float64), second.astype(np.float64)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray((a * b).sum(axis=1) / lengths)


def test_equal_vectors_and_those_an_ulp_apart_have_cosine_1() -> None:
    rows = vectors(200, seed=0)
    assert len(set(unrounded(rows, rows))) > 1, "else there is nothing to tie"
    assert set(cosines(rows, rows)) == {1.0}
    assert set(cosines(rows, nudged(rows, seed=1))) == {1.0}
    assert set(cosines(rows, -rows)) == {-1.0}


@pytest.mark.parametrize("seed", range(3))
def test_rounding_of_equal_pairs_changes_no_score(seed: int) -> None:
    first, second = vectors(120, seed=0), vectors(120, seed=1)
    second[:60] = first[:60]
    gold = np.random.default_rng(2).uniform(0, 5, 120)
    gold[:60] = np.linspace(4.0, 5.0, 60)
    task = task_named("STS14")

    def scores(pairs: tuple[np.ndarray, np.ndarray]) -> dict[str, float]:
        return score(task, cosine_similarity({"news": pairs}, {"news": gold}).predictions)

    expected = scores((first, second))
    other = second.copy()
    other[:60] = nudged(second[:60], seed)
    found = scores((first, other))
    assert found["spearman_mean"] == expected["spearman_mean"]
    assert found["pearson_mean"] == pytest.approx(expected["pearson_mean"], abs=1e-9)


def test_pairs_without_a_vector_have_cosine_0_and_are_counted_once_each() -> None:
    first, second = vectors(6, seed=0), vectors(6, seed=1)
    gold = np.arange(6.0)
    known = cosine_similarity({"test": (first, second)}, {"test": gold})
    assert ZERO_VECTORS not in known.details
    first[[0, 1]] = second[[1, 2]] = 0.0
    halves = {"a": (first[:3], second[:3]), "b": (first[3:], second[3:])}
    found = cosine_similarity(halves, {"a": gold[:3], "b": gold[3:]})
    assert found.details == {ZERO_VECTORS: 3}
    assert list(found.predictions.predicted[:3]) == [0.0, 0.0, 0.0]
