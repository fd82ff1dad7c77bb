"""Samples of items drawn with replacement within their groups, and any scores of them.

The folds of a nested cross-validation and the subsets of a similarity task keep their sizes, so
each is drawn from by itself (stratified bootstrap; Davison & Hinkley 1997, section 3.2). What the
intervals cover is another draw of test items; not another training set, seed or fold.

Legend: R resamples, n items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from models.evaluation.statistics.interval import CONFIDENCE, NUM_RESAMPLES
from pipeline.config_fields import Config, Count, Natural, Range

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

Scorer = Callable[[FloatArray], dict[str, FloatArray]]
"""From the weights of samples, [R, n], to each of their scores, [R]; see ``weighted_scores``."""

WEIGHTS_AT_ONCE = 1_000_000
"""Weights made before they are scored; bounds the memory, and belongs to what a seed gives."""


_BETWEEN = Range("lie between 0 and 1", lambda value: 0.0 < value < 1.0)


@dataclass(frozen=True, slots=True)
class Resampling(Config):
    """How often to draw, and what to report of it.

    Raises:
        ValueError: a value out of range.
    """

    called: ClassVar[str] = "resampling setting"

    num_resamples: Count = NUM_RESAMPLES
    confidence: Annotated[float, _BETWEEN] = CONFIDENCE
    seed: Natural = 0

    def block_sizes(self, num_items: int) -> Iterator[int]:
        """Yields how many samples to make at a time."""
        step = max(1, WEIGHTS_AT_ONCE // max(1, num_items))
        for start in range(0, self.num_resamples, step):
            yield min(step, self.num_resamples - start)


def observed_scores(scorer: Scorer, num_items: int) -> dict[str, float]:
    """Returns the scores of the items as they are, each once."""
    return {name: float(value[0]) for name, value in scorer(np.ones((1, num_items))).items()}


def bootstrap_scores(
    scorer: Scorer, groups_n: IntArray, resampling: Resampling, *, stream: int = 0
) -> dict[str, FloatArray]:
    """Returns each score of the resamples, [R].

    The same groups, resampling and stream give the same draws, so the scores of two encoders on
    the same items are paired, resample by resample.

    Args:
        groups_n: group of each item; items are drawn within it.
        stream: keeps the draws of one task apart from another's, whatever their sizes.
    """
    generator = np.random.default_rng([resampling.seed, stream])
    parts = [
        scorer(bootstrap_weights(groups_n, size, generator))
        for size in resampling.block_sizes(len(groups_n))
    ]
    return concatenated(parts)


def bootstrap_weights(
    groups_n: IntArray, num_resamples: int, generator: np.random.Generator
) -> FloatArray:
    """Returns how often each item was drawn, [R, n]; each group's total is its size."""
    num_items = len(groups_n)
    weights_rn = np.empty((num_resamples, num_items))
    row_r = np.arange(num_resamples)[:, None]
    for group in np.unique(groups_n):
        members = np.flatnonzero(groups_n == group)
        size = len(members)
        drawn = generator.integers(0, size, size=(num_resamples, size)) + row_r * size
        counts = np.bincount(drawn.ravel(), minlength=num_resamples * size)
        weights_rn[:, members] = counts.reshape(num_resamples, size)
    return weights_rn


def concatenated(parts: Sequence[dict[str, FloatArray]]) -> dict[str, FloatArray]:
    """Returns the scores of successive blocks of samples, joined."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
