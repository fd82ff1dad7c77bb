"""SentEval's own models, for compatibility: linear ones under Adam, stopped early.

Classes (its ``tools/classifier.py``): logistic regression, chosen by accuracy on dev. Differs from
SentEval: without a dev set and with so few items that its share rounds to none, it divides by zero;
here that is an error with a remedy.

Relatedness (its ``tools/relatedness.py``): softmax of a linear map to five grades, squared error to
the target distribution, chosen by Pearson's r on dev. Differs from SentEval: where all predictions
for dev are equal, r counts as 0 rather than as not a number.

A score y between two grades is a distribution over these with mean y: p[⌊y⌋] = ⌊y⌋ − y + 1 and
p[⌊y⌋ + 1] = y − ⌊y⌋. A predicted distribution p̂ stands for the score r · p̂, r = (1, 2, 3, 4, 5)
(Tai, Socher & Manning 2015, section 4.2).

All fits of a search start from the same seed in SentEval, so that they draw the same first weights
and, over the same data, the same permutations. Here they are rows of one matrix and take their
steps together; each stops at its own time and keeps its own best model, as it would alone (up to
the rounding of a matrix product of another size).

Rounds of some epochs are followed by a look at the dev set. A fit bears so many rounds that are not
better than the best so far; the next ends it, whether or not rounds between were better.

Legend: N items or pairs, D features, K outputs of a model, R fits, A of these still in training,
C rows of the matrix (one output of one model each), the last of whose D + 1 columns is the bias.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from treeviews.models.evaluation.evaluation_settings import BatchLoss
from treeviews.models.evaluation.resampling import pearson

LEARNING_RATE = 1e-3
FIRST_MOMENT_DECAY = 0.9
SECOND_MOMENT_DECAY = 0.999
EPSILON = 1e-8
"""PyTorch's defaults, which SentEval does not change."""
NUM_GRADES = 5


class Adam:
    """Adam (Kingma & Ba 2015, algorithm 1), the decay added to the gradient as in torch.optim."""

    def __init__(self, parameters: Tensor, weight_decay: Tensor) -> None:
        """Takes parameters [C, D + 1], changed in place, and each row's weight decay [C, 1]."""
        self.parameters = parameters
        self._decay = weight_decay
        self._mean = torch.zeros_like(parameters)
        self._square = torch.zeros_like(parameters)
        self._gradient = torch.empty_like(parameters)
        self._num_steps = 0

    def step(self, slope: Tensor, features: Tensor) -> None:
        """Moves the parameters by one step.

        Args:
            slope: [n, C]; derivative of the loss by the outputs of features [n, D].
        """
        gradient = self._gradient
        torch.mm(slope.T, features, out=gradient[:, :-1])
        torch.sum(slope, dim=0, out=gradient[:, -1])
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
        self._gradient = torch.empty_like(self.parameters)


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

    @classmethod
    def of_relatedness(cls, seed: int = 1111, batch_loss: BatchLoss = "sum") -> AdamConfig:
        """Returns SentEval's defaults for relatedness; rounds of fifty end at 1050 epochs."""
        return cls(seed, epoch_size=50, max_epoch=1000, tenacity=3, batch_loss=batch_loss)


Slope = Callable[[Tensor, Tensor], Tensor]
"""From the outputs [B, A, K] and the answers [B, …] of a batch to the loss's derivative by the
outputs, [B, A, K]."""
Score = Callable[[Tensor, Tensor], Tensor]
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

    def predict_scores(self, features: Tensor) -> Tensor:
        """Returns the score [N] (float64), 1 to 5, of each pair of features [N, D], by one fit."""
        logits = linear(features.to(self.parameters), self.parameters[0])
        return expected_scores(torch.softmax(logits, dim=1))

    def predict(self, features: Tensor) -> Tensor:
        """Returns the most likely class [R, N] (int64) of each item of features [N, D]."""
        weights = self.parameters[:, :, :-1].contiguous()
        scores = features.to(self.parameters) @ weights.transpose(1, 2)
        return (scores + self.parameters[:, None, :, -1]).argmax(dim=2)


def fit_early_stopped(
    train: tuple[Tensor, Tensor],
    dev: tuple[Tensor, Tensor],
    decays: Tensor,
    num_outputs: int,
    slope: Slope,
    score: Score,
    config: AdamConfig,
    random: np.random.RandomState,
) -> AdamModels:
    """Returns the best model with each weight decay [R], on the features' device.

    Args:
        train: features [N, D] and answers [N, …].
        dev: the same of the dev set.
        num_outputs: K.
        slope: what a model is trained for.
        score: what it is chosen by.
        random: draws the permutations.
    """
    (features, answers), decays = train, decays.to(train[0])
    num_columns = features.shape[1] + 1
    first = initial_linear(num_outputs, features.shape[1], config.seed).to(features.device)
    decay_c1 = decays.repeat_interleave(num_outputs)[:, None]
    adam = Adam(first.repeat(len(decays), 1), decay_c1)
    best = AdamModels(
        features.new_zeros((len(decays), num_outputs, num_columns)),
        torch.full_like(decays, -1.0, dtype=torch.float64),
        torch.zeros_like(decays, dtype=torch.int64),
    )
    failures = torch.zeros_like(decays, dtype=torch.int64)
    active = torch.arange(len(decays), device=features.device)  # [A]; the fits in training

    def outputs(x: Tensor) -> Tensor:
        """Returns the outputs [n, A, K] of every model in training."""
        return linear(x, adam.parameters).view(len(x), len(active), num_outputs)

    num_epochs = 0
    while active.numel() and num_epochs <= config.max_epoch:
        for _ in range(config.epoch_size):
            order = torch.from_numpy(random.permutation(len(features))).to(features.device)
            for items in order.split(config.batch_size):
                x = features[items]
                adam.step(slope(outputs(x), answers[items]).flatten(1), x)
        num_epochs += config.epoch_size
        best.epochs[active] = num_epochs
        scores = score(outputs(dev[0]), dev[1])
        better = scores > best.dev_scores[active]
        models = adam.parameters.view(len(active), num_outputs, num_columns)
        best.parameters[active[better]] = models[better]
        best.dev_scores[active[better]] = scores[better]
        failures[active[~better]] += 1
        going_on = failures[active] <= config.tenacity
        if not bool(going_on.all()):
            active = active[going_on]
            adam.keep(going_on.repeat_interleave(num_outputs).nonzero()[:, 0])
    return best


def fit_adam(
    train: tuple[Tensor, Tensor],
    dev: tuple[Tensor, Tensor] | None,
    regularisers: Tensor,
    num_classes: int,
    config: AdamConfig,
) -> AdamModels:
    """Returns the model that SentEval would fit with each regulariser, on the features' device.

    Args:
        train: features [N, D], as they are: SentEval standardises nothing; and classes [N], int64.
        dev: the same of dev; where None, a share of the training items, drawn as SentEval draws it.
        regularisers: [R], weight decays >= 0; they bear on biases too.

    Raises:
        ValueError: no dev item.
    """
    random = np.random.RandomState(config.seed)
    if dev is None:
        train, dev = _held_back(train, config, random)
    train, dev = (train[0].float(), train[1]), (dev[0].float(), dev[1])

    def slope(logits: Tensor, labels: Tensor) -> Tensor:
        error = torch.softmax(logits, dim=2)
        error[torch.arange(len(labels), device=labels.device), :, labels] -= 1.0
        return error / len(labels) if config.batch_loss == "mean" else error

    def accuracy(logits: Tensor, labels: Tensor) -> Tensor:
        return (logits.argmax(dim=2) == labels[:, None]).double().mean(dim=0)

    return fit_early_stopped(train, dev, regularisers, num_classes, slope, accuracy, config, random)


def _held_back(
    train: tuple[Tensor, Tensor], config: AdamConfig, random: np.random.RandomState
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Returns what remains for training, and the dev set: the first of a permutation."""
    num_items = len(train[0])
    num_dev = int(config.validation_split * num_items)
    if not num_dev:
        raise ValueError(
            f"{config.validation_split:.0%} of {num_items} items is less than one dev item; "
            "give more items or a dev set"
        )
    order = torch.from_numpy(random.permutation(num_items)).to(train[0].device)
    dev, rest = order[:num_dev], order[num_dev:]
    return (train[0][rest], train[1][rest]), (train[0][dev], train[1][dev])


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


def fit_adam_relatedness(
    train: tuple[Tensor, Tensor], dev: tuple[Tensor, Tensor], config: AdamConfig
) -> AdamModels:
    """Returns the one model that SentEval would fit, on the features' device.

    Args:
        train: features [N, D], as they are, and scores [N], 0 to 5.
        dev: the same of dev.

    Raises:
        ValueError: scores out of range.
    """
    random = np.random.RandomState(config.seed)
    train_x, targets = train[0].float(), grade_targets(train[1]).to(train[0].device)

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

    train, dev, decay = (train_x, targets), (dev[0].to(train_x), dev[1]), torch.zeros(1)
    return fit_early_stopped(train, dev, decay, NUM_GRADES, slope, correlation, config, random)
