"""SentEval's own models: against PyTorch's optimiser step by step, alone and together."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.support.graded_pairs import graded_pairs
from treeviews.models.evaluation.adam_classifiers import (
    AdamConfig,
    AdamModels,
    fit_adam,
    fit_adam_relatedness,
    grade_targets,
)
from treeviews.models.evaluation.evaluation_settings import BatchLoss

pytestmark = pytest.mark.usefixtures("one_thread")

Items = tuple[Tensor, Tensor]
WEIGHT_DECAYS = torch.tensor([1e-5, 1.0, 10.0])


def noisy_items(num_items: int, num_classes: int = 3, width: int = 12) -> Items:
    """Returns features and labels that a linear classifier gets right in part."""
    generator = torch.Generator().manual_seed(num_items)
    directions = torch.randn(num_classes, width, generator=torch.Generator().manual_seed(5))
    features = torch.randn(num_items, width, generator=generator)
    scores = features @ directions.T
    scores += 1.5 * torch.randn(num_items, num_classes, generator=generator)
    return features, scores.argmax(dim=1)


def stopped_early(
    model: nn.Module,
    train: Items,
    loss_of: nn.Module,
    score: Callable[[nn.Module], float],
    config: AdamConfig,
    random: np.random.RandomState,
    weight_decay: float = 0.0,
) -> tuple[nn.Module, float, int]:
    """The obviously right version of one fit: model, best score on dev, epochs."""
    optimiser = torch.optim.Adam(model.parameters(), weight_decay=weight_decay)
    best, best_model, failures, epochs = -1.0, copy.deepcopy(model), 0, 0
    while failures <= config.tenacity and epochs <= config.max_epoch:
        for _ in range(config.epoch_size):
            order = random.permutation(len(train[0]))
            for start in range(0, len(order), 64):
                items = torch.from_numpy(order[start : start + 64])
                optimiser.zero_grad()
                loss_of(model(train[0][items]), train[1][items]).backward()
                optimiser.step()
        epochs += config.epoch_size
        if (found := score(model)) > best:
            best, best_model = found, copy.deepcopy(model)
        else:
            failures += 1
    return best_model, best, epochs


def assert_same_class_model(
    models: AdamModels, place: int, train: Items, dev: Items | None, batch_loss: BatchLoss = "sum"
) -> None:
    (x, y), random = train, np.random.RandomState(1111)
    torch.manual_seed(1111)
    model = nn.Linear(x.shape[1], models.parameters.shape[1])
    if dev is None:
        order = random.permutation(len(x))
        held_back, rest = order[: int(0.05 * len(x))], order[int(0.05 * len(x)) :]
        dev, (x, y) = (x[held_back], y[held_back]), (x[rest], y[rest])
    dev_x, dev_y = dev
    model, dev_score, epochs = stopped_early(  # type: ignore[assignment]
        model,
        (x, y),
        nn.CrossEntropyLoss(reduction=batch_loss),
        lambda made: (made(dev_x).argmax(dim=1) == dev_y).double().mean().item(),
        AdamConfig(),
        random,
        WEIGHT_DECAYS[place].item(),
    )
    expected = torch.cat([model.weight, model.bias[:, None]], dim=1).detach()
    torch.testing.assert_close(models.parameters[place], expected, atol=1e-5, rtol=1e-4)
    assert models.dev_scores[place].item() == dev_score
    assert models.epochs[place].item() == epochs


@pytest.mark.parametrize(("batch_loss", "num_classes"), [("sum", 2), ("sum", 3), ("mean", 2)])
def test_every_regulariser_ends_where_it_would_alone_under_torch_adam(
    batch_loss: BatchLoss, num_classes: int
) -> None:
    train, dev = noisy_items(110, num_classes), noisy_items(60, num_classes)
    models = fit_adam(train, dev, WEIGHT_DECAYS, num_classes, AdamConfig(batch_loss=batch_loss))
    for place in range(len(WEIGHT_DECAYS)):
        assert_same_class_model(models, place, train, dev, batch_loss)
    assert len(set(models.epochs.tolist())) > 1, "the fits must end at different times"


def test_without_dev_set_a_twentieth_is_held_back_as_senteval_draws_it() -> None:
    train = noisy_items(230)
    models = fit_adam(train, None, WEIGHT_DECAYS[:2], 3, AdamConfig())
    for place in range(2):
        assert_same_class_model(models, place, train, None)
    with pytest.raises(ValueError, match="5% of 10 items is less than one dev item; give more"):
        fit_adam(noisy_items(10), None, WEIGHT_DECAYS, 3, AdamConfig())


@pytest.mark.slow
@pytest.mark.parametrize("batch_loss", ["sum", "mean"])
def test_relatedness_is_the_model_of_torch_adam_stopped_early(batch_loss: BatchLoss) -> None:
    train, dev, test = graded_pairs(100), graded_pairs(60), graded_pairs(40)
    config = AdamConfig.of_relatedness(batch_loss=batch_loss)
    models = fit_adam_relatedness(train, dev, config)

    def correlation(made: nn.Module) -> float:
        predicted = made(dev[0]).detach().double().numpy() @ np.arange(1, 6)
        return float(np.corrcoef(predicted, dev[1].numpy())[0, 1])

    torch.manual_seed(1111)
    expected, dev_pearson, epochs = stopped_early(
        nn.Sequential(nn.Linear(train[0].shape[1], 5), nn.Softmax(dim=1)),
        (train[0], grade_targets(train[1])),
        nn.MSELoss(reduction=batch_loss),
        correlation,
        config,
        np.random.RandomState(1111),
    )
    scores = expected(test[0]).detach().double() @ torch.arange(1.0, 6.0, dtype=torch.float64)
    torch.testing.assert_close(models.predict_scores(test[0]), scores, atol=1e-3, rtol=0)
    assert models.dev_scores.tolist() == pytest.approx([dev_pearson], abs=1e-5)
    assert models.epochs.tolist() == [epochs]


@pytest.mark.parametrize(
    ("score", "target"),
    [
        (4.25, [0, 0, 0, 0.75, 0.25]),
        (0.25, [0.25, 0, 0, 0, 0]),
    ],
)
def test_targets_are_senteval_s(score: float, target: list[float]) -> None:
    assert grade_targets(torch.tensor([score], dtype=torch.float64))[0].tolist() == target
