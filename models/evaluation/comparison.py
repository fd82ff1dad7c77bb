"""Two encoders on the same items of the same tasks, one or several seeds a side.

The difference is that of the means over seeds, its interval a paired bootstrap: both sides are
scored on the same resamples. Where the sides have unequal numbers of seeds, the permutation test
repeats the seeds of each in turn until all are paired. Neither covers another training seed; the
deviation over seeds stands beside the means for that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from models.evaluation.averages import average_difference
from models.evaluation.protocols.outcome import Predictions
from models.evaluation.scores import (
    check_items,
    main_metric,
    resampled_scores,
    score,
    scorer,
    stream_of,
)
from models.evaluation.statistics.resampling import (
    Drawn,
    Interval,
    Resampling,
    SeedMean,
    drawn_as,
    over_seeds,
    percentile_interval,
)
from models.evaluation.statistics.significance import (
    Correction,
    bootstrap_p_value,
    corrected,
    permutation_p_values,
)
from models.evaluation.task_result import (
    AbsentResult,
    Result,
    Setup,
    TaskResult,
    corpora_of,
    read_results,
    scored_results,
    shown_setup,
)
from pipeline.base.mistakes import did_you_mean
from pipeline.base.settings import Settings

FloatArray = npt.NDArray[np.float64]

Test = Literal["permutation", "bootstrap"]

Seeds = Sequence[Mapping[str, Result]]
"""The results of one encoder, by task, a mapping a seed."""


class ComparisonConfig(Settings):
    """How two encoders are compared."""

    called: ClassVar[str] = "comparison setting"

    test: Test = "permutation"
    correction: Correction = "holm"
    resampling: Resampling = Resampling()


@dataclass(frozen=True, slots=True)
class TaskComparison:
    """The main score of one task, in the score's unit."""

    task: str
    score: str
    first: SeedMean
    second: SeedMean
    difference: Interval
    """First minus second."""
    p: float
    corrected_p: float
    drawn: Drawn = "item"
    """What the interval draws and the permutation test swaps."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two encoders differ in."""

    first: tuple[Setup, ...]
    """One a seed, of a task that learns if there is one."""
    second: tuple[Setup, ...]
    tasks: tuple[TaskComparison, ...]
    absent: Mapping[str, str]
    """Tasks that neither side was scored on, with the reason."""
    config: ComparisonConfig
    derived: Mapping[str, str] = field(default_factory=dict)
    """Tasks that are not the published ones of their names -> the corpus they are derived from."""
    average: Interval | None = None
    """First minus second, averaged over tasks; None unless all of them are derived from a corpus,
    whose documents are drawn for all tasks at once."""


def compare(first: Seeds, second: Seeds, config: ComparisonConfig | None = None) -> Comparison:
    """Returns the comparison of two encoders over their tasks.

    Raises:
        ValueError: no results, a seed given twice, seeds evaluated in different ways, tasks that
            one folder has and another lacks, or a task scored on different data or folds; names
            the task and the remedy.
    """
    how = config or ComparisonConfig()
    if not (first and second and all(first) and all(second)):
        raise ValueError("a comparison needs at least one folder with results a side")
    names = _shared_tasks([*first, *second])
    _check_seeds(first)
    _check_seeds(second)
    a, b = (
        [scored_results({name: results[name] for name in names}) for results in side]
        for side in (first, second)
    )
    present = list(a[0])
    absent = {name: _reason(first[0][name]) for name in names if name not in present}
    rows = [
        _compare_task([one[name] for one in a], [one[name] for one in b], how) for name in present
    ]
    adjusted = corrected([row.p for row in rows], how.correction)
    return Comparison(
        _setups(first),
        _setups(second),
        tuple(replace(row, corrected_p=p) for row, p in zip(rows, adjusted, strict=True)),
        absent,
        how,
        corpora_of(first[0][name] for name in present),
        average_difference(a, b, how.resampling),
    )


def compare_folders(
    first: Sequence[Path],
    second: Sequence[Path],
    config: ComparisonConfig,
    tasks: Sequence[str] | None = None,
) -> Comparison:
    """Returns the comparison of two encoders on the items of the tasks that both were scored on.

    Args:
        first: folders with one result file a task, as the evaluation writes them; several are those
            of the seeds of one encoder.
        second: the same of the other encoder.
        config: how they are compared.
        tasks: which ones; None takes all.

    Raises:
        FileNotFoundError: no such folder.
        ValueError: a task without a result, or results that cannot be compared.
    """
    sides = [[_chosen(folder, tasks) for folder in folders] for folders in (first, second)]
    return compare(sides[0], sides[1], config)


def _chosen(folder: Path, tasks: Sequence[str] | None) -> Mapping[str, Result]:
    results = read_results(folder)
    if tasks is None:
        return results
    if missing := [name for name in tasks if name not in results]:
        meant = did_you_mean(*missing, known=results)
        raise ValueError(
            f"{folder}: no result of {', '.join(missing)}; it has {', '.join(results)}{meant}"
        )
    return {name: results[name] for name in tasks}


def _compare_task(
    first: Sequence[TaskResult], second: Sequence[TaskResult], config: ComparisonConfig
) -> TaskComparison:
    task = first[0].task
    _check_items([*first, *second])
    sides = [[result.outcome.predictions for result in side] for side in (first, second)]
    name = main_metric(task)
    a, b = (over_seeds([score(task, seed)[name] for seed in side]) for side in sides)
    resampled = _resampled_difference(first, second, config.resampling)[name]
    if config.test == "permutation":
        p = _permuted(first, sides, config.resampling)[name]
    else:
        p = bootstrap_p_value(resampled)
    difference = percentile_interval(
        a.mean - b.mean, resampled, confidence=config.resampling.confidence
    )
    drawn = drawn_as(sides[0][0].clusters)
    return TaskComparison(task.name, name, a, b, difference, p, p, drawn)


def _resampled_difference(
    first: Sequence[TaskResult], second: Sequence[TaskResult], resampling: Resampling
) -> dict[str, FloatArray]:
    """Returns first side minus second of each score, [R], both on the same resamples."""
    sums: dict[str, FloatArray] = {}
    for sign, side in ((1.0, first), (-1.0, second)):
        for result in side:
            scores = resampled_scores(result.task, result.outcome.predictions, resampling)
            for name, value in scores.items():
                sums[name] = sums.get(name, 0.0) + sign * value / len(side)
    return sums


def _permuted(
    first: Sequence[TaskResult],
    sides: Sequence[Sequence[Predictions]],
    resampling: Resampling,
) -> dict[str, float]:
    task = first[0].task
    a, b = sides
    pairs = [(a[i % len(a)], b[i % len(b)]) for i in range(math.lcm(len(a), len(b)))]
    coins = np.arange(len(a[0].gold))
    if a[0].clusters is not None:
        coins = np.unique(a[0].clusters, return_inverse=True)[1]
    return permutation_p_values(
        [scorer(task, *pair) for pair in pairs], coins, resampling, stream=stream_of(task)
    )


def _check_seeds(seeds: Seeds) -> None:
    name, setups = _name(seeds), _setups(seeds)
    digests = [setup.encoder.digest for setup in setups]
    twice = sorted({digest for digest in digests if digests.count(digest) > 1})
    if twice:
        raise ValueError(
            f"the encoder {name} of digest {twice[0]} is given twice on one side; give each seed "
            "once"
        )
    for task in seeds[0]:
        if len({results[task].setup.how_used() for results in seeds}) > 1:
            raise ValueError(
                f"{task}: the seeds of {name} differ in representation or classifier; compare one "
                "at a time"
            )


def _shared_tasks(folders: Seeds) -> list[str]:
    """Returns the tasks to compare: all must have been scored on them, or none."""
    for name in sorted({task for results in folders for task in results}):
        scored = [results for results in folders if isinstance(results.get(name), TaskResult)]
        lacking = [one for one in folders if not isinstance(one.get(name), TaskResult)]
        if scored and lacking:
            raise ValueError(
                f"{name}: {_name(scored)} has a result and {_name(lacking)} has none; evaluate "
                "both on it, or name the tasks to compare with --tasks"
            )
    shared = [name for name in folders[0] if all(name in results for results in folders)]
    if not shared:
        raise ValueError("the two have no task in common; evaluate both on the same")
    return shared


def _check_items(results: Sequence[TaskResult]) -> None:
    one = results[0]
    for other in results[1:]:
        if other.data.digest != one.data.digest:
            raise ValueError(
                f"{one.task.name}: scored on data {one.data.digest} for {_label(one)} and on "
                f"{other.data.digest} for {_label(other)}; evaluate both on the same files"
            )
        if other.task.protocol != one.task.protocol:
            raise ValueError(
                f"{one.task.name}: scored by {one.task.protocol} and by {other.task.protocol}; "
                "evaluate both with one release"
            )
    check_items(one.task, *(result.outcome.predictions for result in results))


def _reason(result: Result) -> str:
    return result.reason if isinstance(result, AbsentResult) else ""


def _label(result: Result) -> str:
    encoder = result.setup.encoder
    return f"{encoder.name} ({encoder.digest})"


def _name(seeds: Seeds) -> str:
    return _setups(seeds)[0].encoder.name


def _setups(seeds: Seeds) -> tuple[Setup, ...]:
    return tuple(shown_setup(results) for results in seeds)
