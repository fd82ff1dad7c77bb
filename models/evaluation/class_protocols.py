"""The three protocols that learn classes: nested folds, folds of train, a given split.

Each follows SentEval's ``tools/validation.py``: which items train, which choose the regulariser,
which are tested. Each is one search for a regulariser or several: nested folds are one for each
outer fold, the others are one. All searches over the same items are solved together.

Legend: N items of all splits, one after the other; D features, F fits, R regularisers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from treeviews.models.evaluation.adam_classifiers import AdamConfig, fit_adam
from treeviews.models.evaluation.evaluation_settings import (
    COMPATIBILITY_GRID,
    GRIDS,
    ProtocolConfig,
)
from treeviews.models.evaluation.logistic_regression import fit_logistic_regression
from treeviews.models.evaluation.resampling import FloatArray, IntArray
from treeviews.models.evaluation.scores import Outcome, Predictions
from treeviews.models.evaluation.task_registry import Protocol

BoolArray = npt.NDArray[np.bool_]
SPLITS_OF: Mapping[Protocol, tuple[str, ...]] = {
    "nested_folds": ("all",),
    "folds": ("train", "test"),
    "split": ("train", "dev", "test"),
}
"""The splits that a protocol reads."""


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

    @property
    def fits(self) -> list[BoolArray]:
        """The training items [N] of each classifier, the final one first; each once."""
        inner = [self.train & ~dev for dev in self.dev if (self.train & dev).any()]
        return [self.train, *inner]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The regulariser of a search, and what came of it."""

    regulariser: float
    at_grid_edge: bool
    dev_accuracy: float
    """Best mean accuracy over the dev sets, in percent; two decimals, as SentEval rounds it."""
    answers: IntArray
    """[N]; class of every item by the final classifier."""
    num_fits: int
    """Fits with all regularisers, of the final classifier too: they are solved together."""
    not_converged: int = 0
    """Of these; also ones that answer nothing in the end."""
    largest_gap: float | None = None
    """See ``LogisticModels.gaps``; the largest of all fits, where it is known."""


def learn_classes(
    protocol: Protocol,
    features: Mapping[str, Tensor],
    labels: Mapping[str, IntArray],
    num_classes: int,
    config: ProtocolConfig,
) -> Outcome:
    """Returns the answers to the test items, or of nested folds to all.

    ``nested_folds`` (MR, CR, SUBJ, MPQA: InnerKFoldClassifier): every outer fold is tested by a
    classifier whose regulariser the inner folds of the others choose. Differs from SentEval, whose
    nested folds have seed 1111 whatever the seed of the run: here it can be changed. ``folds``
    (TREC, MRPC: KFoldClassifier): folds of train choose. ``split`` (SST2, SST5, SICK-E and probing:
    SplitClassifier): dev chooses.

    Args:
        features: [n, D] of each split, see `SPLITS_OF`, in the task's order.
        labels: [n] each.

    Raises:
        ValueError: too few items for the folds, or a fit would train on items of one class only.
    """
    splits = SPLITS_OF[protocol]
    joined = features["all"] if len(splits) == 1 else torch.cat([features[s] for s in splits])
    answers = np.concatenate([labels[name] for name in splits])
    of_split = np.repeat(splits, [len(labels[name]) for name in splits])
    members = {name: of_split == name for name in splits}
    is_nested, groups = protocol == "nested_folds", np.zeros(len(answers), dtype=np.int64)
    if is_nested:
        groups = stratified_folds(answers, config.num_folds, seed=config.seed)
        parts = [groups != fold for fold in range(config.num_folds)]
        searches = [Search(part, _folds_of(part, answers, config)) for part in parts]
    elif protocol == "folds":
        searches = [Search(members["train"], _folds_of(members["train"], answers, config))]
    else:
        searches = [Search(members["train"], (members["dev"],), final_dev=members["dev"])]
    choices = run_searches(
        joined, answers, searches, GRIDS[protocol], num_classes=num_classes, config=config
    )
    predicted = np.stack([choice.answers for choice in choices])[groups, np.arange(len(answers))]
    tested = members[splits[-1]]
    gaps = [choice.largest_gap for choice in choices if choice.largest_gap is not None]
    return Outcome(
        Predictions(
            predicted[tested].astype(np.float64),
            answers[tested].astype(np.float64),
            groups[tested],
            tuple(f"fold {n}" for n in range(config.num_folds)) if is_nested else ("test",),
        ),
        counts={name: int(items.sum()) for name, items in members.items()},
        width=joined.shape[1],
        dev_score=float(np.mean([choice.dev_accuracy for choice in choices])),
        dev_scores=tuple(choice.dev_accuracy for choice in choices),
        regularisers=tuple(choice.regulariser for choice in choices),
        at_grid_edge=sum(choice.at_grid_edge for choice in choices),
        num_fits=sum(choice.num_fits for choice in choices),
        not_converged=sum(choice.not_converged for choice in choices),
        details={"largest_gap": max(gaps)} if gaps else {},
    )


def stratified_folds(labels: IntArray, num_folds: int, *, seed: int) -> IntArray:
    """Returns the fold [n] in which each item is held out.

    The folds are those of ``StratifiedKFold(num_folds, shuffle=True, random_state=seed)`` in
    scikit-learn 0.22 and later: dealt out to the items in the order of their classes, the classes
    in the order in which they first appear, every class has its share in each fold, and which of
    its items go where is then shuffled within the class.

    Raises:
        ValueError: fewer than two folds, or no class has as many items as there are folds.
    """
    _, first_place, of_item = np.unique(labels, return_index=True, return_inverse=True)
    sizes = np.bincount(of_item)
    if num_folds < 2 or sizes.max(initial=0) < num_folds:
        raise ValueError(
            f"{num_folds} folds need at least 2 and a class of as many items; the largest class "
            f"has {sizes.max(initial=0)}"
        )
    random = np.random.RandomState(seed)
    folds = np.empty(len(labels), dtype=np.int64)
    dealt = 0
    for class_number in np.argsort(first_place):
        size = int(sizes[class_number])
        of_class = np.sort((dealt + np.arange(size)) % num_folds)
        random.shuffle(of_class)
        folds[of_item == class_number] = of_class
        dealt += size
    return folds


def _folds_of(chosen: BoolArray, labels: IntArray, config: ProtocolConfig) -> tuple[BoolArray, ...]:
    """Returns, for each fold of the chosen items, which of all items [N] it holds out."""
    places = np.flatnonzero(chosen)
    folds = stratified_folds(labels[places], config.num_folds, seed=config.seed)
    held_out = np.zeros((config.num_folds, len(labels)), dtype=np.bool_)
    held_out[folds, places] = True
    return tuple(held_out)


def run_searches(
    features: Tensor,
    labels: IntArray,
    searches: Sequence[Search],
    grid: tuple[float, ...],
    *,
    num_classes: int,
    config: ProtocolConfig,
) -> list[Choice]:
    """Returns what each search chooses; of equally good regularisers the first of the grid.

    Args:
        features: [N, D], of all items, where they are to be computed.
        labels: [N].
        grid: C of the logistic regression, ascending, times ``config.grid_scale``, unless the
            configuration has penalties; SentEval's own classifier has a grid of its own.

    Raises:
        ValueError: a fit would train on items of one class only.
    """
    fits = [fit for search in searches for fit in search.fits]
    for fit in fits:
        if len(present := np.unique(labels[fit])) < 2:
            raise ValueError(
                f"{int(fit.sum())} training items are all of class {present.tolist()}; a "
                "classifier needs two: give more items, or fewer folds"
            )
    if config.classifier == "compatibility":
        return [_by_adam(features, labels, search, num_classes, config) for search in searches]
    if config.penalties:
        grid = tuple(sorted(config.penalties, reverse=True))
        sizes = torch.tensor([int(fit.sum()) for fit in fits], dtype=torch.float64)
        penalties_fr = sizes[:, None] * torch.tensor(grid, dtype=torch.float64)
    else:
        grid = tuple(c * config.grid_scale for c in grid)
        of_grid = torch.tensor([1.0 / c for c in grid], dtype=torch.float64)
        penalties_fr = of_grid.expand(len(fits), -1)
    solve = _solve_each_standardised if config.standardise else _solve_together
    how = {"num_classes": num_classes, "tolerance": config.tolerance, "max_steps": config.max_steps}
    solved = solve(features, torch.from_numpy(labels), fits, penalties_fr, how)
    # Answers [F, R, N], whether the fits converged [F, R], and their gaps [F, R].
    answers, converged, gaps = (part.cpu().numpy() for part in solved)
    choices: list[Choice] = []
    first = 0
    for search in searches:
        own = slice(first, first + len(search.fits))
        inner = answers[own][1:] if len(search.fits) > 1 else answers[own]
        judged = [(a[:, d] == labels[d]).mean(1) for a, d in zip(inner, search.dev, strict=True)]
        best, dev_accuracy = _best(judged)
        choices.append(
            Choice(
                regulariser=grid[best],
                at_grid_edge=best in (0, len(grid) - 1),
                dev_accuracy=dev_accuracy,
                answers=answers[first, best],
                num_fits=len(search.fits) * len(grid),
                not_converged=int((~converged[own]).sum()),
                largest_gap=float(gaps[own].max()),
            )
        )
        first = own.stop
    return choices


def _solve_together(
    features: Tensor,
    labels: Tensor,
    fits: Sequence[BoolArray],
    penalties_fr: Tensor,
    how: Mapping[str, Any],
) -> tuple[Tensor, Tensor, Tensor]:
    """Solves all fits of all searches as one system."""
    shape = penalties_fr.shape
    rows = torch.from_numpy(np.stack(fits)).repeat_interleave(shape[1], dim=0)
    models = fit_logistic_regression(features, labels, penalties_fr.flatten(), rows=rows, **how)
    return models.answers.view(*shape, -1), models.converged.view(shape), models.gaps.view(shape)


def _solve_each_standardised(
    features: Tensor,
    labels: Tensor,
    fits: Sequence[BoolArray],
    penalties_fr: Tensor,
    how: Mapping[str, Any],
) -> tuple[Tensor, Tensor, Tensor]:
    """Solves fit by fit, in float64, as each has features of its own: standardised on its items."""
    solved = []
    for items, penalties in zip(fits, penalties_fr, strict=True):
        chosen = torch.from_numpy(np.flatnonzero(items))
        train = features[chosen.to(features.device)].double()
        mean, scale = mean_and_scale(train)
        models = fit_logistic_regression((train - mean) / scale, labels[chosen], penalties, **how)
        answers = models.predict((features.double() - mean) / scale)
        solved.append((answers, models.converged, models.gaps))
    answers, converged, gaps = (torch.stack(parts) for parts in zip(*solved, strict=True))
    return answers, converged, gaps


def mean_and_scale(features: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the mean [D] of features [N, D], and their deviation: 1 of one that does not vary."""
    mean = features.mean(dim=0)
    deviation = (features - mean).square().mean(dim=0).sqrt()
    negligible = deviation <= 1e-7 * (mean.abs() + 1e-30)
    return mean, torch.where(negligible, torch.ones_like(deviation), deviation)


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
        fit_adam(part(search.train & ~dev), part(dev), grid, num_classes, adam)
        for dev in search.dev
    ]
    best, dev_accuracy = _best([models.dev_scores.cpu().numpy() for models in judged])
    final_dev = None if search.final_dev is None else part(search.final_dev)
    final = fit_adam(part(search.train), final_dev, grid[best : best + 1], num_classes, adam)
    return Choice(
        regulariser=COMPATIBILITY_GRID[best],
        at_grid_edge=best in (0, len(COMPATIBILITY_GRID) - 1),
        dev_accuracy=dev_accuracy,
        answers=final.predict(features)[0].cpu().numpy(),
        num_fits=len(COMPATIBILITY_GRID) * len(judged) + 1,
    )


def _best(accuracies: Sequence[FloatArray]) -> tuple[int, float]:
    """Returns the place of the best regulariser and its mean accuracy in percent.

    Args:
        accuracies: [R] of each dev set.
    """
    means = np.round(100.0 * np.mean(accuracies, axis=0), 2)
    best = int(np.argmax(means))
    return best, float(means[best])
