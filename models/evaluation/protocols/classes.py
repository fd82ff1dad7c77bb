"""The three protocols that learn classes: nested folds, folds of train, a given split.

Each follows SentEval's ``tools/validation.py``: which items train, which choose the regulariser,
which are tested.

Legend: N items of all splits, one after the other; D features.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from models.evaluation.classifiers.inputs import check_items
from models.evaluation.protocols.config import (
    FOLDS_GRID,
    NESTED_GRID,
    SPLIT_GRID,
    ProtocolConfig,
)
from models.evaluation.protocols.outcome import Outcome, Predictions
from models.evaluation.protocols.search import BoolArray, Choice, Search, run_searches

IntArray = npt.NDArray[np.int64]


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


def nested_folds(
    features: Tensor, labels: IntArray, *, num_classes: int, config: ProtocolConfig
) -> Outcome:
    """Returns the answers to all items, each by a classifier that did not train on it.

    Every outer fold is tested by a classifier whose regulariser the inner folds of the others
    choose (MR, CR, SUBJ, MPQA: InnerKFoldClassifier). Differs from SentEval, whose nested
    folds have seed 1111 whatever the seed of the run: here it can be changed.

    Args:
        features: [N, D], in the task's order.
        labels: [N].
    """
    check_items(features, torch.from_numpy(labels), "all")
    outer = stratified_folds(labels, config.num_folds, seed=config.seed)
    searches = [
        Search(train=outer != fold, dev=_folds_of(outer != fold, labels, config))
        for fold in range(config.num_folds)
    ]
    choices = run_searches(
        features, labels, searches, NESTED_GRID, num_classes=num_classes, config=config
    )
    answers = np.stack([choice.answers for choice in choices])[outer, np.arange(len(labels))]
    predictions = Predictions(
        predicted=answers.astype(np.float64),
        gold=labels.astype(np.float64),
        groups=outer,
        group_names=tuple(f"fold {fold}" for fold in range(config.num_folds)),
    )
    return _outcome(predictions, choices, {"all": len(labels)}, features.shape[1])


def folds_of_train(
    features: Mapping[str, Tensor],
    labels: Mapping[str, IntArray],
    *,
    num_classes: int,
    config: ProtocolConfig,
) -> Outcome:
    """Returns the answers to test, the regulariser being chosen by folds of train.

    TREC and MRPC: KFoldClassifier.

    Args:
        features: ``train`` and ``test``, [n, D] each, in the task's order.
        labels: [n] each.
    """
    joined, answers, members = _joined(features, labels, ("train", "test"))
    search = Search(members["train"], _folds_of(members["train"], answers, config))
    return _tested(joined, answers, members, search, FOLDS_GRID, num_classes, config)


def given_split(
    features: Mapping[str, Tensor],
    labels: Mapping[str, IntArray],
    *,
    num_classes: int,
    config: ProtocolConfig,
) -> Outcome:
    """Returns the answers to test, the regulariser being chosen on dev.

    SST2, SST5, SICK-E and probing: SplitClassifier.

    Args:
        features: ``train``, ``dev`` and ``test``, [n, D] each, in the task's order.
        labels: [n] each.
    """
    joined, answers, members = _joined(features, labels, ("train", "dev", "test"))
    search = Search(members["train"], (members["dev"],), final_dev=members["dev"])
    return _tested(joined, answers, members, search, SPLIT_GRID, num_classes, config)


def _folds_of(chosen: BoolArray, labels: IntArray, config: ProtocolConfig) -> tuple[BoolArray, ...]:
    """Returns, for each fold of the chosen items, which of all items [N] it holds out."""
    places = np.flatnonzero(chosen)
    folds = stratified_folds(labels[places], config.num_folds, seed=config.seed)
    held_out = np.zeros((config.num_folds, len(labels)), dtype=np.bool_)
    held_out[folds, places] = True
    return tuple(held_out)


def _joined(
    features: Mapping[str, Tensor], labels: Mapping[str, IntArray], splits: tuple[str, ...]
) -> tuple[Tensor, IntArray, dict[str, BoolArray]]:
    """Returns all splits' features [N, D] and labels [N], and which items [N] are whose."""
    for name in splits:
        check_items(features[name], torch.from_numpy(labels[name]), name)
    of_split = np.repeat(np.arange(len(splits)), [len(labels[name]) for name in splits])
    members = {name: of_split == place for place, name in enumerate(splits)}
    return (
        torch.cat([features[name] for name in splits]),
        np.concatenate([labels[name] for name in splits]),
        members,
    )


def _tested(
    features: Tensor,
    labels: IntArray,
    members: Mapping[str, BoolArray],
    search: Search,
    grid: tuple[float, ...],
    num_classes: int,
    config: ProtocolConfig,
) -> Outcome:
    (choice,) = run_searches(
        features, labels, [search], grid, num_classes=num_classes, config=config
    )
    test = members["test"]
    predictions = Predictions(
        predicted=choice.answers[test].astype(np.float64),
        gold=labels[test].astype(np.float64),
        groups=np.zeros(int(test.sum()), dtype=np.int64),
    )
    counts = {name: int(items.sum()) for name, items in members.items()}
    return _outcome(predictions, [choice], counts, features.shape[1])


def _outcome(
    predictions: Predictions, choices: list[Choice], counts: Mapping[str, int], width: int
) -> Outcome:
    gaps = [choice.largest_gap for choice in choices if choice.largest_gap is not None]
    return Outcome(
        predictions=predictions,
        counts=counts,
        width=width,
        dev_score=float(np.mean([choice.dev_accuracy for choice in choices])),
        dev_scores=tuple(choice.dev_accuracy for choice in choices),
        regularisers=tuple(choice.regulariser for choice in choices),
        at_grid_edge=sum(choice.at_grid_edge for choice in choices),
        num_fits=sum(choice.num_fits for choice in choices),
        not_converged=sum(choice.not_converged for choice in choices),
        details={"largest_gap": max(gaps)} if gaps else {},
    )
