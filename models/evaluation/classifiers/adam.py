"""Adam over the rows of one matrix of linear models, and their first values.

Legend: C rows (one output of one model each), D features; the last of the D + 1 columns is the
bias.
"""

from __future__ import annotations

import math
from typing import Literal

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
