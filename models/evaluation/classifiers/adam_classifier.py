"""SentEval's own classifier, for compatibility: logistic regression stopped early under Adam.

One call is one fit of SentEval's ``tools/classifier.py`` for each of several regularisers. There,
all fits of a search start from the same seed, so that they draw the same first weights and, over
the same data, the same permutations. Here they are rows of one matrix and take their steps
together; each stops at its own time and keeps its own best model, as it would alone (up to the
rounding of a matrix product of another size).

Rounds of four epochs are followed by a look at the dev set; the sixth round that is not better
than the best so far ends the fit, whether or not rounds between were better.

Differs from SentEval: without a dev set and with so few items that its share rounds to none, it
divides by zero; here that is an error with a remedy.

Legend: N items, D features, K classes, R regularisers, A of these still in training.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from models.evaluation.classifiers.adam import (
    Adam,
    BatchLoss,
    initial_linear,
    linear,
    linear_gradient,
)
from models.evaluation.classifiers.checks import check_items


@dataclass(frozen=True, slots=True)
class AdamConfig:
    """SentEval's defaults, with which published rows were made."""

    seed: int = 1111
    batch_size: int = 64
    epoch_size: int = 4
    """Epochs between two looks at the dev set."""
    max_epoch: int = 200
    """No round begins after more epochs than these: rounds of four end at 204."""
    tenacity: int = 5
    """So many rounds without improvement are borne; the next ends the fit."""
    validation_split: float = 0.05
    """Share of the training items that serve as dev set where none is given."""
    batch_loss: BatchLoss = "sum"


@dataclass(frozen=True, slots=True)
class AdamModels:
    """The best model of each regulariser."""

    weights: Tensor
    """[R, K, D], float32."""
    biases: Tensor
    """[R, K], float32."""
    dev_scores: Tensor
    """[R], float64; accuracy on the dev set, between 0 and 1."""
    epochs: Tensor
    """[R], int64; epochs trained before the fit ended."""

    def predict(self, features: Tensor) -> Tensor:
        """Returns the most likely class [R, N] (int64) of each item of features [N, D]."""
        scores = features.to(self.weights) @ self.weights.transpose(1, 2)
        return (scores + self.biases[:, None, :]).argmax(dim=2)


def fit_adam(
    train_x: Tensor,
    train_y: Tensor,
    dev_x: Tensor | None,
    dev_y: Tensor | None,
    regularisers: Tensor,
    num_classes: int,
    config: AdamConfig | None = None,
) -> AdamModels:
    """Returns the model that SentEval would fit with each regulariser, on the features' device.

    Args:
        train_x: [N, D], as they are: SentEval standardises nothing.
        train_y: [N], int64, 0 to K - 1.
        dev_x: [N', D]; where None, a share of the training items, drawn as SentEval draws it.
        dev_y: [N'], given if ``dev_x`` is.
        regularisers: [R], weight decays >= 0; they bear on biases too.
        config: SentEval's defaults if None.

    Raises:
        ValueError: sizes that do not fit, labels out of range, features that are not finite, or
            no dev item.
    """
    config = config or AdamConfig()
    random = np.random.RandomState(config.seed)
    train_x, dev_x = train_x.float(), None if dev_x is None else dev_x.float()
    _check(train_x, train_y, num_classes, "train")
    if dev_x is None or dev_y is None:
        train_x, train_y, dev_x, dev_y = _held_back(train_x, train_y, config, random)
    _check(dev_x, dev_y, num_classes, "dev")
    search = _Search(regularisers.to(train_x), num_classes, train_x, config)
    while search.active.numel() and search.num_epochs <= config.max_epoch:
        for _ in range(config.epoch_size):
            order = torch.from_numpy(random.permutation(len(train_x))).to(train_x.device)
            for items in order.split(config.batch_size):
                search.step(train_x[items], train_y[items])
        search.end_round(dev_x, dev_y)
    return search.best()


def _check(features: Tensor, labels: Tensor, num_classes: int, split: str) -> None:
    check_items(features, labels, split)
    if int(labels.min()) < 0 or int(labels.max()) >= num_classes:
        raise ValueError(f"{split} labels must lie in 0 to {num_classes - 1}")


def _held_back(
    train_x: Tensor, train_y: Tensor, config: AdamConfig, random: np.random.RandomState
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns what remains for training, and the dev set: the first of a permutation."""
    num_dev = int(config.validation_split * len(train_x))
    if not num_dev:
        raise ValueError(
            f"{config.validation_split:.0%} of {len(train_x)} items is less than one dev item; "
            f"give more items or a dev set"
        )
    order = torch.from_numpy(random.permutation(len(train_x))).to(train_x.device)
    dev, rest = order[:num_dev], order[num_dev:]
    return train_x[rest], train_y[rest], train_x[dev], train_y[dev]


class _Search:
    """The fits of R regularisers under way; those that ended are no longer computed."""

    def __init__(
        self, regularisers: Tensor, num_classes: int, features: Tensor, config: AdamConfig
    ) -> None:
        num_problems, device = len(regularisers), features.device
        self._num_classes = num_classes
        self._config = config
        first = initial_linear(num_classes, features.shape[1], config.seed).to(device)
        decay = regularisers.repeat_interleave(num_classes)[:, None]
        self._adam = Adam(first.repeat(num_problems, 1), decay)
        self._gradient = torch.empty_like(self._adam.parameters)
        self._best = torch.zeros(num_problems, num_classes, features.shape[1] + 1, device=device)
        self._best_scores = torch.full((num_problems,), -1.0, dtype=torch.float64, device=device)
        self._failures = torch.zeros(num_problems, dtype=torch.int64, device=device)
        self._epochs = torch.zeros(num_problems, dtype=torch.int64, device=device)
        self.num_epochs = 0
        self.active = torch.arange(num_problems, device=device)
        """[A]; positions of the regularisers in training."""

    def step(self, features: Tensor, labels: Tensor) -> None:
        """Takes a step of every model in training on a batch [B, D] with labels [B]."""
        logits = linear(features, self._adam.parameters)
        shape = (len(labels), len(self.active), self._num_classes)
        error = torch.softmax(logits.view(shape), dim=2)
        error[torch.arange(len(labels), device=labels.device), :, labels] -= 1.0
        if self._config.batch_loss == "mean":
            error /= len(labels)
        self._adam.step(linear_gradient(features, error.view_as(logits), self._gradient))

    def end_round(self, dev_x: Tensor, dev_y: Tensor) -> None:
        """Scores the models on dev, keeps those that are better and ends those that are not."""
        self.num_epochs += self._config.epoch_size
        self._epochs[self.active] = self.num_epochs
        logits = linear(dev_x, self._adam.parameters)
        predicted = logits.view(len(dev_y), len(self.active), self._num_classes).argmax(dim=2)
        scores = (predicted == dev_y[:, None]).double().mean(dim=0)
        better = scores > self._best_scores[self.active]
        winners = self.active[better]
        models = self._adam.parameters.view(len(self.active), self._num_classes, -1)
        self._best[winners] = models[better]
        self._best_scores[winners] = scores[better]
        self._failures[self.active[~better]] += 1
        self._keep(self._failures[self.active] <= self._config.tenacity)

    def _keep(self, going_on: Tensor) -> None:
        """Ends the fits, of those in training, that are not marked [A]."""
        if bool(going_on.all()):
            return
        self.active = self.active[going_on]
        self._adam.keep(going_on.repeat_interleave(self._num_classes).nonzero()[:, 0])
        self._gradient = torch.empty_like(self._adam.parameters)

    def best(self) -> AdamModels:
        """Returns the best models so far."""
        return AdamModels(
            self._best[:, :, :-1].contiguous(),
            self._best[:, :, -1].contiguous(),
            self._best_scores,
            self._epochs,
        )
