"""A training step in a process of its own, which waits until it is asked for the next one.

An implementation that takes fresh memory in every step is faster where others before it have left
theirs to the same process, which no training has. Processes that take turns have each their own
heap, which each keeps as our jobs do, and a slow moment of the machine still strikes all of them.
"""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Self

import torch

from benchmarks.contestants import Entry, Runner, Task
from benchmarks.stopwatch import Spent
from treeviews.pipeline.base.watched import keep_memory

_RUNNERS: list[Runner] = []
"""The one of this process, where it is such a process."""


class StepProcess:
    """A `Runner` on one thread of another process, which lives as long as the context.

    Whatever is asked of it raises what it raises there, and BrokenProcessPool, a RuntimeError, if
    the process ends before it has answered (of memory that ran out, say).
    """

    def __init__(self, task: Task, entry: Entry) -> None:
        # Not forked: a fork begins with this process' heap. Pickled here, since a pool would hand
        # over tensors as shared memory.
        self._made_of = pickle.dumps((task, entry))
        self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin)

    def __enter__(self) -> Self:
        self._pool.submit(torch.get_num_threads)  # so that several processes start at once
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the process."""
        self._pool.shutdown(cancel_futures=True)

    def warm_up(self, outcome: Path) -> None:
        """As `Runner.warm_up`, after making it."""
        self._pool.submit(_make, self._made_of).result()
        self._pool.submit(_warm_up, outcome).result()

    def measure(self) -> Spent:
        """As `Runner.measure`."""
        return self._pool.submit(_measure).result()


def _begin() -> None:
    torch.set_num_threads(1)
    keep_memory()


def _make(made_of: bytes) -> None:
    _RUNNERS.append(Runner(*pickle.loads(made_of)))


def _warm_up(outcome: Path) -> None:
    _RUNNERS[0].warm_up(outcome)


def _measure() -> Spent:
    return _RUNNERS[0].measure()
