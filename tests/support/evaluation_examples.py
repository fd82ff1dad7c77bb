"""Tasks and predictions made by hand, for the tests of scores, results and comparisons."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treeviews.models.evaluation.scores import Outcome, Predictions
from treeviews.models.evaluation.task_registry import EvaluationTask, Protocol
from treeviews.models.evaluation.task_result import (
    DataRecord,
    EncoderIdentity,
    Setup,
    TaskResult,
    scored,
)

ENCODER = EncoderIdentity("bag of words", "0123abcd")


def task(name: str = "MR", protocol: Protocol = "split", *, f1: bool = False) -> EvaluationTask:
    return EvaluationTask(name, name, protocol, "made by hand", "nobody", scores_f1=f1)


def predictions(
    predicted: npt.ArrayLike,
    gold: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    names: tuple[str, ...] | None = None,
) -> Predictions:
    """Returns predictions; without groups, all items are of one."""
    answers = np.asarray(predicted, dtype=np.float64)
    chosen = np.asarray(np.zeros(len(answers)) if groups is None else groups, dtype=np.int64)
    if names is None:
        numbers = range(int(chosen.max()) + 1)
        names = ("test",) if groups is None else tuple(f"g{number}" for number in numbers)
    return Predictions(answers, np.asarray(gold, dtype=np.float64), chosen, names)


def answers(num_items: int, share_right: float, *, seed: int = 0) -> Predictions:
    """Returns answers to items of two classes, this share of them right."""
    random = np.random.default_rng(seed)
    gold = np.arange(num_items) % 2
    wrong = random.permutation(num_items) >= share_right * num_items
    return predictions(np.where(wrong, 1 - gold, gold), gold)


def similarities(num_items: int, noise: float, *, seed: int = 0, subsets: int = 2) -> Predictions:
    """Returns gold scores of 0 to 5 and noisy answers to them, in subsets."""
    gold = np.random.default_rng(99).integers(0, 6, num_items).astype(np.float64)
    noisy = gold + noise * np.random.default_rng(seed).normal(size=num_items)
    return predictions(noisy, gold, np.arange(num_items) % subsets)


def result(
    made: Predictions,
    of: EvaluationTask,
    *,
    encoder: EncoderIdentity = ENCODER,
    data_digest: str = "d0",
) -> TaskResult:
    """Returns the result that these predictions give."""
    outcome = Outcome(
        made, {"train": 100, "test": len(made.gold)}, 300, dev_score=71.5, regularisers=(0.5, 2.0)
    )
    classifier = "cosine" if of.protocol == "similarity" else "logistic_regression"
    return scored(
        of,
        Setup(encoder, {"name": "plain"}, {"classifier": classifier}, {"device": "cpu"}),
        DataRecord(data_digest, "s0"),
        outcome,
        seconds={"embed": 1.5, "fit": 0.5},
    )
