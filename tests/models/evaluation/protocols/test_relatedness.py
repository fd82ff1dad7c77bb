"""The protocol of relatedness: its objective against an oracle, choice on dev, compatibility."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from models.evaluation.adam_classifiers import fit_adam_relatedness
from models.evaluation.pair_protocols import (
    REGULARISERS,
    FloatArray,
    RelatednessConfig,
    distributions,
    relatedness,
)
from models.evaluation.scores import Outcome
from models.evaluation.weighted_scores import pearson
from tests.support.graded_pairs import graded_pairs

pytestmark = pytest.mark.usefixtures("one_thread")

TRAIN, DEV, TEST = graded_pairs(150), graded_pairs(60), graded_pairs(80)
Pairs = tuple[Tensor, Tensor]
EXACT = RelatednessConfig(tolerance=1e-12)


def answered(
    train: Pairs, dev: Pairs, test: Pairs, config: RelatednessConfig | None = None
) -> Outcome:
    """Returns what the protocol finds for pairs as features and scores."""
    splits = {"train": train, "dev": dev, "test": test}
    gold = {name: scores.numpy().astype(np.float64) for name, (_, scores) in splits.items()}
    return relatedness({name: features for name, (features, _) in splits.items()}, gold, config)


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


def test_the_answer_is_that_of_the_objective_s_minimum_which_is_best_on_dev() -> None:
    result = answered((TRAIN[0].double(), TRAIN[1]), DEV, TEST, EXACT)
    models = [minimised(*TRAIN, regulariser) for regulariser in REGULARISERS]
    on_dev = [pearson(expected(model, DEV[0]), DEV[1].numpy()) for model in models]
    best = int(np.argmax(on_dev))
    assert result.regularisers == (REGULARISERS[best],)
    assert result.dev_score == pytest.approx(100 * on_dev[best], abs=1e-3)
    predicted = result.predictions.predicted
    np.testing.assert_allclose(predicted, expected(models[best], TEST[0]), atol=1e-3)
    assert (result.num_fits, result.not_converged) == (7, 0)


def test_graded_pairs_are_learnt_and_shuffled_ones_are_not() -> None:
    train, dev, test = (graded_pairs(n, noise=0.0) for n in (400, 100, 500))
    learnt = answered(train, dev, test)
    assert pearson(learnt.predictions.predicted, test[1].numpy()) > 0.98
    generator = torch.Generator().manual_seed(1)
    (x, y), on_dev, (test_x, test_y) = (
        (features, scores[torch.randperm(len(scores), generator=generator)])
        for features, scores in (train, dev, test)
    )
    chance = answered((x, y), on_dev, (test_x, test_y))
    assert abs(pearson(chance.predictions.predicted, test_y.numpy())) < 0.15


def test_compatibility_is_senteval_s_model() -> None:
    result = answered(TRAIN, DEV, TEST, RelatednessConfig(classifier="compatibility"))
    narrow = [(features, scores.to(features)) for features, scores in (TRAIN, DEV)]
    model = fit_adam_relatedness(*narrow[0], *narrow[1])
    np.testing.assert_array_equal(result.predictions.predicted, model.predict(TEST[0]).numpy())
    assert (result.dev_score, result.details) == (100 * model.dev_pearson, {"epochs": model.epochs})
    assert (result.regularisers, result.num_fits, result.at_grid_edge) == ((), 1, 0)


def test_scores_below_one_are_all_on_the_lowest_grade() -> None:
    targets = distributions(torch.tensor([0.0, 0.5, 1.0, 2.25]))
    assert targets.tolist() == [
        [1, 0, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 0.75, 0.25, 0, 0],
    ]


@pytest.mark.parametrize("classifier", ["logistic_regression", "compatibility"])
@pytest.mark.parametrize(
    ("train", "dev", "message"),
    [
        ((TRAIN[0], TRAIN[1][:-1]), DEV, r"train features must be \[N, D\] and answers \[N\]"),
        ((TRAIN[0] / 0, TRAIN[1]), DEV, "features of train item 0 are not finite"),
        ((TRAIN[0], TRAIN[1] + 9), DEV, "scores must lie between 0 and 5"),
        (TRAIN, (DEV[0][:0], DEV[1][:0]), r"dev features must be .* with N >= 1"),
    ],
)
def test_input_that_does_not_fit_is_refused(
    classifier: str, train: tuple[Tensor, Tensor], dev: tuple[Tensor, Tensor], message: str
) -> None:
    config = RelatednessConfig(classifier=classifier)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        answered(train, dev, TEST, config)
