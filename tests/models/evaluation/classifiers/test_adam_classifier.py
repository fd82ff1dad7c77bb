"""SentEval's classifier: against PyTorch's own optimiser step by step, alone and together."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from models.evaluation.adam_classifiers import AdamConfig, AdamModels, BatchLoss, fit_adam
from models.evaluation.evaluation_settings import COMPATIBILITY_GRID

pytestmark = pytest.mark.usefixtures("one_thread")

WEIGHT_DECAYS = torch.tensor([1e-5, 1e-2, 1.0, 10.0])


def noisy_items(
    num_items: int, num_classes: int = 3, width: int = 12, noise: float = 1.5
) -> tuple[Tensor, Tensor]:
    """Returns features and labels that a linear classifier gets right in part."""
    generator = torch.Generator().manual_seed(num_items)
    directions = torch.randn(num_classes, width, generator=torch.Generator().manual_seed(5))
    features = torch.randn(num_items, width, generator=generator)
    scores = features @ directions.T
    scores += noise * torch.randn(num_items, num_classes, generator=generator)
    return features, scores.argmax(dim=1)


def one_by_pytorch(
    train: tuple[Tensor, Tensor],
    dev: tuple[Tensor, Tensor] | None,
    weight_decay: float,
    num_classes: int,
    batch_loss: BatchLoss = "sum",
) -> tuple[nn.Linear, float, int]:
    """The obviously right version of one fit: model, dev accuracy, epochs."""
    (x, y), random = train, np.random.RandomState(1111)
    torch.manual_seed(1111)
    model = nn.Linear(x.shape[1], num_classes)
    if dev is None:
        order = random.permutation(len(x))
        held_back, rest = order[: int(0.05 * len(x))], order[int(0.05 * len(x)) :]
        dev, (x, y) = (x[held_back], y[held_back]), (x[rest], y[rest])
    optimiser = torch.optim.Adam(model.parameters(), weight_decay=weight_decay)
    loss_of = nn.CrossEntropyLoss(reduction=batch_loss)
    best, best_model, failures, epochs = -1.0, copy.deepcopy(model), 0, 0
    while failures <= 5 and epochs <= 200:
        for _ in range(4):
            order = random.permutation(len(x))
            for start in range(0, len(x), 64):
                items = torch.from_numpy(order[start : start + 64])
                optimiser.zero_grad()
                loss_of(model(x[items]), y[items]).backward()
                optimiser.step()
        epochs += 4
        accuracy = (model(dev[0]).argmax(dim=1) == dev[1]).double().mean().item()
        if accuracy > best:
            best, best_model = accuracy, copy.deepcopy(model)
        else:
            failures += 1
    return best_model, best, epochs


def assert_same(models: AdamModels, position: int, expected: tuple[nn.Linear, float, int]) -> None:
    model, dev_score, epochs = expected
    torch.testing.assert_close(models.weights[position], model.weight.data, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(models.biases[position], model.bias.data, atol=1e-5, rtol=1e-4)
    assert models.dev_scores[position].item() == dev_score
    assert models.epochs[position].item() == epochs


@pytest.mark.parametrize(("batch_loss", "num_classes"), [("sum", 2), ("sum", 3), ("mean", 2)])
def test_every_regulariser_ends_where_it_would_alone_under_torch_adam(
    batch_loss: BatchLoss, num_classes: int
) -> None:
    train, dev = noisy_items(230, num_classes), noisy_items(80, num_classes)
    config = AdamConfig(batch_loss=batch_loss)
    models = fit_adam(*train, *dev, WEIGHT_DECAYS, num_classes, config)
    for position, decay in enumerate(WEIGHT_DECAYS.tolist()):
        alone = one_by_pytorch(train, dev, decay, num_classes, batch_loss)
        assert_same(models, position, alone)
    assert len(set(models.epochs.tolist())) > 1, "the fits must end at different times"


def test_without_dev_set_a_twentieth_is_held_back_as_senteval_draws_it() -> None:
    train = noisy_items(230)
    models = fit_adam(*train, None, None, WEIGHT_DECAYS[:2], 3)
    for position in range(2):
        decay = WEIGHT_DECAYS[position].item()
        assert_same(models, position, one_by_pytorch(train, None, decay, 3))


def test_the_global_random_state_is_left_alone() -> None:
    torch.manual_seed(3)
    np.random.seed(3)
    expected = torch.rand(1), np.random.rand()
    torch.manual_seed(3)
    np.random.seed(3)
    fit_adam(*noisy_items(40), *noisy_items(20), WEIGHT_DECAYS[:1], 3)
    assert (torch.rand(1), np.random.rand()) == expected


def test_the_constants_are_senteval_s() -> None:
    assert COMPATIBILITY_GRID == (1e-5, 1e-4, 1e-3, 1e-2)
    assert AdamConfig() == AdamConfig(
        seed=1111,
        batch_size=64,
        epoch_size=4,
        max_epoch=200,
        tenacity=5,
        validation_split=0.05,
        batch_loss="sum",
    )


def test_too_few_items_for_a_dev_set_are_refused() -> None:
    with pytest.raises(ValueError, match="5% of 10 items is less than one dev item; give more"):
        fit_adam(*noisy_items(10), None, None, WEIGHT_DECAYS, num_classes=3)
