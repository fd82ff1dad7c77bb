"""Whether two encoders differ on the same items: p values by permutation and by bootstrap.

Permutation (Noreen 1989, approximate randomisation; Dror et al. 2018, section 3.2): if it made no
difference which encoder answered, swapping the two answers to an item would not either. Each
item is swapped or not by a fair coin, both sides are scored anew, and p is the share of such
swaps, the observed one among them, whose difference is at least as large as the observed one.
Items of a cluster, such as a document, share their coin.

Bootstrap: twice the smaller share of resampled differences on either side of zero, that is, the
largest 1 − confidence at which the percentile interval excludes zero.

Both are two-sided and about other test items; neither covers another training.

The correction is for the number of tasks compared: Holm (1979) bounds the chance of any false
difference. It returns adjusted p values, to be compared with the level itself, and keeps the order
of the given ones.

Legend: R resamples, n items.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from models.evaluation.statistics.resampling import Resampling, Scorer, concatenated

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

ROUNDING = 1e-9
"""By how much a difference may fall short of the observed one and still count as equal to it."""


def permutation_p_values(
    scorers: Sequence[Scorer], coin_of_n: IntArray, resampling: Resampling, *, stream: int = 0
) -> dict[str, float]:
    """Returns the two-sided p value of each score's difference.

    Args:
        scorers: each scores weights over 2n answers, [R, 2n]: those of the first encoder, then
            those of the second. Several are pairs of seeds, swapped by the same coins and
            averaged, so that an item's answers stay together.
        coin_of_n: number of each item's coin, from 0; items of one cluster have one.
        stream: as in `bootstrap_scores`.
    """
    generator = np.random.default_rng([resampling.seed, stream])
    num_items, num_coins = len(coin_of_n), int(coin_of_n.max()) + 1
    observed = _differences(scorers, np.zeros((1, num_items)))
    coins = (
        generator.integers(0, 2, (size, num_coins)).astype(np.float64)
        for size in resampling.block_sizes(2 * num_items)
    )
    parts = [_differences(scorers, thrown[:, coin_of_n]) for thrown in coins]
    p_values = {}
    for name, swapped_r in concatenated(parts).items():
        as_large = np.abs(swapped_r) >= abs(observed[name][0]) - ROUNDING
        p_values[name] = (1.0 + float(as_large.sum())) / (1.0 + resampling.num_resamples)
    return p_values


def bootstrap_p_value(differences_r: FloatArray) -> float:
    """Returns the two-sided p value that resampled differences, [R], give for none."""
    low, high = (differences_r <= 0.0).sum(), (differences_r >= 0.0).sum()
    return min(1.0, 2.0 * (1.0 + float(min(low, high))) / (1.0 + len(differences_r)))


def _differences(scorers: Sequence[Scorer], swapped_rn: FloatArray) -> dict[str, FloatArray]:
    """Returns first side minus second of each score, [R], where some items are swapped."""
    kept_rn = 1.0 - swapped_rn
    first = np.concatenate([kept_rn, swapped_rn], axis=1)
    second = np.concatenate([swapped_rn, kept_rn], axis=1)
    sums: dict[str, FloatArray] = {}
    for scorer in scorers:
        scores_a, scores_b = scorer(first), scorer(second)
        for name, value in scores_a.items():
            sums[name] = sums.get(name, 0.0) + (value - scores_b[name]) / len(scorers)
    return sums


Correction = Literal["holm", "none"]


def corrected(p_values: Sequence[float], method: Correction) -> list[float]:
    """Returns the adjusted p values, in the order given."""
    if method == "none":
        return list(p_values)
    return holm(p_values)


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns max over j ≤ i of min(1, (m − j + 1) p_(j)) for the i-th smallest of m."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p[order]))
    return [float(value) for value in adjusted]
