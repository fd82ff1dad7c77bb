"""Grades of relatedness, and SentEval's model of them against PyTorch's own optimiser."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from models.evaluation.adam_classifiers import (
    AdamRelatednessConfig,
    BatchLoss,
    fit_adam_relatedness,
    grade_targets,
)
from tests.support.graded_pairs import graded_pairs

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize(
    ("score", "target"),
    [
        (1.0, [1, 0, 0, 0, 0]),
        (3.0, [0, 0, 1, 0, 0]),
        (4.25, [0, 0, 0, 0.75, 0.25]),
        (5.0, [0, 0, 0, 0, 1]),
        (0.25, [0.25, 0, 0, 0, 0]),
        (0.0, [0, 0, 0, 0, 0]),
    ],
)
def test_targets_are_senteval_s(score: float, target: list[float]) -> None:
    targets = grade_targets(torch.tensor([score], dtype=torch.float64))
    assert targets.dtype == torch.float32
    assert targets[0].tolist() == target


@pytest.mark.parametrize("score", [-0.1, 5.1, float("nan")])
def test_scores_out_of_range_are_refused(score: float) -> None:
    with pytest.raises(ValueError, match="scores must lie between 0 and 5"):
        grade_targets(torch.tensor([score]))


def by_pytorch(
    train: tuple[Tensor, Tensor], dev: tuple[Tensor, Tensor], batch_loss: BatchLoss
) -> tuple[nn.Module, float, int]:
    """The obviously right version: model, Pearson on dev, epochs."""
    (x, y), random = (train[0], grade_targets(train[1])), np.random.RandomState(1111)
    torch.manual_seed(1111)
    model = nn.Sequential(nn.Linear(x.shape[1], 5), nn.Softmax(dim=1))
    optimiser = torch.optim.Adam(model.parameters())
    loss_of = nn.MSELoss(reduction=batch_loss)
    best, best_model, failures, epochs = -1.0, copy.deepcopy(model), 0, 0
    while failures <= 3 and epochs <= 1000:
        for _ in range(50):
            order = random.permutation(len(x))
            for start in range(0, len(x), 64):
                items = torch.from_numpy(order[start : start + 64])
                optimiser.zero_grad()
                loss_of(model(x[items]), y[items]).backward()
                optimiser.step()
        epochs += 50
        predicted = model(dev[0]).detach().double().numpy() @ np.arange(1, 6)
        correlation = float(np.corrcoef(predicted, dev[1].numpy())[0, 1])
        if correlation > best:
            best, best_model = correlation, copy.deepcopy(model)
        else:
            failures += 1
    return best_model, best, epochs


@pytest.mark.slow
@pytest.mark.parametrize("batch_loss", ["sum", "mean"])
def test_the_model_is_that_of_torch_adam_stopped_early(batch_loss: BatchLoss) -> None:
    train, dev, test = graded_pairs(100), graded_pairs(60), graded_pairs(40)
    model = fit_adam_relatedness(*train, *dev, AdamRelatednessConfig(batch_loss=batch_loss))
    expected, dev_pearson, epochs = by_pytorch(train, dev, batch_loss)
    scores = expected(test[0]).detach().double() @ torch.arange(1.0, 6.0, dtype=torch.float64)
    torch.testing.assert_close(model.predict(test[0]), scores, atol=1e-3, rtol=0)
    assert model.dev_pearson == pytest.approx(dev_pearson, abs=1e-5)
    assert model.epochs == epochs


def test_the_constants_are_senteval_s() -> None:
    assert AdamRelatednessConfig() == AdamRelatednessConfig(
        seed=1111, batch_size=64, epoch_size=50, max_epoch=1000, tenacity=3, batch_loss="sum"
    )
