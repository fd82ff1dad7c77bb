"""Protocols that learn classes: against plain loops over scikit-learn, and as SentEval has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from treeviews.models.evaluation.adam_classifiers import AdamConfig, fit_adam
from treeviews.models.evaluation.class_protocols import learn_classes, stratified_folds
from treeviews.models.evaluation.evaluation_settings import (
    COMPATIBILITY_GRID,
    GRIDS,
    Classifier,
    ProtocolConfig,
)
from treeviews.models.evaluation.scores import Outcome

linear_model = pytest.importorskip(
    "sklearn.linear_model", reason="compared with scikit-learn: the extra bench"
)
model_selection = pytest.importorskip("sklearn.model_selection")
preprocessing = pytest.importorskip("sklearn.preprocessing")

pytestmark = pytest.mark.usefixtures("one_thread")

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Items = tuple[FloatArray, IntArray]

FEW_FOLDS = ProtocolConfig(num_folds=4, tolerance=1e-11)
"""So tight that no answer on the boundary between classes differs from scikit-learn's."""
COMPATIBILITY = ProtocolConfig(classifier="compatibility", num_folds=3)


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Features [n, D] and labels [n] by split."""

    features: Mapping[str, FloatArray]
    labels: Mapping[str, IntArray]
    num_classes: int

    def tensors(self) -> dict[str, Tensor]:
        return {name: torch.from_numpy(x) for name, x in self.features.items()}

    def items(self, name: str) -> Items:
        return self.features[name], self.labels[name]


def noisy(num_classes: int = 2, *, seed: int = 0, **sizes: int) -> Problem:
    """Returns items that a linear classifier gets right in part, so that C matters."""
    random = np.random.default_rng(seed)
    directions = random.normal(size=(num_classes, 10))
    features = {name: random.normal(size=(size, 10)) for name, size in sizes.items()}
    scores = {name: x @ directions.T for name, x in features.items()}
    labels = {
        name: (s + 3.0 * random.normal(size=s.shape)).argmax(axis=1) for name, s in scores.items()
    }
    return Problem(features, labels, num_classes)


def answer(problem: Problem, config: ProtocolConfig) -> Outcome:
    """Returns the outcome of the protocol of these splits."""
    names = {"all": "nested_folds", "test": "folds", "dev": "split"}
    (protocol,) = [names[name] for name in ("dev", "test", "all") if name in problem.labels][:1]
    return learn_classes(
        protocol,  # type: ignore[arg-type]
        problem.tensors(),
        problem.labels,
        num_classes=problem.num_classes,
        config=config,
    )


Fit = Callable[[Items, Items | None, FloatArray, float], IntArray]
"""From training items, a dev set, items and a regulariser to answers to the items."""


def plain(train: Items, dev: Items | None, items: FloatArray, c: float) -> IntArray:
    model = linear_model.LogisticRegression(C=c, tol=1e-10, max_iter=100_000).fit(*train)
    answers: IntArray = model.predict(items)
    return answers


def standardised(train: Items, dev: Items | None, items: FloatArray, penalty: float) -> IntArray:
    """Fits on features of mean 0 and deviation 1 on its training items, with a penalty an item."""
    scaler = preprocessing.StandardScaler().fit(train[0])
    scaled = scaler.transform(train[0]), train[1]
    return plain(scaled, dev, scaler.transform(items), 1.0 / (len(train[1]) * penalty))


def by_adam(train: Items, dev: Items | None, items: FloatArray, weight_decay: float) -> IntArray:
    """One fit alone: with a dev set that tells when to stop, or with a twentieth kept back."""
    x, y = map(torch.from_numpy, train)
    judge = None if dev is None else (torch.from_numpy(dev[0]), torch.from_numpy(dev[1]))
    models = fit_adam((x, y), judge, torch.tensor([weight_decay]), 2, AdamConfig())
    answers: IntArray = models.predict(torch.from_numpy(items))[0].numpy()
    return answers


def in_folds(items: Items, num_folds: int) -> list[tuple[Items, Items, IntArray]]:
    """Returns the items of each fold that train, those held out, and where they are."""
    x, y = items
    splitter = model_selection.StratifiedKFold(num_folds, shuffle=True, random_state=1111)
    parts = splitter.split(y, y)
    return [((x[rest], y[rest]), (x[held], y[held]), held) for rest, held in parts]


def by_plain_loop(
    problem: Problem, num_folds: int, grid: Sequence[float], fit: Fit
) -> tuple[IntArray, list[float], float]:
    """The obviously right search: answers, the first best regularisers, rounded dev accuracy."""
    if "all" in problem.labels:
        answers, chosen, accuracies = np.empty_like(problem.labels["all"]), [], []
        for train, test, held in in_folds(problem.items("all"), num_folds):
            part = Problem({"train": train[0], "test": test[0]}, {"train": train[1]}, 2)
            answers[held], (best,), accuracy = by_plain_loop(part, num_folds, grid, fit)
            chosen.append(best)
            accuracies.append(accuracy)
        return answers, chosen, float(np.mean(accuracies))
    train = problem.items("train")
    dev = problem.items("dev") if "dev" in problem.labels else None
    pairs = [part[:2] for part in in_folds(train, num_folds)] if dev is None else [(train, dev)]
    scores = []
    for c in grid:
        accuracies = [
            float((fit(part, held, held[0], c) == held[1]).mean()) for part, held in pairs
        ]
        scores.append(round(100 * float(np.mean(accuracies)), 2))
    best = grid[int(np.argmax(scores))]
    return fit(train, dev, problem.features["test"], best), [best], max(scores)


PENALTIES = (1.0, 1e-1, 1e-2, 1e-3)  # the strongest first
STANDARDISED = FEW_FOLDS.changed(standardise=True, penalties=PENALTIES)
COMPATIBLE = (by_adam, COMPATIBILITY, COMPATIBILITY_GRID)


@pytest.mark.parametrize(
    ("fit", "config", "grid", "num_classes", "sizes"),
    [
        *((plain, FEW_FOLDS, GRIDS["nested_folds"], k, {"all": 130}) for k in (2, 3)),
        *((plain, FEW_FOLDS, GRIDS["folds"], k, {"train": 120, "test": 60}) for k in (2, 3)),
        *(
            (plain, FEW_FOLDS, GRIDS["split"], k, {"train": 90, "dev": 70, "test": 60})
            for k in (2, 3)
        ),
        (standardised, STANDARDISED, PENALTIES, 3, {"train": 120, "test": 60}),
        (standardised, STANDARDISED, PENALTIES, 3, {"train": 90, "dev": 70, "test": 60}),
        (*COMPATIBLE, 2, {"all": 100}),
        (*COMPATIBLE, 2, {"train": 100, "dev": 60, "test": 50}),
    ],
)
def test_a_protocol_answers_as_a_plain_loop(
    fit: Fit,
    config: ProtocolConfig,
    grid: tuple[float, ...],
    num_classes: int,
    sizes: dict[str, int],
) -> None:
    problem = noisy(num_classes, seed=5, **sizes)
    if fit is standardised:
        moved = {name: x * 10.0 ** np.arange(-5, 5) + 3.0 for name, x in problem.features.items()}
        problem = replace(problem, features=moved)
    answers, chosen, dev_score = by_plain_loop(problem, config.num_folds, grid, fit)
    outcome = answer(problem, config)
    np.testing.assert_array_equal(outcome.predictions.predicted, answers)
    assert outcome.regularisers == tuple(chosen)
    assert outcome.dev_score == pytest.approx(dev_score, abs=1e-9)


SPLITS = ({"train": 160, "test": 240}, {"train": 160, "dev": 80, "test": 240})


@pytest.mark.parametrize("sizes", SPLITS)
@pytest.mark.parametrize("classifier", ["logistic_regression", "compatibility"])
def test_labels_of_test_change_no_answer(classifier: Classifier, sizes: dict[str, int]) -> None:
    problem = noisy(**sizes)
    other = replace(problem, labels={**problem.labels, "test": 1 - problem.labels["test"]})
    config = ProtocolConfig(classifier=classifier, num_folds=3)
    before, after = answer(problem, config), answer(other, config)
    np.testing.assert_array_equal(before.predictions.predicted, after.predictions.predicted)
    np.testing.assert_array_equal(before.predictions.gold, 1 - after.predictions.gold)
    assert (before.regularisers, before.dev_score) == (after.regularisers, after.dev_score)


def test_training_items_of_one_class_are_refused() -> None:
    problem = noisy(train=12, dev=12, test=12)
    one_class = replace(problem, labels=problem.labels | {"train": np.zeros(12, dtype=np.int64)})
    with pytest.raises(ValueError, match=r"12 training items are all of class \[0\]"):
        answer(one_class, FEW_FOLDS)


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("seed", range(40))
def test_folds_are_those_of_scikit_learn(seed: int) -> None:
    random = np.random.default_rng(seed)
    num_folds = int(random.integers(2, 12))
    rare = random.integers(0, 7, random.integers(0, 60))
    labels = random.permutation(np.concatenate([np.full(num_folds + seed, seed % 9), rare]))
    splitter = model_selection.StratifiedKFold(num_folds, shuffle=True, random_state=seed)
    expected = np.full(len(labels), -1)
    for fold, (_, held_out) in enumerate(splitter.split(labels, labels)):
        expected[held_out] = fold
    np.testing.assert_array_equal(stratified_folds(labels, num_folds, seed=seed), expected)


def test_folds_need_classes_of_as_many_items() -> None:
    for too_few, num_folds in (([0, 0, 1, 1, 2], 3), ([0] * 9, 1), ([], 2)):
        with pytest.raises(ValueError, match=f"^{num_folds} folds need at least 2 and a class of"):
            stratified_folds(np.array(too_few, dtype=np.int64), num_folds, seed=0)
