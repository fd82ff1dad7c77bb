"""Two encoders on the same items of the same tasks, one or several seeds a side.

The difference is that of the means over seeds, its interval a paired bootstrap: both sides are
scored on the same resamples. Where the sides have unequal numbers of seeds, the permutation test
repeats the seeds of each in turn until all are paired. Neither covers another training seed; the
deviation over seeds stands beside the means for that.

Permutation (Noreen 1989, approximate randomisation; Dror et al. 2018, section 3.2): if it made no
difference which encoder answered, swapping the two answers to an item would not either. Each
item is swapped or not by a fair coin, both sides are scored anew, and p is the share of such
swaps, the observed one among them, whose difference is at least as large as the observed one.
Items of a cluster, such as a document, share their coin.

Bootstrap: twice the smaller share of resampled differences on either side of zero, that is, the
largest 1 − confidence at which the percentile interval excludes zero.

Both are two-sided and about other test items. The correction is for the number of tasks compared:
Holm (1979) bounds the chance of any false difference. It returns adjusted p values, to be compared
with the level itself, and keeps the order of the given ones.

Legend: R resamples, n items.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from treeviews.models.evaluation.averages import average_difference
from treeviews.models.evaluation.resampling import (
    Drawn,
    FloatArray,
    IntArray,
    Interval,
    Resampling,
    Scorer,
    SeedMean,
    drawn_as,
    over_seeds,
    percentile_interval,
)
from treeviews.models.evaluation.scores import (
    check_items,
    main_metric,
    resampled_scores,
    score,
    scorer,
    stream_of,
)
from treeviews.models.evaluation.task_result import (
    AbsentResult,
    Result,
    Setup,
    TaskResult,
    check_same_data,
    check_seeds,
    corpora_of,
    read_results,
    scored_results,
    shown_setup,
)
from treeviews.pipeline.base.settings import Settings

Seeds = Sequence[Mapping[str, Result]]
"""The results of one encoder, by task, a mapping a seed."""


class ComparisonConfig(Settings):
    """How two encoders are compared."""

    called: ClassVar[str] = "comparison setting"

    test: Literal["permutation", "bootstrap"] = "permutation"
    """Test of the differences."""
    correction: Literal["holm", "none"] = "holm"
    """Correction of p values for the number of tasks."""
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


def compare(first: Seeds, second: Seeds, how: ComparisonConfig) -> Comparison:
    """Returns the comparison of two encoders over their tasks.

    Raises:
        ValueError: no results, a seed given twice, seeds evaluated in different ways, tasks that
            one folder has and another lacks, or a task scored on different data or folds; names
            the task and the remedy.
    """
    if not (first and second and all(first) and all(second)):
        raise ValueError("a comparison needs at least one folder with results a side")
    names = _shared_tasks([*first, *second])
    _check_seeds(first)
    _check_seeds(second)
    a, b = (
        [scored_results({name: results[name] for name in names}) for results in side]
        for side in (first, second)
    )
    rows = [
        _compare_task([seed[name] for seed in a], [seed[name] for seed in b], how) for name in a[0]
    ]
    p_values = [row.p for row in rows]
    adjusted = holm(p_values) if how.correction == "holm" else p_values
    return Comparison(
        _setups(first),
        _setups(second),
        tuple(replace(row, corrected_p=p) for row, p in zip(rows, adjusted, strict=True)),
        {
            name: result.reason
            for name in names
            if isinstance(result := first[0][name], AbsentResult)
        },
        how,
        corpora_of(first[0][name] for name in a[0]),
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
    sides = []
    for folders in (first, second):
        side = {folder: read_results(folder) for folder in folders}
        for folder, results in side.items():
            if missing := [name for name in tasks or () if name not in results]:
                raise ValueError(
                    f"{folder}: no result of {', '.join(missing)}; it has {', '.join(results)}"
                )
        sides.append([{name: of[name] for name in tasks or of} for of in side.values()])
    a, b = sides
    return compare(a, b, config)


def _compare_task(
    first: Sequence[TaskResult], second: Sequence[TaskResult], config: ComparisonConfig
) -> TaskComparison:
    task = first[0].task
    check_same_data([*first, *second])
    sides = [[result.outcome.predictions for result in side] for side in (first, second)]
    check_items(task, *sides[0], *sides[1])
    name = main_metric(task)
    a, b = (over_seeds([score(task, seed)[name] for seed in side]) for side in sides)
    resampled = np.zeros(config.resampling.num_resamples)  # both sides on the same resamples
    for sign, side in zip((1.0, -1.0), sides, strict=True):
        for seed in side:
            drawn = resampled_scores(task, seed, config.resampling)[name]
            resampled = resampled + sign * drawn / len(side)
    clusters, num_pairs = sides[0][0].clusters, math.lcm(len(first), len(second))
    if config.test == "bootstrap":
        p = bootstrap_p_value(resampled)
    else:
        coins = np.arange(len(sides[0][0].gold))
        if clusters is not None:
            coins = np.unique(clusters, return_inverse=True)[1]
        pairs = [[side[i % len(side)] for side in sides] for i in range(num_pairs)]
        scorers = [scorer(task, *pair) for pair in pairs]
        p = permutation_p_value(name, scorers, coins, config.resampling, stream=stream_of(task))
    difference = percentile_interval(
        a.mean - b.mean, resampled, confidence=config.resampling.confidence
    )
    return TaskComparison(task.name, name, a, b, difference, p, p, drawn_as(clusters))


def _check_seeds(seeds: Seeds) -> None:
    setups = _setups(seeds)
    check_seeds(setups)
    for task in seeds[0]:
        if len({results[task].setup.how_used() for results in seeds}) > 1:
            raise ValueError(
                f"{task}: the seeds of {setups[0].encoder.name} differ in representation or "
                "classifier; compare one at a time"
            )


def _shared_tasks(folders: Seeds) -> list[str]:
    """Returns the tasks to compare: all must have been scored on them, or none."""
    for name in sorted({task for results in folders for task in results}):
        encoders = {
            isinstance(results.get(name), TaskResult): shown_setup(results).encoder.name
            for results in folders
        }
        if len(encoders) == 2:
            raise ValueError(
                f"{name}: {encoders[True]} has a result and {encoders[False]} has none; evaluate "
                "both on it, or name the tasks to compare with --tasks"
            )
    shared = [name for name in folders[0] if all(name in results for results in folders)]
    if not shared:
        raise ValueError("the two have no task in common; evaluate both on the same")
    return shared


def _setups(seeds: Seeds) -> tuple[Setup, ...]:
    return tuple(shown_setup(results) for results in seeds)


ROUNDING = 1e-9
"""By how much a difference may fall short of the observed one and still count as equal to it."""


def permutation_p_value(
    name: str,
    scorers: Sequence[Scorer],
    coin_of_n: IntArray,
    resampling: Resampling,
    *,
    stream: int = 0,
) -> float:
    """Returns the two-sided p value of a score's difference (Noreen 1989; Dror et al. 2018).

    Args:
        name: of the score.
        scorers: each scores weights over 2n answers, [R, 2n]: those of the first encoder, then
            those of the second. Several are pairs of seeds, swapped by the same coins and
            averaged, so that an item's answers stay together.
        coin_of_n: number of each item's coin, from 0; items of one cluster have one.
        stream: as in `bootstrap_scores`.
    """

    def differences(swapped_rn: FloatArray) -> FloatArray:
        """Returns first side minus second, [R], where some items are swapped."""
        kept_rn = 1.0 - swapped_rn
        sides = [np.concatenate(pair, 1) for pair in permutations((kept_rn, swapped_rn))]
        pairs = ([scorer(weights)[name] for weights in sides] for scorer in scorers)
        means: FloatArray = np.sum([(a - b) / len(scorers) for a, b in pairs], axis=0)
        return means

    generator = np.random.default_rng([resampling.seed, stream])
    num_items, num_coins = len(coin_of_n), int(coin_of_n.max()) + 1
    observed = abs(differences(np.zeros((1, num_items)))[0])
    as_large = 0
    for size in resampling.block_sizes(2 * num_items):
        coins = generator.integers(0, 2, (size, num_coins)).astype(np.float64)
        as_large += int((np.abs(differences(coins[:, coin_of_n])) >= observed - ROUNDING).sum())
    return (1.0 + as_large) / (1.0 + resampling.num_resamples)


def bootstrap_p_value(differences_r: FloatArray) -> float:
    """Returns the two-sided p value that resampled differences, [R], give for none."""
    low, high = (differences_r <= 0.0).sum(), (differences_r >= 0.0).sum()
    return min(1.0, 2.0 * (1.0 + float(min(low, high))) / (1.0 + len(differences_r)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns max over j ≤ i of min(1, (m − j + 1) p_(j)) for the i-th smallest of m."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p[order]))
    return [float(value) for value in adjusted]
