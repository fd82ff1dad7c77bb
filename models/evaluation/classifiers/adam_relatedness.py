"""SentEval's own model of relatedness, for compatibility (its ``tools/relatedness.py``).

Softmax of a linear map to five grades, squared error to the target distribution, Adam; rounds of
50 epochs are followed by a look at Pearson's r on dev, and the fourth round that is not better
than the best so far ends the fit.

Differs from SentEval: where all predictions for dev are equal, r counts as 0 rather than as not a
number.

Legend: N pairs, D features.
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
from models.evaluation.classifiers.grades import NUM_GRADES, expected_scores, grade_targets
from models.evaluation.statistics.correlation import pearson


@dataclass(frozen=True, slots=True)
class AdamRelatednessConfig:
    """SentEval's defaults, with which published rows were made."""

    seed: int = 1111
    batch_size: int = 64
    epoch_size: int = 50
    """Epochs between two looks at the dev set."""
    max_epoch: int = 1000
    """No round begins after more epochs than these: rounds of fifty end at 1050."""
    tenacity: int = 3
    """So many rounds without improvement are borne; the next ends the fit."""
    batch_loss: BatchLoss = "sum"
    """Over pairs and grades."""


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
    parameters = initial_linear(NUM_GRADES, train_x.shape[1], config.seed).to(train_x.device)
    adam = Adam(parameters, weight_decay=torch.zeros_like(parameters[:, :1]))
    gradient = torch.empty_like(parameters)
    best = AdamRelatednessModel(parameters, dev_pearson=-1.0, epochs=0)
    failures = epochs = 0
    while failures <= config.tenacity and epochs <= config.max_epoch:
        for _ in range(config.epoch_size):
            order = torch.from_numpy(random.permutation(len(train_x))).to(train_x.device)
            for items in order.split(config.batch_size):
                x, target = train_x[items], targets[items]
                adam.step(_gradient(x, target, parameters, config.batch_loss, gradient))
        epochs += config.epoch_size
        model = AdamRelatednessModel(parameters, dev_pearson=0.0, epochs=epochs)
        dev_pearson = pearson(model.predict(dev_x).cpu(), dev_scores.cpu()).value
        if dev_pearson > best.dev_pearson:
            best = AdamRelatednessModel(parameters.clone(), dev_pearson, epochs)
        else:
            failures += 1
    return AdamRelatednessModel(best.parameters, best.dev_pearson, epochs)


def _gradient(
    features: Tensor, targets: Tensor, parameters: Tensor, batch_loss: BatchLoss, out: Tensor
) -> Tensor:
    """Returns the gradient [5, D + 1] of the squared error of the softmax, written to ``out``."""
    probability = torch.softmax(linear(features, parameters), dim=1)
    slope = 2 * (probability - targets)
    if batch_loss == "mean":
        slope /= slope.numel()
    by_logits = probability * (slope - (slope * probability).sum(dim=1, keepdim=True))
    return linear_gradient(features, by_logits, out)
