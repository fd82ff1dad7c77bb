"""The scores of a task's predictions, and their bootstrap intervals.

Which scores a task has follows from its protocol: ``accuracy`` in percent, with ``f1`` of class 1
where the task reports it; ``pearson`` and ``spearman`` times 100 with ``mse`` for relatedness; for
similarity both correlations of each subset (``pearson:images``), their mean over subsets
(``pearson_mean``), the mean weighted by the subsets' sizes (``pearson_weighted``) and that of all
pairs pooled (``pearson_all``), because the literature mixes them. MTEB's main score of a set of
pairs is ``spearman_all``.

Nested folds: accuracy is the mean over outer folds, as SentEval's. Differs from SentEval: nothing
is rounded on the way.

Legend: R samples, n items, k encoders whose answers are stacked (1 or 2).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.evaluation.protocols.outcome import Predictions
from models.evaluation.statistics.resampling import (
    Interval,
    Resampling,
    Scorer,
    bootstrap_scores,
    observed_scores,
    percentile_interval,
)
from models.evaluation.statistics.weighted_scores import (
    Levels,
    average_ranks,
    f1_scores,
    mean_over_groups,
    membership,
    pearson_scores,
    spearman_scores,
    standardised,
)
from models.evaluation.tasks.task import EvaluationTask

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def main_metric(task: EvaluationTask) -> str:
    """Returns the score by which encoders are compared on a task."""
    if task.protocol == "similarity":
        return "pearson_mean"
    return "pearson" if task.protocol == "relatedness" else "accuracy"


def score(task: EvaluationTask, predictions: Predictions) -> dict[str, float]:
    """Returns every score of a task.

    Correlations that are not defined are 0.

    Raises:
        ValueError: the predictions are not finite; names the task.
    """
    return observed_scores(scorer(task, predictions), len(predictions.gold))


def score_intervals(
    task: EvaluationTask, predictions: Predictions, resampling: Resampling | None = None
) -> dict[str, Interval]:
    """Returns every score of a task with its bootstrap interval; errors as for `score`."""
    how = resampling or Resampling()
    resampled = resampled_scores(task, predictions, how)
    return {
        name: percentile_interval(value, resampled[name], confidence=how.confidence)
        for name, value in score(task, predictions).items()
    }


def resampled_scores(
    task: EvaluationTask, predictions: Predictions, resampling: Resampling
) -> dict[str, FloatArray]:
    """Returns every score of R resamples, [R]: the same resamples for all encoders."""
    return bootstrap_scores(
        scorer(task, predictions),
        predictions.groups,
        resampling,
        stream=stream_of(task),
        clusters_n=predictions.clusters,
    )


def stream_of(task: EvaluationTask) -> int:
    """Returns the number that keeps a task's random draws apart from other tasks'."""
    return zlib.crc32(task.name.encode())


def scorer(task: EvaluationTask, *encoders: Predictions) -> Scorer:
    """Returns what scores samples of the answers of one encoder, or of two stacked.

    Weights over k · n answers select, for each item, whose answer counts. A correlation does not
    depend on an encoder's unit, but a mixture of two would: each encoder's answers are therefore
    standardised (Pearson) or ranked (Spearman) by themselves before they are stacked.

    Raises:
        ValueError: as `score`, or two encoders' predictions are not of the same items.
    """
    check_items(task, *encoders)
    if task.protocol == "similarity":
        return _Similarity.of(encoders)
    if task.protocol == "relatedness":
        return _Relatedness.of(encoders)
    return _Classification.of(encoders, scores_f1=task.scores_f1)


def check_items(task: EvaluationTask, *encoders: Predictions) -> None:
    """Refuses predictions that cannot be scored, or not be paired item by item, folds included.

    Raises:
        ValueError: as `score`, or the predictions are not of the same items; names the task.
    """
    for predictions in encoders:
        _check(task, predictions, encoders[0])


def _check(task: EvaluationTask, predictions: Predictions, other: Predictions) -> None:
    if not (np.isfinite(predictions.predicted).all() and np.isfinite(predictions.gold).all()):
        raise ValueError(f"{task.name}: a prediction or gold answer is not finite")
    if not all(  # clusters may be None, which equals itself alone
        np.array_equal(getattr(predictions, name), getattr(other, name))
        for name in ("gold", "groups", "clusters")
    ):
        raise ValueError(
            f"{task.name}: the two encoders were scored on different items or folds; evaluate both "
            "on the same data and protocol"
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Classification:
    predicted: FloatArray
    gold: FloatArray
    groups: FloatArray
    scores_f1: bool

    @classmethod
    def of(cls, encoders: Sequence[Predictions], *, scores_f1: bool) -> _Classification:
        gold = np.concatenate([one.gold for one in encoders])
        predicted = np.concatenate([one.predicted for one in encoders])
        groups = membership(np.concatenate([one.groups for one in encoders]))
        return cls(predicted, gold, groups, scores_f1)

    def __call__(self, weights_rn: FloatArray) -> dict[str, FloatArray]:
        right = (self.predicted == self.gold).astype(np.float64)
        found = {"accuracy": 100.0 * mean_over_groups(weights_rn, right, self.groups)}
        if self.scores_f1:
            found["f1"] = 100.0 * f1_scores(weights_rn, self.predicted, self.gold)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Correlated:
    """Items on which both correlations are taken, ready for any sample of them."""

    columns: IntArray
    """Places among the stacked answers."""
    z_predicted: FloatArray
    z_gold: FloatArray
    predicted: Levels
    gold: Levels

    @classmethod
    def of(cls, encoders: Sequence[Predictions], rows: IntArray) -> _Correlated:
        parts = [one.predicted[rows] for one in encoders]
        gold = np.tile(encoders[0].gold[rows], len(encoders))
        size = len(encoders[0].gold)
        return cls(
            np.concatenate([rows + size * place for place in range(len(encoders))]),
            np.concatenate([standardised(part) for part in parts]),
            standardised(gold),
            Levels.of(np.concatenate([average_ranks(part) for part in parts])),
            Levels.of(gold),
        )

    def __call__(self, weights_rn: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Returns 100 r and 100 ρ, [R] each."""
        chosen = weights_rn
        if len(self.columns) < weights_rn.shape[1]:
            chosen = np.take(weights_rn, self.columns, axis=1)
        return (
            100.0 * pearson_scores(chosen, self.z_predicted, self.z_gold),
            100.0 * spearman_scores(chosen, self.predicted, self.gold),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Relatedness:
    correlated: _Correlated
    squared_errors: FloatArray

    @classmethod
    def of(cls, encoders: Sequence[Predictions]) -> _Relatedness:
        errors = np.concatenate([(one.predicted - one.gold) ** 2 for one in encoders])
        return cls(_Correlated.of(encoders, np.arange(len(encoders[0].gold))), errors)

    def __call__(self, weights_rn: FloatArray) -> dict[str, FloatArray]:
        pearson, spearman = self.correlated(weights_rn)
        mse = (weights_rn @ self.squared_errors) / weights_rn.sum(axis=1)
        return {"pearson": pearson, "spearman": spearman, "mse": mse}


@dataclass(frozen=True, slots=True, eq=False)
class _Similarity:
    subsets: dict[str, _Correlated]
    sizes: FloatArray
    pooled: _Correlated

    @classmethod
    def of(cls, encoders: Sequence[Predictions]) -> _Similarity:
        first = encoders[0]
        rows = {
            name: np.flatnonzero(first.groups == number)
            for number, name in enumerate(first.group_names)
        }
        return cls(
            {name: _Correlated.of(encoders, found) for name, found in rows.items()},
            np.array([len(found) for found in rows.values()], dtype=np.float64),
            _Correlated.of(encoders, np.arange(len(first.gold))),
        )

    def __call__(self, weights_rn: FloatArray) -> dict[str, FloatArray]:
        by_subset = {name: subset(weights_rn) for name, subset in self.subsets.items()}
        pooled = self.pooled(weights_rn) if len(by_subset) > 1 else next(iter(by_subset.values()))
        found: dict[str, FloatArray] = {}
        for place, measure in enumerate(("pearson", "spearman")):
            table_gr = np.stack([scores[place] for scores in by_subset.values()])
            found[f"{measure}_mean"] = table_gr.mean(axis=0)
            found[f"{measure}_weighted"] = self.sizes @ table_gr / self.sizes.sum()
            found[f"{measure}_all"] = pooled[place]
            for name, scores in by_subset.items():
                found[f"{measure}:{name}"] = scores[place]
        return found
