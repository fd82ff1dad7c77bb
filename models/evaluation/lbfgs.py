"""L-BFGS over many problems at once (Nocedal & Wright 2006, algorithm 7.4), in a given metric.

A step costs two products with the features for all problems together: the logits of the direction
and the gradient at its end. Along a direction the objective is known from those logits, so trying
another step length costs no product. A problem that is done leaves the walk. The metric decides how
fast it is done and has no say in whether it is.

Legend: N sentences, F features with the constant, P problems still walking, V vectors a problem.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

MEMORY = 8
"""Steps that are remembered."""
ARMIJO = 1e-4
"""Share of the predicted decrease that a step must reach (Nocedal & Wright 2006, section 3.1)."""
HALVINGS = 20
"""Step lengths tried before a problem counts as stuck."""
KEPT_SHARE = 0.8
"""Finished problems are dropped once no more than this share still walks."""
LEAST_CURVATURE = 1e-3
"""p(1 − p) of a sentence, on the mean, below which the constant's own curvature is taken not to
fall."""
_NOISE = {torch.float32: 1e-6, torch.float64: 1e-12}
"""Relative rise of an objective that is put down to rounding."""
Metric = Callable[[Tensor, Tensor], Tensor]
"""From gradients [P, V, F] and which penalty each problem has, [P], ascending, to the gradients
times a matrix that is the penalty's."""


# Convex losses of logits z [N, P, V]. No logit's second derivative is above ``curvature_bound``
# (Böhning 1992); ``rows`` [N, P] are the sentences that count.


class LogitLoss:
    """−log σ(z) for class 1 and −log σ(−z) for class 0; one logit a sentence."""

    num_vectors = 1
    curvature_bound = 0.25

    def __init__(self, labels: Tensor, dtype: torch.dtype) -> None:
        self._labels = labels.to(dtype)[:, None]

    def values(self, z: Tensor, rows: Tensor) -> Tensor:
        """Returns each problem's loss [P], float64."""
        z = z[:, :, 0]
        return _summed((F.softplus(z) - self._labels * z) * rows)

    def residuals(self, z: Tensor, rows: Tensor) -> Tensor:
        """Returns the derivative by each logit [N, P, V]."""
        return ((torch.sigmoid(z[:, :, 0]) - self._labels) * rows)[:, :, None]

    def curvatures(self, z: Tensor, along: Tensor, rows: Tensor) -> Tensor:
        """Returns the second derivatives [P] along a change of the logits, float64."""
        share = torch.sigmoid(z[:, :, 0])
        return _summed(share * (1.0 - share) * along[:, :, 0].square() * rows)


class SoftmaxLoss:
    """Cross-entropy −Σ_k y_k log softmax(z)_k; the y of a sentence need not add up to 1.

    Where each sentence has one class, many classes cost little.
    """

    curvature_bound = 0.5

    def __init__(self, targets: Tensor, num_classes: int, dtype: torch.dtype) -> None:
        """Takes classes [N], int64, or distributions over them [N, K]."""
        self.num_vectors = num_classes
        self._is_class = targets.ndim == 1
        self._targets = targets[:, None, None] if self._is_class else targets.to(dtype)[:, None, :]
        each_once = torch.ones((1, 1), dtype=dtype, device=targets.device)
        self._mass = each_once if self._is_class else self._targets.sum(dim=2)

    def values(self, z: Tensor, rows: Tensor) -> Tensor:
        """Returns each problem's loss [P], float64."""
        if self._is_class:
            own = z.gather(2, self._targets.expand(*z.shape[:2], 1))[:, :, 0]
            return _summed((torch.logsumexp(z, dim=2) - own) * rows)
        expected = (self._targets * z).sum(dim=2)
        return _summed((self._mass * torch.logsumexp(z, dim=2) - expected) * rows)

    def residuals(self, z: Tensor, rows: Tensor) -> Tensor:
        """Returns the derivative by each logit [N, P, V]."""
        error = torch.softmax(z, dim=2)
        if self._is_class:
            own = self._targets.expand(*z.shape[:2], 1)
            error.scatter_add_(2, own, error.new_full((1, 1, 1), -1.0).expand(own.shape))
        else:
            error.mul_(self._mass[:, :, None]).sub_(self._targets)
        return error.mul_(rows[:, :, None])

    def curvatures(self, z: Tensor, along: Tensor, rows: Tensor) -> Tensor:
        """Returns the second derivatives [P] along a change of the logits, float64."""
        share = torch.softmax(z, dim=2)
        mean = (share * along).sum(dim=2, keepdim=True)
        return _summed((share * (along - mean).square()).sum(dim=2) * self._mass * rows)


Loss = LogitLoss | SoftmaxLoss


def _summed(values: Tensor) -> Tensor:
    return values.sum(dim=0, dtype=torch.float64)


class Walkers(NamedTuple):
    """What each walking problem is and where it stands; every tensor has P somewhere."""

    number: Tensor
    """[P]; its number among all problems."""
    rows_np: Tensor
    """[N, P]; 1 where it trains on the sentence, else 0."""
    group: Tensor
    """[P], ascending; which of the metric's penalties it has."""
    penalty_pvf: Tensor
    """[P, 1, F]; 0 for the constant."""
    num_rows: Tensor
    """[P]; sentences it trains on, float64."""
    weights: Tensor
    """[P, V, F]."""
    logits: Tensor
    """[N, P, V]."""
    values: Tensor
    """[P], float64."""
    gradients: Tensor
    """[P, V, F]."""
    steered: Tensor
    """[P, V, F]; the gradients in the metric."""

    def kept(self, chosen: Tensor) -> Walkers:
        """Returns only the chosen problems [P], bool."""
        parts = {
            name: part[:, chosen] if name in ("rows_np", "logits") else part[chosen]
            for name, part in self._asdict().items()
        }
        return Walkers(**parts)


class _Step(NamedTuple):
    """One remembered step."""

    change: Tensor
    """[P, V, F]; of the weights."""
    bend: Tensor
    """[P, V, F]; of the gradients."""
    steered_bend: Tensor
    """[P, V, F]; of the gradients in the metric."""
    inverse_product: Tensor
    """[P]; 1 / (change · bend), or 0 where the problem stood still."""


class Arrival(NamedTuple):
    """Where the problems ended, in their given order."""

    weights: Tensor
    """[P, V, F]."""
    gaps: Tensor
    """[P]; by which share of itself each objective may lie above its minimum, float64."""
    answers: Tensor
    """[P, N]; most likely class of every sentence, also of those not trained on."""


class Walk:
    """A walk of all problems from weights of zero to their minima."""

    def __init__(self, features_nf: Tensor, loss: Loss, metric: Metric) -> None:
        self._features = features_nf
        self._loss = loss
        self._metric = metric
        self._memory: list[_Step] = []
        self._noise = _NOISE[features_nf.dtype]

    def __call__(
        self,
        rows_np: Tensor,
        penalties: Tensor,
        group: Tensor,
        tolerance: float,
        max_steps: int,
    ) -> Arrival:
        """Returns where the problems end.

        Args:
            rows_np: [N, P]; 1 where a problem trains on a sentence, else 0.
            penalties: [P].
            group: [P], ascending; which of the metric's penalties each is.
            tolerance: a problem is done when its gap is no larger.
        """
        walkers = self._start(rows_np, penalties, group)
        num_sentences, num_problems = rows_np.shape
        arrival = Arrival(
            walkers.weights.clone(),
            penalties.new_zeros(num_problems, dtype=torch.float64),
            torch.zeros((num_problems, num_sentences), dtype=torch.int64, device=rows_np.device),
        )
        stuck = torch.zeros(num_problems, dtype=torch.bool, device=rows_np.device)
        steps = 0
        while True:
            gaps = self._gaps(walkers)
            walking = (gaps > tolerance) & ~stuck
            if not bool(walking.any()) or steps == max_steps:
                _arrive(arrival, walkers, gaps)
                return arrival
            if float(walking.float().mean()) <= KEPT_SHARE:
                _arrive(arrival, walkers, gaps)
                self._memory = [_Step(*(part[walking] for part in step)) for step in self._memory]
                walkers, stuck = walkers.kept(walking), stuck[walking]
                walking = walking[walking]
            walkers, stalled = self._step(walkers, walking, first=steps == 0)
            stuck |= stalled
            steps += 1

    def _gaps(self, walkers: Walkers) -> Tensor:
        """Returns a bound of each objective's distance to its minimum, by the objective, [P].

        With penalty μ an objective is μ-strongly convex in its weights, so it lies at most
        ‖gradient‖² / 2μ above its minimum (Boyd & Vandenberghe 2004, section 9.1.2); that of the
        constant, which has no penalty, counts with the least curvature that is taken for possible.
        """
        squares_pf = walkers.gradients.square().sum(dim=1, dtype=torch.float64)
        penalty = walkers.penalty_pvf[:, 0, 0].to(torch.float64)
        constant = float(self._features[0, -1]) ** 2
        flattest = LEAST_CURVATURE * constant * walkers.num_rows
        weights, biases = squares_pf[:, :-1].sum(dim=1), squares_pf[:, -1]
        return 0.5 * (weights / penalty + biases / flattest) / walkers.values

    def _start(self, rows_np: Tensor, penalties: Tensor, group: Tensor) -> Walkers:
        num_vectors, width = self._loss.num_vectors, self._features.shape[1]
        weights = self._features.new_zeros((len(penalties), num_vectors, width))
        logits = self._features.new_zeros((*rows_np.shape, num_vectors))
        penalty = penalties.to(self._features)[:, None, None].repeat(1, 1, width)
        penalty[:, :, -1] = 0.0
        gradients = self._gradients(logits, rows_np, penalty * weights)
        return Walkers(
            number=torch.arange(len(penalties), device=rows_np.device),
            rows_np=rows_np,
            group=group,
            penalty_pvf=penalty,
            num_rows=rows_np.sum(dim=0, dtype=torch.float64),
            weights=weights,
            logits=logits,
            values=self._loss.values(logits, rows_np),
            gradients=gradients,
            steered=self._metric(gradients, group),
        )

    def _gradients(self, logits: Tensor, rows_np: Tensor, pull_pvf: Tensor) -> Tensor:
        """Returns the gradients [P, V, F], given those of the penalties."""
        residuals = self._loss.residuals(logits, rows_np).flatten(1)
        return (residuals.T @ self._features).view(pull_pvf.shape) + pull_pvf

    def _step(self, walkers: Walkers, walking: Tensor, *, first: bool) -> tuple[Walkers, Tensor]:
        """Returns the problems after a step, and which of them found none."""
        direction = self._direction(walkers) * walking[:, None, None]
        flat = direction.flatten(0, 1)
        along = (self._features @ flat.T).view(walkers.logits.shape)
        length = self._length(walkers, direction, along, first=first)
        stretched = length.to(direction)[:, None, None]
        weights = walkers.weights + stretched * direction
        logits = walkers.logits + stretched[:, 0] * along
        gradients = self._gradients(logits, walkers.rows_np, walkers.penalty_pvf * weights)
        moved = walkers._replace(
            weights=weights,
            logits=logits,
            values=self._loss.values(logits, walkers.rows_np)
            + 0.5 * _dot(walkers.penalty_pvf * weights, weights),
            gradients=gradients,
            steered=self._metric(gradients, walkers.group),
        )
        change, bend = weights - walkers.weights, gradients - walkers.gradients
        product = _dot(change, bend)
        inverse = torch.where(product > 0, 1.0 / product.clamp_min(1e-300), 0.0)
        step = _Step(change, bend, moved.steered - walkers.steered, inverse)
        self._memory = [*self._memory[1 - MEMORY :], step]
        return moved, walking & (length == 0.0)

    def _direction(self, walkers: Walkers) -> Tensor:
        """Returns the descent directions [P, V, F] by L-BFGS's two loops.

        The metric is linear, so it is applied to no vector here: what it makes of the gradient
        and of every bend is known.
        """
        gradient, direction = walkers.gradients, walkers.steered
        shares: list[Tensor] = []
        for step in reversed(self._memory):
            share = step.inverse_product * _dot(step.change, gradient)
            shares.append(share)
            gradient = gradient - _spread(share, gradient) * step.bend
            direction = direction - _spread(share, gradient) * step.steered_bend
        if self._memory:
            last = self._memory[-1]
            product = last.inverse_product * _dot(last.bend, last.steered_bend)
            scale = torch.where(product > 0, 1.0 / product.clamp_min(1e-300), 1.0)
            direction = direction * _spread(scale, direction)
        for step, share in zip(self._memory, reversed(shares), strict=True):
            back = step.inverse_product * _dot(step.bend, direction)
            direction = direction + _spread(share - back, direction) * step.change
        return -direction

    def _length(self, walkers: Walkers, direction: Tensor, along: Tensor, *, first: bool) -> Tensor:
        """Returns step lengths [P], float64, that lower the objectives enough; 0 for none.

        The first step's is Newton's along its direction; later ones start from 1.
        """
        slope = _dot(walkers.gradients, direction)
        drag = _dot(walkers.penalty_pvf * walkers.weights, direction)
        stiffness = _dot(walkers.penalty_pvf * direction, direction)
        bias = 0.5 * _dot(walkers.penalty_pvf * walkers.weights, walkers.weights)
        length = torch.ones_like(slope)
        if first:
            bend = self._loss.curvatures(walkers.logits, along, walkers.rows_np) + stiffness
            length = torch.where(bend > 0, -slope / bend.clamp_min(1e-300), 1.0)
        slack = self._noise * walkers.values.abs()
        for _ in range(HALVINGS):
            logits = walkers.logits + length.to(along)[:, None] * along
            values = self._loss.values(logits, walkers.rows_np)
            values = values + bias + length * (drag + 0.5 * length * stiffness)
            # The last decimals of a value are noise once an objective is nearly at its minimum.
            fails = ~(values <= walkers.values + ARMIJO * length * slope + slack)
            if not bool(fails.any()):
                return length
            length = torch.where(fails, 0.5 * length, length)
        return torch.where(fails, 0.0, length)


def _arrive(arrival: Arrival, walkers: Walkers, gaps: Tensor) -> None:
    """Notes where all these problems stand."""
    arrival.weights[walkers.number] = walkers.weights
    arrival.gaps[walkers.number] = gaps
    logits = walkers.logits
    answers = logits.argmax(dim=2) if logits.shape[2] > 1 else (logits[:, :, 0] > 0).long()
    arrival.answers[walkers.number] = answers.T


def _dot(a_pvf: Tensor, b_pvf: Tensor) -> Tensor:
    """Returns the inner products [P], float64."""
    return (a_pvf * b_pvf).sum(dim=(1, 2), dtype=torch.float64)


def _spread(values: Tensor, like_pvf: Tensor) -> Tensor:
    return values.to(like_pvf)[:, None, None]
