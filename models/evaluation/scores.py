"""The predictions of a protocol, their scores, and the bootstrap intervals of these.

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from treeviews.models.evaluation.resampling import (
    FloatArray,
    IntArray,
    Interval,
    Levels,
    Resampling,
    Scorer,
    average_ranks,
    bootstrap_scores,
    pearson_scores,
    percentile_interval,
    quotient,
    spearman_scores,
    standardised,
)
from treeviews.models.evaluation.task_registry import EvaluationTask

ZERO_VECTORS = "pairs_with_zero_vector"
"""The detail of an outcome that counts the pairs whose cosine is 0 for want of a vector, such as
those of a word that the encoder does not know; it is there where there are any."""


class _Arrays:
    """Lets pydantic take arrays as they are, where a result is read."""

    __slots__ = ()
    __pydantic_config__: ClassVar = {"arbitrary_types_allowed": True}


@dataclass(frozen=True, slots=True, eq=False)
class Predictions(_Arrays):
    """The answer to every test item, in the order of the task's items.

    That order is a function of the data alone, so two encoders' predictions are paired.
    """

    predicted: FloatArray
    """[n]; a class's number, or a score."""
    gold: FloatArray
    """[n]; the same of the right answer."""
    groups: IntArray
    """[n]; outer fold or subset of each item, numbered from 0; 0 where there is only one."""
    group_names: tuple[str, ...] = ("test",)
    """Name of each group."""
    clusters: IntArray | None = None
    """[n]; what the bootstrap draws as one, such as a document, by numbers with one meaning in all
    tasks of the data; None draws items by themselves."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome(_Arrays):
    """What a protocol found out about one set of embeddings."""

    predictions: Predictions
    counts: Mapping[str, int]
    """Items of each split."""
    width: int
    """Dimensions of the representation of a sentence."""
    dev_score: float | None = None
    """Best score on dev or inner folds, in percent (100 times Pearson's r for relatedness); the
    mean over outer folds; None where nothing is chosen."""
    dev_scores: tuple[float, ...] = ()
    """The same of each outer fold."""
    regularisers: tuple[float, ...] = ()
    """What was chosen, one an outer fold; in the units of the classifier's own grid."""
    at_grid_edge: int = 0
    """How many of the chosen are the smallest or largest offered."""
    num_fits: int = 0
    """Classifiers fitted, those with regularisers that were not chosen included."""
    not_converged: int = 0
    """Of these, how many stopped before the tolerance was reached."""
    details: Mapping[str, int | float] = field(default_factory=dict)
    """Further figures of the protocol: ``largest_gap``, by which share of itself the objective of
    the least finished fit may lie above its minimum; ``epochs``; ``pairs_with_zero_vector``."""


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
    each_once = np.ones((1, len(predictions.gold)))
    return {name: float(value[0]) for name, value in scorer(task, predictions)(each_once).items()}


def score_intervals(
    task: EvaluationTask, predictions: Predictions, how: Resampling
) -> dict[str, Interval]:
    """Returns every score of a task with its bootstrap interval; errors as for `score`."""
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
        return _similarity_scorer(encoders)
    if task.protocol == "relatedness":
        return _relatedness_scorer(encoders)
    return _class_scorer(encoders, scores_f1=task.scores_f1)


def check_items(task: EvaluationTask, *encoders: Predictions) -> None:
    """Refuses predictions that cannot be scored, or not be paired item by item, folds included.

    Raises:
        ValueError: as `score`, or the predictions are not of the same items; names the task.
    """
    first = encoders[0]
    for each in encoders:
        if not (np.isfinite(each.predicted).all() and np.isfinite(each.gold).all()):
            raise ValueError(f"{task.name}: a prediction or gold answer is not finite")
        if not all(  # clusters may be None, which equals itself alone
            np.array_equal(getattr(each, name), getattr(first, name))
            for name in ("gold", "groups", "clusters")
        ):
            raise ValueError(
                f"{task.name}: the two encoders were scored on different items or folds; evaluate "
                "both on the same data and protocol"
            )


def _class_scorer(encoders: Sequence[Predictions], *, scores_f1: bool) -> Scorer:
    gold = np.concatenate([each.gold for each in encoders])
    predicted = np.concatenate([each.predicted for each in encoders])
    groups = np.concatenate([each.groups for each in encoders])
    members_ng = (groups[:, None] == np.unique(groups)[None, :]).astype(np.float64)
    right = (predicted == gold).astype(np.float64)
    hit, called, true = (predicted == 1) & (gold == 1), predicted == 1, gold == 1
    of_class_1 = np.stack([hit, called, true], axis=1).astype(np.float64)

    def scores(weights_rn: FloatArray) -> dict[str, FloatArray]:
        right_rg, sizes_rg = weights_rn @ (right[:, None] * members_ng), weights_rn @ members_ng
        named = {"accuracy": 100.0 * (right_rg / sizes_rg).mean(axis=1)}
        if scores_f1:  # 2 TP / (2 TP + FP + FN) of class 1
            hits_r, called_r, true_r = (weights_rn @ of_class_1).T
            named["f1"] = 100.0 * quotient(2.0 * hits_r, called_r + true_r)
        return named

    return scores


def _correlations(
    encoders: Sequence[Predictions], rows: IntArray
) -> Callable[[FloatArray], tuple[FloatArray, FloatArray]]:
    """Returns what gives 100 r and 100 ρ on these items, [R] each, for any sample of them."""
    parts = [each.predicted[rows] for each in encoders]
    size = len(encoders[0].gold)
    columns = np.concatenate([rows + size * place for place in range(len(encoders))])
    gold = np.tile(encoders[0].gold[rows], len(encoders))
    z_predicted, z_gold = np.concatenate([standardised(part) for part in parts]), standardised(gold)
    ranked = Levels.of(np.concatenate([average_ranks(part) for part in parts]))
    gold_ranked = Levels.of(gold)

    def correlations(weights_rn: FloatArray) -> tuple[FloatArray, FloatArray]:
        if len(columns) < weights_rn.shape[1]:
            weights_rn = np.take(weights_rn, columns, axis=1)
        return (
            100.0 * pearson_scores(weights_rn, z_predicted, z_gold),
            100.0 * spearman_scores(weights_rn, ranked, gold_ranked),
        )

    return correlations


def _relatedness_scorer(encoders: Sequence[Predictions]) -> Scorer:
    correlations = _correlations(encoders, np.arange(len(encoders[0].gold)))
    squared_errors = np.concatenate([(each.predicted - each.gold) ** 2 for each in encoders])

    def scores(weights_rn: FloatArray) -> dict[str, FloatArray]:
        pearson, spearman = correlations(weights_rn)
        mse = (weights_rn @ squared_errors) / weights_rn.sum(axis=1)
        return {"pearson": pearson, "spearman": spearman, "mse": mse}

    return scores


def _similarity_scorer(encoders: Sequence[Predictions]) -> Scorer:
    first = encoders[0]
    rows = {name: np.flatnonzero(first.groups == g) for g, name in enumerate(first.group_names)}
    sizes = np.array([len(members) for members in rows.values()], dtype=np.float64)
    subsets = {name: _correlations(encoders, members) for name, members in rows.items()}
    pooled = _correlations(encoders, np.arange(len(first.gold)))

    def scores(weights_rn: FloatArray) -> dict[str, FloatArray]:
        by_subset = {name: subset(weights_rn) for name, subset in subsets.items()}
        of_all = pooled(weights_rn) if len(subsets) > 1 else next(iter(by_subset.values()))
        named: dict[str, FloatArray] = {}
        for place, measure in enumerate(("pearson", "spearman")):
            table_gr = np.stack([of_subset[place] for of_subset in by_subset.values()])
            named[f"{measure}_mean"] = table_gr.mean(axis=0)
            named[f"{measure}_weighted"] = sizes @ table_gr / sizes.sum()
            named[f"{measure}_all"] = of_all[place]
            for name, of_subset in by_subset.items():
                named[f"{measure}:{name}"] = of_subset[place]
        return named

    return scores
