"""How fast the order of computation of a batch's trees is found."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.corpus.sentence_block import SentenceBlock
from models.sentence_batch import SentenceBatch


@dataclass(frozen=True, slots=True)
class ScheduleRate:
    """The best of many builds of one kind."""

    label: str
    nodes: int
    seconds: float

    @property
    def nodes_per_second(self) -> float:
        """Tree nodes put in order, a second."""
        return self.nodes / self.seconds


def schedule_rates(block: SentenceBlock, repeats: int) -> list[ScheduleRate]:
    """Returns the rate of a whole batch, then those of its dependency and constituency trees.

    A dependency tree has a node a token, a binary tree of n tokens has 2n - 1. The time of one
    kind of tree is that of a batch with it less that of a batch without trees.
    """
    tokens, sentences = len(block.token_ids), len(block)
    heads, left, right = block.heads, block.binary_left, block.binary_right

    def build(*trees: NDArray[np.int16] | None) -> SentenceBatch:
        return SentenceBatch.from_arrays(block.token_ids, block.offsets, *trees)

    whole = _best(lambda: build(heads, left, right), repeats)
    without_trees = _best(build, repeats)
    dependencies = _best(lambda: build(heads), repeats) - without_trees
    constituents = _best(lambda: build(None, left, right), repeats) - without_trees
    return [
        ScheduleRate("whole batch, both trees", 3 * tokens - sentences, whole),
        ScheduleRate("its dependency trees", tokens, dependencies),
        ScheduleRate("its constituency trees", 2 * tokens - sentences, constituents),
    ]


def _best(build: Callable[[], object], repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        build()
        best = min(best, time.perf_counter() - started)
    return best
