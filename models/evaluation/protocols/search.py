"""The choice of a regulariser, and what the classifier with the chosen one answers.

Every protocol that learns classes is one search or several: nested folds are one for each outer
fold, the others are one. All searches over the same items are solved together.

Legend: N items, D features, F fits, R regularisers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from models.evaluation.classifiers.adam import AdamConfig
from models.evaluation.classifiers.inputs import Standardiser
from models.evaluation.classifiers.logistic_regression import (
    LogisticModels,
    fit_logistic_regression,
)
from models.evaluation.classifiers.senteval_models import fit_adam
from models.evaluation.protocols.config import COMPATIBILITY_GRID, ProtocolConfig

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Which items decide on a regulariser, and which the final classifier trains on."""

    train: BoolArray
    """[N]; items of the final classifier."""
    dev: tuple[BoolArray, ...]
    """[N] each; items on which regularisers are judged, by classifiers that train on the others
    of ``train``."""
    final_dev: BoolArray | None = None
    """[N]; where the final compatibility classifier looks when to stop; by default it keeps back
    a share of its training items, as SentEval does."""


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What a search found."""

    regulariser: float
    at_grid_edge: bool
    dev_accuracy: float
    """Best mean accuracy over the dev sets, in percent; two decimals, as SentEval rounds it."""
    answers: IntArray
    """[N]; class of every item by the final classifier."""
    num_fits: int
    """Fits with all regularisers, of the final classifier too: they are solved together."""
    not_converged: int
    """Of these; also ones that answer nothing in the end."""
    largest_gap: float | None = None
    """See ``LogisticModels.gaps``; the largest of all fits, where it is known."""


def run_searches(
    features: Tensor,
    labels: IntArray,
    searches: Sequence[Search],
    grid: tuple[float, ...],
    *,
    num_classes: int,
    config: ProtocolConfig,
) -> list[Choice]:
    """Returns what each search finds; of equally good regularisers the first of the grid.

    Args:
        features: [N, D], of all items, where they are to be computed.
        labels: [N].
        grid: C of the logistic regression, ascending, times ``config.grid_scale``, unless the
            configuration has penalties; SentEval's own classifier has a grid of its own.

    Raises:
        ValueError: a fit would train on items of one class only.
    """
    for search in searches:
        for fit in (search.train, *_inner_fits(search)):
            if len(present := np.unique(labels[fit])) < 2:
                raise ValueError(
                    f"{int(fit.sum())} training items are all of class {present.tolist()}; a "
                    "classifier needs two: give more items, or fewer folds"
                )
    if config.classifier == "compatibility":
        return [_by_adam(features, labels, search, num_classes, config) for search in searches]
    items = _Items(features, labels, num_classes, config)
    return _by_logistic_regression(items, searches, grid)


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    features: Tensor
    labels: IntArray
    num_classes: int
    config: ProtocolConfig

    def fit(
        self, features: Tensor, chosen: BoolArray | slice, penalties: Tensor, rows: Tensor | None
    ) -> LogisticModels:
        """Returns the models of the chosen items' labels, given their features."""
        return fit_logistic_regression(
            features,
            torch.from_numpy(self.labels[chosen]),
            penalties,
            num_classes=self.num_classes,
            rows=rows,
            tolerance=self.config.tolerance,
            max_steps=self.config.max_steps,
        )


def _by_logistic_regression(
    items: _Items, searches: Sequence[Search], grid: tuple[float, ...]
) -> list[Choice]:
    """Chooses among the regularisers from the strongest on, each C of the grid or each λ."""
    fits = [fit for search in searches for fit in (search.train, *_inner_fits(search))]
    grid, penalties_fr = _penalties(fits, grid, items.config)
    solve = _each_standardised if items.config.standardise else _together
    answers, converged, gaps = solve(items, fits, penalties_fr)
    failed = ~converged
    choices: list[Choice] = []
    first = 0
    for search in searches:
        last = first + 1 + len(_inner_fits(search))
        inner = answers[first + 1 : last] if last > first + 1 else answers[first:last]
        best, dev_accuracy = _best(
            [
                (found[:, dev] == items.labels[dev]).mean(axis=1)
                for found, dev in zip(inner, search.dev, strict=True)
            ]
        )
        choices.append(
            Choice(
                regulariser=grid[best],
                at_grid_edge=best in (0, len(grid) - 1),
                dev_accuracy=dev_accuracy,
                answers=answers[first, best],
                num_fits=(last - first) * len(grid),
                not_converged=int(failed[first:last].sum()),
                largest_gap=float(gaps[first:last].max()),
            )
        )
        first = last
    return choices


def _penalties(
    fits: Sequence[BoolArray], grid: tuple[float, ...], config: ProtocolConfig
) -> tuple[tuple[float, ...], Tensor]:
    """Returns the regularisers, the strongest first, and their penalties [F, R], float64."""
    if config.penalties:
        grid = tuple(sorted(config.penalties, reverse=True))
        sizes = torch.tensor([int(fit.sum()) for fit in fits], dtype=torch.float64)
        return grid, sizes[:, None] * torch.tensor(grid, dtype=torch.float64)
    grid = tuple(c * config.grid_scale for c in grid)
    of_grid = torch.tensor([1.0 / c for c in grid], dtype=torch.float64)
    return grid, of_grid.expand(len(fits), -1)


_Solved = tuple[IntArray, BoolArray, FloatArray]
"""Answers [F, R, N], whether the fits converged [F, R] and their gaps [F, R]."""


def _together(items: _Items, fits: Sequence[BoolArray], penalties_fr: Tensor) -> _Solved:
    """Solves all fits of all searches as one system."""
    num_fits, num_penalties = penalties_fr.shape
    rows = torch.from_numpy(np.stack(fits)).repeat_interleave(num_penalties, dim=0)
    models = items.fit(items.features, slice(None), penalties_fr.flatten(), rows)
    return (
        models.answers.cpu().numpy().reshape(num_fits, num_penalties, -1),
        models.converged.cpu().numpy().reshape(num_fits, num_penalties),
        models.gaps.cpu().numpy().reshape(num_fits, num_penalties),
    )


def _each_standardised(items: _Items, fits: Sequence[BoolArray], penalties_fr: Tensor) -> _Solved:
    """Solves fit by fit, in float64, as each has features of its own: standardised on its items."""
    solved: list[_Solved] = []
    for fit, penalties in zip(fits, penalties_fr, strict=True):
        chosen = torch.from_numpy(np.flatnonzero(fit)).to(items.features.device)
        train = items.features[chosen].double()
        standardise = Standardiser.fit(train)
        models = items.fit(standardise(train), fit, penalties, None)
        predicted = models.predict(standardise(items.features.double()))
        found = (predicted.cpu().numpy(), models.converged.cpu().numpy(), models.gaps.cpu().numpy())
        solved.append(found)
    answers, converged, gaps = (np.stack(parts) for parts in zip(*solved, strict=True))
    return answers, converged, gaps


def _inner_fits(search: Search) -> list[BoolArray]:
    """Returns the training items [N] of each classifier that is not the final one."""
    fits = [search.train & ~dev for dev in search.dev]
    return [] if all(np.array_equal(fit, search.train) for fit in fits) else fits


def _by_adam(
    features: Tensor, labels: IntArray, search: Search, num_classes: int, config: ProtocolConfig
) -> Choice:
    """Searches as SentEval does, with its own classifier.

    A dev set of an inner fold is also what its classifier stops early by: SentEval's choice.
    """
    adam = AdamConfig(seed=config.seed, batch_loss=config.compatibility_loss)
    targets = torch.from_numpy(labels).to(features.device)
    grid = torch.tensor(COMPATIBILITY_GRID, dtype=torch.float64)

    def part(items: BoolArray) -> tuple[Tensor, Tensor]:
        chosen = torch.from_numpy(np.flatnonzero(items)).to(features.device)
        return features[chosen], targets[chosen]

    judged = [
        fit_adam(*part(search.train & ~dev), *part(dev), grid, num_classes, adam)
        for dev in search.dev
    ]
    best, dev_accuracy = _best([models.dev_scores.cpu().numpy() for models in judged])
    dev_x, dev_y = (None, None) if search.final_dev is None else part(search.final_dev)
    chosen = grid[best : best + 1]
    final = fit_adam(*part(search.train), dev_x, dev_y, chosen, num_classes, adam)
    return Choice(
        regulariser=COMPATIBILITY_GRID[best],
        at_grid_edge=best in (0, len(COMPATIBILITY_GRID) - 1),
        dev_accuracy=dev_accuracy,
        answers=final.predict(features)[0].cpu().numpy(),
        num_fits=len(COMPATIBILITY_GRID) * len(judged) + 1,
        not_converged=0,
    )


def _best(accuracies: Sequence[FloatArray]) -> tuple[int, float]:
    """Returns the place of the best regulariser and its mean accuracy in percent.

    Args:
        accuracies: [R] of each dev set.
    """
    means = np.round(100.0 * np.mean(accuracies, axis=0), 2)
    best = int(np.argmax(means))
    return best, float(means[best])
