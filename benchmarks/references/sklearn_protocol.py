"""SentEval's protocols by scikit-learn's ``LogisticRegression``, one fit after the other.

As ``tools/validation.py`` of SentEval does them without PyTorch: scikit-learn's own folds, its
classifier as it comes but for C and the seed, or left to walk until it is done. The fits of a
search are shared out over processes of one thread each, which is the fastest way here: one fit
reads the features some hundred times, and two threads on one fit are slower than one.

Legend: n items, D features.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.stopwatch import Spent, Stopwatch

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
Part = tuple[IntArray, IntArray]
"""Places of the items that train, and of those that are answered."""


@dataclass(frozen=True, slots=True)
class Solver:
    """How long scikit-learn's classifier walks towards its minimum."""

    name: str
    max_iterations: int
    tolerance: float


AS_IT_COMES = Solver("as it comes", 100, 1e-4)
"""scikit-learn's defaults, which SentEval takes; many fits end before they are done."""
CONVERGED = Solver("converged", 20_000, 1e-6)


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceOutcome:
    """What scikit-learn's protocol finds."""

    accuracy: float
    """Of test, in percent; the mean over outer folds where there are several."""
    dev_accuracies: tuple[float, ...]
    """Of the chosen regulariser, in percent, one an outer fold."""
    regularisers: tuple[float, ...]
    """The C chosen, one an outer fold."""
    predicted: IntArray
    """[n]; of every test item, in its order."""
    spent: Spent
    """The processor's time is of all fits, in whichever process."""
    num_fits: int
    num_unfinished: int
    """Fits that reached scikit-learn's limit of iterations."""


def libraries() -> tuple[Any, Any]:
    """Returns joblib and scikit-learn.

    Raises:
        ModuleNotFoundError: scikit-learn is not installed; says how to.
    """
    try:
        import joblib
        import sklearn.linear_model
        import sklearn.model_selection
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "scikit-learn is what this benchmark compares with: pip install -e '.[bench]'"
        ) from error
    return joblib, sklearn


class SklearnProtocol:
    """Searches and fits over one matrix of features."""

    def __init__(
        self,
        features: FloatArray,
        labels: IntArray,
        *,
        seed: int,
        num_processes: int,
        solver: Solver = AS_IT_COMES,
    ) -> None:
        """Takes features [n, D] and labels [n].

        Raises:
            ModuleNotFoundError: scikit-learn is not installed; see `libraries`.
        """
        joblib, sklearn = libraries()
        self._joblib: Any = joblib
        self._folds: Any = sklearn.model_selection.StratifiedKFold
        self._features, self._labels, self._seed = features, labels, seed
        self._num_processes, self._solver = num_processes, solver
        self._num_fits = self._num_unfinished = 0
        self._cpu_seconds = 0.0

    def nested_folds(self, grid: Sequence[float], num_folds: int) -> ReferenceOutcome:
        """Returns the outcome of outer folds, each searched by inner folds."""
        started = time.perf_counter()
        everything = np.arange(len(self._labels))
        predicted = np.empty_like(self._labels)
        accuracies, dev, chosen = [], [], []
        for train, test in self._parts(everything, num_folds):
            best, dev_accuracy = self._search(self._parts(train, num_folds), grid)
            (answers,) = self._fit_all([((train, test), grid[best])])
            predicted[test] = answers
            accuracies.append(100.0 * float(np.mean(answers == self._labels[test])))
            dev.append(dev_accuracy)
            chosen.append(grid[best])
        return self._outcome(float(np.mean(accuracies)), dev, chosen, predicted, started)

    def searched(
        self, parts: Sequence[Part], train: IntArray, test: IntArray, grid: Sequence[float]
    ) -> ReferenceOutcome:
        """Returns the outcome of one search over given parts, then a fit of train for test."""
        started = time.perf_counter()
        best, dev_accuracy = self._search(parts, grid)
        (predicted,) = self._fit_all([((train, test), grid[best])])
        accuracy = 100.0 * float(np.mean(predicted == self._labels[test]))
        return self._outcome(accuracy, [dev_accuracy], [grid[best]], predicted, started)

    def folds_of_train(
        self, train: IntArray, test: IntArray, grid: Sequence[float], num_folds: int
    ) -> ReferenceOutcome:
        """Returns the outcome of folds of train, then a fit of train for test."""
        return self.searched(self._parts(train, num_folds), train, test, grid)

    def _parts(self, places: IntArray, num_folds: int) -> list[Part]:
        folds = self._folds(n_splits=num_folds, shuffle=True, random_state=self._seed)
        split = folds.split(np.zeros((len(places), 1)), self._labels[places])
        return [(places[train], places[test]) for train, test in split]

    def _search(self, parts: Sequence[Part], grid: Sequence[float]) -> tuple[int, float]:
        """Returns the place of the best C and its accuracy, rounded as SentEval rounds it."""
        answers = self._fit_all([(part, c) for c in grid for part in parts])
        right = [
            float(np.mean(found == self._labels[part[1]]))
            for found, part in zip(answers, [part for _ in grid for part in parts], strict=True)
        ]
        means = [
            round(100.0 * float(np.mean(row)), 2) for row in np.reshape(right, (len(grid), -1))
        ]
        return int(np.argmax(means)), max(means)

    def _fit_all(self, fits: Sequence[tuple[Part, float]]) -> list[IntArray]:
        with self._joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            found = self._joblib.Parallel(n_jobs=min(self._num_processes, len(fits)))(
                self._joblib.delayed(_fit)(
                    self._features, self._labels, part, c, self._seed, self._solver
                )
                for part, c in fits
            )
        self._num_fits += len(fits)
        self._num_unfinished += sum(unfinished for _, unfinished, _ in found)
        self._cpu_seconds += sum(seconds for *_, seconds in found)
        return [answers for answers, *_ in found]

    def _outcome(
        self,
        accuracy: float,
        dev: Sequence[float],
        chosen: Sequence[float],
        predicted: IntArray,
        started: float,
    ) -> ReferenceOutcome:
        return ReferenceOutcome(
            accuracy,
            tuple(dev),
            tuple(chosen),
            predicted,
            Spent(time.perf_counter() - started, self._cpu_seconds),
            self._num_fits,
            self._num_unfinished,
        )


def _fit(
    features: FloatArray, labels: IntArray, part: Part, c: float, seed: int, solver: Solver
) -> tuple[IntArray, bool, float]:
    """Returns answers to a part's items, whether the fit ended too early, its CPU seconds."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    watch = Stopwatch()
    train, test = part
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = LogisticRegression(
            C=c, random_state=seed, max_iter=solver.max_iterations, tol=solver.tolerance
        ).fit(features[train], labels[train])
    unfinished = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    answers = model.predict(features[test])
    return answers, unfinished, watch.read().cpu
