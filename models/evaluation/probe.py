"""Probes one row of the table: a classifier a task, from embeddings to accuracies."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch

from models.evaluation.classifiers.logistic_regression import fit_logistic_regression
from models.evaluation.classifiers.standardiser import Standardiser
from models.evaluation.probe_config import ProbeConfig
from models.evaluation.probe_result import ProbeResult, TaskScore
from models.evaluation.probing.data import IntArray, ProbingData
from models.evaluation.statistics.cluster_bootstrap import mean_interval
from pipeline.job import Progress

FloatArray = npt.NDArray[np.float32]


def probe(
    embeddings: FloatArray,
    data: ProbingData,
    config: ProbeConfig | None = None,
    *,
    on_progress: Progress | None = None,
) -> ProbeResult:
    """Returns the probing result of embeddings [num_rows, d] of the probing sentences.

    On each task, one classifier per regulariser is fitted on train, the best on dev (the
    strongest of equals) gives the test accuracy.

    Raises:
        ValueError: not one embedding a row, or an embedding in use that is not finite.
    """
    config = config or ProbeConfig()
    _check(embeddings, data)
    return _over_tasks(
        data,
        config,
        embeddings.shape[1],
        lambda task: _fit_and_test(embeddings, task, data, config),
        on_progress,
    )


def probe_majority(data: ProbingData, config: ProbeConfig | None = None) -> ProbeResult:
    """Returns the result of one constant answer: the training split's commonest class."""
    resolved = config or ProbeConfig()

    def constant(task: str) -> TaskScore:
        commonest = int(np.bincount(data.tasks[task]["train"].labels).argmax())
        return _score(data.tasks[task]["test"].labels == commonest, task, data, resolved)

    return _over_tasks(data, resolved, 0, constant, None)


def _over_tasks(
    data: ProbingData,
    config: ProbeConfig,
    width: int,
    score: Callable[[str], TaskScore],
    on_progress: Progress | None,
) -> ProbeResult:
    if not data.tasks:
        raise ValueError(f"no probing task is present: {dict(data.summary['absent'])}")
    started = time.perf_counter()
    scores: dict[str, TaskScore] = {}
    for done, task in enumerate(data.tasks):
        task_started = time.perf_counter()
        found = score(task)
        scores[task] = replace(found, seconds=round(time.perf_counter() - task_started, 3))
        if on_progress is not None:
            on_progress((done + 1) / len(data.tasks), f"{task} {found.accuracy.value:.1f}")
    average = mean_interval(
        {task: found.correct for task, found in scores.items()},
        {task: found.clusters for task, found in scores.items()},
        seed=config.bootstrap_seed,
        num_resamples=config.num_resamples,
    )
    return ProbeResult(scores, average, width, round(time.perf_counter() - started, 3))


def _check(embeddings: FloatArray, data: ProbingData) -> None:
    if embeddings.ndim != 2 or len(embeddings) != data.num_rows:
        raise ValueError(
            f"embeddings must be [{data.num_rows}, d], one for each probing sentence, got "
            f"{list(embeddings.shape)}; embed these probing data again"
        )
    used = data.used_rows()
    broken = used[~np.isfinite(embeddings[used]).all(axis=1)]
    if len(broken):
        raise ValueError(
            f"{len(broken)} embeddings in use are not finite, the first in row {broken[0]}; "
            "embed these probing data again or look for a diverged training"
        )


def _fit_and_test(
    embeddings: FloatArray, task: str, data: ProbingData, config: ProbeConfig
) -> TaskScore:
    splits = data.tasks[task]

    def features(split: str) -> torch.Tensor:
        return torch.from_numpy(embeddings[splits[split].rows].astype(np.float64))

    train = features("train")
    standardise = Standardiser.fit(train)
    models = fit_logistic_regression(
        standardise(train),
        torch.from_numpy(splits["train"].labels),
        len(train) * torch.tensor(config.regularisers, dtype=torch.float64),
        num_classes=data.num_classes(task),
        tolerance=config.tolerance,
        max_steps=config.max_steps,
    )
    right_dev = _right(models.predict(standardise(features("dev"))), splits["dev"].labels)
    dev_accuracies = right_dev.mean(axis=1)
    best = max(
        range(len(config.regularisers)),
        key=lambda index: (dev_accuracies[index], config.regularisers[index]),
    )
    right = _right(models.predict(standardise(features("test"))), splits["test"].labels)[best]
    chosen = config.regularisers[best]
    at_edge = chosen in (min(config.regularisers), max(config.regularisers))
    return replace(
        _score(right, task, data, config),
        dev_accuracy=100.0 * float(dev_accuracies[best]),
        regulariser=chosen,
        at_grid_edge=at_edge,
        converged=bool(models.converged.all()),
        gap=float(models.gaps.max()),
    )


def _right(predicted: torch.Tensor, labels: IntArray) -> npt.NDArray[np.bool_]:
    right: npt.NDArray[np.bool_] = predicted.numpy() == labels
    return right


def _score(
    right: npt.NDArray[np.bool_], task: str, data: ProbingData, config: ProbeConfig
) -> TaskScore:
    correct = tuple(int(value) for value in right)
    clusters = tuple(data.test_clusters(task).tolist())
    interval = mean_interval(
        {task: correct},
        {task: clusters},
        seed=config.bootstrap_seed,
        num_resamples=config.num_resamples,
    )
    return TaskScore(
        accuracy=interval,
        correct=correct,
        clusters=clusters,
        num_train=len(data.tasks[task]["train"].rows),
        num_test=len(right),
    )
