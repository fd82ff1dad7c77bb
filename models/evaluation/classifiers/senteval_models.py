"""SentEval's own models, for compatibility: linear ones under Adam, stopped early (see ``adam``).

Classes (its ``tools/classifier.py``): logistic regression, chosen by accuracy on dev. Differs from
SentEval: without a dev set and with so few items that its share rounds to none, it divides by zero;
here that is an error with a remedy.

Relatedness (its ``tools/relatedness.py``): softmax of a linear map to five grades, squared error to
the target distribution, chosen by Pearson's r on dev. Differs from SentEval: where all predictions
for dev are equal, r counts as 0 rather than as not a number.

A score y between two grades is a distribution over these with mean y: p[⌊y⌋] = ⌊y⌋ − y + 1 and
p[⌊y⌋ + 1] = y − ⌊y⌋. A predicted distribution p̂ stands for the score r · p̂, r = (1, 2, 3, 4, 5)
(Tai, Socher & Manning 2015, section 4.2).

Legend: N items or pairs, D features, K classes, R regularisers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from models.evaluation.classifiers.adam import (
    AdamConfig,
    AdamModels,
    ClassifierLoss,
    fit_early_stopped,
    linear,
)
from models.evaluation.statistics.weighted_scores import pearson

NUM_GRADES = 5


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
        ValueError: no dev item.
    """
    config = config or AdamConfig()
    random = np.random.RandomState(config.seed)
    train_x, dev_x = train_x.float(), None if dev_x is None else dev_x.float()
    if dev_x is None or dev_y is None:
        train_x, train_y, dev_x, dev_y = _held_back(train_x, train_y, config, random)

    def slope(logits: Tensor, labels: Tensor) -> Tensor:
        error = torch.softmax(logits, dim=2)
        error[torch.arange(len(labels), device=labels.device), :, labels] -= 1.0
        return error / len(labels) if config.batch_loss == "mean" else error

    def accuracy(logits: Tensor, labels: Tensor) -> Tensor:
        return (logits.argmax(dim=2) == labels[:, None]).double().mean(dim=0)

    loss = ClassifierLoss(num_classes, slope, accuracy)
    return fit_early_stopped((train_x, train_y), (dev_x, dev_y), regularisers, loss, config, random)


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


def grade_targets(scores: Tensor) -> Tensor:
    """Returns the distribution [N, 5] (float32) of each score [N] as SentEval encodes it.

    A score y below 1, as STS-B has them, keeps only its upper part: y at grade 1 and nothing
    else, so that its row sums to y and that of score 0 to 0.

    Raises:
        ValueError: a score that is not between 0 and 5.
    """
    y = scores.to(torch.float64)
    if not bool(((y >= 0) & (y <= NUM_GRADES)).all()):
        raise ValueError(f"scores must lie between 0 and {NUM_GRADES}: {y.tolist()[:5]}…")
    floor = y.floor()
    grades = _grades(y)
    upper = (grades == (floor + 1)[:, None]) * (y - floor)[:, None]
    lower = (grades == floor[:, None]) * (floor - y + 1)[:, None]
    return (upper + lower).float()


def expected_scores(probabilities: Tensor) -> Tensor:
    """Returns the mean grade (float64) of distributions [..., N, 5], between 1 and 5."""
    return probabilities.to(torch.float64) @ _grades(probabilities)


def _grades(like: Tensor) -> Tensor:
    return torch.arange(1, NUM_GRADES + 1, dtype=torch.float64, device=like.device)


@dataclass(frozen=True, slots=True)
class AdamRelatednessConfig(AdamConfig):
    """SentEval's defaults for relatedness, with which published rows were made."""

    epoch_size: int = 50
    max_epoch: int = 1000
    """Rounds of fifty end at 1050."""
    tenacity: int = 3


@dataclass(frozen=True, slots=True)
class AdamRelatednessModel:
    """The model with the best correlation on dev."""

    parameters: Tensor
    """[5, D + 1], float32; biases last."""
    dev_pearson: float
    epochs: int
    """Epochs trained before the fit ended."""

    def predict(self, features: Tensor) -> Tensor:
        """Returns the score [N] (float64), 1 to 5, of each pair of features [N, D]."""
        logits = linear(features.to(self.parameters), self.parameters)
        return expected_scores(torch.softmax(logits, dim=1))


def fit_adam_relatedness(
    train_x: Tensor,
    train_scores: Tensor,
    dev_x: Tensor,
    dev_scores: Tensor,
    config: AdamRelatednessConfig | None = None,
) -> AdamRelatednessModel:
    """Returns the model that SentEval would fit, on the features' device.

    Args:
        train_x: [N, D], as they are.
        train_scores: [N], 0 to 5.
        dev_x: [N', D]
        dev_scores: [N']
        config: SentEval's defaults if None.

    Raises:
        ValueError: scores out of range.
    """
    config = config or AdamRelatednessConfig()
    random = np.random.RandomState(config.seed)
    train_x, targets = train_x.float(), grade_targets(train_scores).to(train_x.device)

    def slope(logits: Tensor, target: Tensor) -> Tensor:
        """Returns the derivative [B, 1, 5] of the squared error of the softmax by the logits."""
        probability = torch.softmax(logits[:, 0], dim=1)
        slope = 2 * (probability - target)
        if config.batch_loss == "mean":
            slope /= slope.numel()
        by_logits = probability * (slope - (slope * probability).sum(dim=1, keepdim=True))
        return by_logits[:, None]

    def correlation(logits: Tensor, gold: Tensor) -> Tensor:
        predicted = expected_scores(torch.softmax(logits[:, 0], dim=1))
        value = pearson(predicted.cpu(), gold.cpu())
        return torch.tensor([value], dtype=torch.float64, device=logits.device)

    loss = ClassifierLoss(NUM_GRADES, slope, correlation)
    decay, dev = torch.zeros(1), (dev_x.to(train_x), dev_scores)
    best = fit_early_stopped((train_x, targets), dev, decay, loss, config, random)
    return AdamRelatednessModel(
        best.parameters[0], float(best.dev_scores[0]), epochs=int(best.epochs[0])
    )
