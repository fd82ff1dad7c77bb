"""Relatedness against the minimum of its objective; cosines: equal pairs are tied."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.support.graded_pairs import graded_pairs
from treeviews.models.evaluation import pair_protocols
from treeviews.models.evaluation.evaluation_settings import ProtocolConfig
from treeviews.models.evaluation.pair_protocols import (
    REGULARISERS,
    FloatArray,
    cosine_similarity,
    cosines,
    distributions,
    learn_relatedness,
)
from treeviews.models.evaluation.resampling import pearson
from treeviews.models.evaluation.scores import ZERO_VECTORS

pytestmark = pytest.mark.usefixtures("one_thread")

TRAIN, DEV, TEST = graded_pairs(150), graded_pairs(60), graded_pairs(80)


def minimised(features: Tensor, scores: Tensor, regulariser: float) -> Tensor:
    """Returns weights and bias [5, D + 1] at the minimum of the documented objective."""
    x, target = features.double(), distributions(scores).double()
    parameters = torch.zeros(5, x.shape[1] + 1, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [parameters], max_iter=5000, tolerance_grad=1e-12, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        logits = x @ parameters[:, :-1].T + parameters[:, -1]
        divergence = -(target * torch.log_softmax(logits, dim=1)).sum(dim=1).mean()
        loss = divergence + regulariser / 2 * parameters[:, :-1].square().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    return parameters.detach()


def expected(parameters: Tensor, features: Tensor) -> FloatArray:
    logits = features.double() @ parameters[:, :-1].T + parameters[:, -1]
    scores: FloatArray = torch.softmax(logits, dim=1).numpy() @ np.arange(1.0, 6.0)
    return scores


def test_the_answer_is_that_of_the_objective_s_minimum_which_is_best_on_dev(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pair_protocols, "TOLERANCE", 1e-12)
    splits = {"train": (TRAIN[0].double(), TRAIN[1]), "dev": DEV, "test": TEST}
    gold = {name: scores.numpy().astype(np.float64) for name, (_, scores) in splits.items()}
    features = {name: features for name, (features, _) in splits.items()}
    result = learn_relatedness(features, gold, ProtocolConfig())
    models = [minimised(*TRAIN, regulariser) for regulariser in REGULARISERS]
    on_dev = [pearson(expected(model, DEV[0]), DEV[1].numpy()) for model in models]
    best = int(np.argmax(on_dev))
    assert result.regularisers == (REGULARISERS[best],)
    assert result.dev_score == pytest.approx(100 * on_dev[best], abs=1e-3)
    predicted = result.predictions.predicted
    np.testing.assert_allclose(predicted, expected(models[best], TEST[0]), atol=1e-3)
    assert (result.num_fits, result.not_converged) == (7, 0)


def vectors(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, 100)).astype(np.float32)


def nudged(rows: np.ndarray, seed: int) -> np.ndarray:
    """Returns vectors of which every component is one unit in the last place off, or none."""
    generator = np.random.default_rng(seed)
    towards = generator.choice([-np.inf, np.inf], rows.shape).astype(np.float32)
    return np.where(generator.random(rows.shape) < 0.5, rows, np.nextafter(rows, towards))


def test_equal_vectors_and_those_an_ulp_apart_have_cosine_1() -> None:
    rows = vectors(200, seed=0)
    assert set(cosines(rows, rows)) == {1.0}
    assert set(cosines(rows, nudged(rows, seed=1))) == {1.0}
    assert set(cosines(rows, -rows)) == {-1.0}


def test_pairs_without_a_vector_have_cosine_0_and_are_counted_once_each() -> None:
    first, second = vectors(6, seed=0), vectors(6, seed=1)
    first[[0, 1]] = second[[1, 2]] = 0.0
    halves = {"a": (first[:3], second[:3]), "b": (first[3:], second[3:])}
    found = cosine_similarity(halves, {"a": np.arange(3.0), "b": np.arange(3.0)})
    assert found.details == {ZERO_VECTORS: 3}
    assert list(found.predictions.predicted[:3]) == [0.0, 0.0, 0.0]
