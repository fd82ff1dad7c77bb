"""Linear models under Adam, stopped early as SentEval stops its own.

All fits of a search start from the same seed in SentEval, so that they draw the same first weights
and, over the same data, the same permutations. Here they are rows of one matrix and take their
steps together; each stops at its own time and keeps its own best model, as it would alone (up to
the rounding of a matrix product of another size).

Rounds of some epochs are followed by a look at the dev set. A fit bears so many rounds that are not
better than the best so far; the next ends it, whether or not rounds between were better.

Legend: N items, D features, K outputs of a model, R fits, A of these still in training, C rows of
the matrix (one output of one model each), the last of whose D + 1 columns is the bias.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

LEARNING_RATE = 1e-3
FIRST_MOMENT_DECAY = 0.9
SECOND_MOMENT_DECAY = 0.999
EPSILON = 1e-8
"""PyTorch's defaults, which SentEval does not change."""

BatchLoss = Literal["sum", "mean"]
"""Whether the losses of a batch's items are added or averaged. SentEval asks for the sum by setting
``size_average = False`` on the loss. PyTorch obeyed as long as that was what its losses read (until
0.4.0); later ones have ``reduction`` and average all the same, which makes a weight decay 64 times
as strong beside the loss."""


class Adam:
    """Adam (Kingma & Ba 2015, algorithm 1), the decay added to the gradient as in torch.optim."""

    def __init__(self, parameters: Tensor, weight_decay: Tensor) -> None:
        """Takes parameters [C, D + 1], changed in place, and each row's weight decay [C, 1]."""
        self.parameters = parameters
        self._decay = weight_decay
        self._mean = torch.zeros_like(parameters)
        self._square = torch.zeros_like(parameters)
        self._num_steps = 0

    def step(self, gradient: Tensor) -> None:
        """Moves the parameters by one step; overwrites the gradient [C, D + 1]."""
        self._num_steps += 1
        gradient.addcmul_(self.parameters, self._decay)
        self._mean.lerp_(gradient, 1 - FIRST_MOMENT_DECAY)
        self._square.mul_(SECOND_MOMENT_DECAY)
        self._square.addcmul_(gradient, gradient, value=1 - SECOND_MOMENT_DECAY)
        correction = math.sqrt(1 - SECOND_MOMENT_DECAY**self._num_steps)
        spread = torch.sqrt(self._square, out=gradient).div_(correction).add_(EPSILON)
        rate = LEARNING_RATE / (1 - FIRST_MOMENT_DECAY**self._num_steps)
        self.parameters.addcdiv_(self._mean, spread, value=-rate)

    def keep(self, rows: Tensor) -> None:
        """Forgets all rows but those at these positions [C'], int64."""
        self.parameters = self.parameters[rows]
        self._decay = self._decay[rows]
        self._mean = self._mean[rows]
        self._square = self._square[rows]


def initial_linear(num_outputs: int, num_features: int, seed: int) -> Tensor:
    """Returns the weights and, last, biases [outputs, D + 1] that ``nn.Linear`` starts with.

    They are those after ``torch.manual_seed(seed)``, weights first: uniform up to 1 / √D.
    """
    generator = torch.Generator().manual_seed(seed)
    bound = 1 / math.sqrt(num_features)
    weights = torch.empty(num_outputs, num_features).uniform_(-bound, bound, generator=generator)
    biases = torch.empty(num_outputs).uniform_(-bound, bound, generator=generator)
    return torch.cat([weights, biases[:, None]], dim=1)


def linear(features: Tensor, parameters: Tensor) -> Tensor:
    """Returns the outputs [n, C] of parameters [C, D + 1] for features [n, D]."""
    return torch.addmm(parameters[:, -1], features, parameters[:, :-1].T)


def linear_gradient(features: Tensor, output_gradient: Tensor, out: Tensor) -> Tensor:
    """Writes a loss's gradient by the parameters to ``out`` [C, D + 1], and returns it.

    Args:
        output_gradient: [n, C], by the outputs.
    """
    torch.mm(output_gradient.T, features, out=out[:, :-1])
    torch.sum(output_gradient, dim=0, out=out[:, -1])
    return out


@dataclass(frozen=True, slots=True)
class AdamConfig:
    """SentEval's defaults for classes, with which published rows were made."""

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
    """Over items, and over the outputs where the loss is a sum over these."""


@dataclass(frozen=True, slots=True)
class ClassifierLoss:
    """What a model of several outputs is trained for, and chosen by."""

    num_outputs: int
    slope: Callable[[Tensor, Tensor], Tensor]
    """From the outputs [B, A, K] and the answers [B, …] of a batch to the loss's derivative by the
    outputs, [B, A, K]."""
    score: Callable[[Tensor, Tensor], Tensor]
    """From the outputs [N', A, K] and the answers of dev to the score of each fit [A], float64."""


@dataclass(frozen=True, slots=True, eq=False)
class AdamModels:
    """The best model of each fit."""

    parameters: Tensor
    """[R, K, D + 1], float32."""
    dev_scores: Tensor
    """[R], float64."""
    epochs: Tensor
    """[R], int64; epochs trained before the fit ended."""

    @property
    def weights(self) -> Tensor:
        """[R, K, D]."""
        return self.parameters[:, :, :-1].contiguous()

    @property
    def biases(self) -> Tensor:
        """[R, K]."""
        return self.parameters[:, :, -1].contiguous()

    def predict(self, features: Tensor) -> Tensor:
        """Returns the most likely class [R, N] (int64) of each item of features [N, D]."""
        scores = features.to(self.parameters) @ self.weights.transpose(1, 2)
        return (scores + self.biases[:, None, :]).argmax(dim=2)


def fit_early_stopped(
    train: tuple[Tensor, Tensor],
    dev: tuple[Tensor, Tensor],
    decays: Tensor,
    loss: ClassifierLoss,
    config: AdamConfig,
    random: np.random.RandomState,
) -> AdamModels:
    """Returns the best model with each weight decay [R], on the features' device.

    Args:
        train: features [N, D] and answers [N, …].
        dev: the same of the dev set.
        random: draws the permutations.
    """
    features, answers = train
    search = _Search(decays.to(features), loss, features, config)
    while search.active.numel() and search.num_epochs <= config.max_epoch:
        for _ in range(config.epoch_size):
            order = torch.from_numpy(random.permutation(len(features))).to(features.device)
            for items in order.split(config.batch_size):
                search.step(features[items], answers[items])
        search.end_round(*dev)
    return search.best


class _Search:
    """The fits under way; those that ended are no longer computed."""

    def __init__(
        self, decays: Tensor, loss: ClassifierLoss, features: Tensor, config: AdamConfig
    ) -> None:
        num_outputs, num_features = loss.num_outputs, features.shape[1]
        self._loss = loss
        self._config = config
        first = initial_linear(num_outputs, num_features, config.seed).to(features.device)
        decay = decays.repeat_interleave(num_outputs)[:, None]
        self._adam = Adam(first.repeat(len(decays), 1), decay)
        self._gradient = torch.empty_like(self._adam.parameters)
        self._failures = torch.zeros_like(decays, dtype=torch.int64)
        self.num_epochs = 0
        self.active = torch.arange(len(decays), device=features.device)
        """[A]; positions of the fits in training."""
        self.best = AdamModels(
            features.new_zeros((len(decays), num_outputs, num_features + 1)),
            torch.full_like(decays, -1.0, dtype=torch.float64),
            torch.zeros_like(decays, dtype=torch.int64),
        )

    def _outputs(self, features: Tensor) -> Tensor:
        """Returns the outputs [n, A, K] of every model in training."""
        outputs = linear(features, self._adam.parameters)
        return outputs.view(len(features), len(self.active), self._loss.num_outputs)

    def step(self, features: Tensor, answers: Tensor) -> None:
        """Takes a step of every model in training on a batch [B, D] with answers [B, …]."""
        slope = self._loss.slope(self._outputs(features), answers)
        self._adam.step(linear_gradient(features, slope.flatten(1), self._gradient))

    def end_round(self, dev_x: Tensor, dev_y: Tensor) -> None:
        """Scores the models on dev, keeps those that are better and ends those that are not."""
        self.num_epochs += self._config.epoch_size
        self.best.epochs[self.active] = self.num_epochs
        scores = self._loss.score(self._outputs(dev_x), dev_y)
        better = scores > self.best.dev_scores[self.active]
        winners = self.active[better]
        models = self._adam.parameters.view(len(self.active), self._loss.num_outputs, -1)
        self.best.parameters[winners] = models[better]
        self.best.dev_scores[winners] = scores[better]
        self._failures[self.active[~better]] += 1
        going_on = self._failures[self.active] <= self._config.tenacity
        if not bool(going_on.all()):
            self.active = self.active[going_on]
            rows = going_on.repeat_interleave(self._loss.num_outputs)
            self._adam.keep(rows.nonzero()[:, 0])
            self._gradient = torch.empty_like(self._adam.parameters)
