"""The order in which a corpus is trained on, a function of seed and step alone; batches ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from treeviews.models.corpus.sentence_block import SentenceBlock

T = TypeVar("T")

_Rows = tuple[int, int] | NDArray[np.int64]
"""Of a batch in its shard: first and one past the last, or one by one."""
_END: Any = object()


def cut(num_sentences: int, batch_size: int) -> list[tuple[int, int]]:
    """Returns the ranges of a shard's batches: successive sentences, evenly cut.

    Differs from cutting off full batches by having no small rest, whose few negatives make it
    easier than all other batches. A single sentence has no context, so it gives no batch.
    """
    count = 0 if num_sentences < 2 else -(-num_sentences // batch_size)
    edges = [num_sentences * i // count for i in range(count + 1)] if count else []
    return list(pairwise(edges))


class TrainingBatches:
    """Batches of sentences; shards, and batches within a shard, in random order.

    A batch is one run of successive sentences, or holds shorter runs from all over its shard.

    One shard is in memory. Step ``s`` can be reached without the steps before it: the number of
    steps done is the whole data cursor.
    """

    def __init__(
        self,
        read: Callable[[int], SentenceBlock],
        rows: Sequence[int],
        *,
        batch_size: int,
        seed: int,
        run_length: int | None = None,
    ) -> None:
        """Says what is read and how it is cut.

        Args:
            read: gives the sentences of a shard, in the order of the text.
            rows: number of sentences that it gives for each shard.
            batch_size: sentences of a batch.
            run_length: successive sentences at a time; None takes all of a batch.
        """
        self._read = read
        self._rows = tuple(rows)
        self._batch_size = batch_size
        self._seed = seed
        self._run_length = run_length
        self.steps_per_epoch = sum(len(cut(count, batch_size)) for count in rows)
        """Batches of one pass over the corpus."""

    def from_step(self, step: int, *, epochs: int) -> Generator[SentenceBlock]:
        """Yields the batches of the steps ``step``, ``step + 1``, … up to the last epoch's end."""
        first_epoch, skipped = divmod(step, self.steps_per_epoch)
        for epoch in range(first_epoch, epochs):
            for number, batches in self._epoch(epoch, skipped):
                block = self._read(number)
                for rows in batches:
                    yield block.slice(*rows) if isinstance(rows, tuple) else block.take(rows)
            skipped = 0

    def _epoch(self, epoch: int, skipped: int) -> Iterator[tuple[int, list[_Rows]]]:
        random = np.random.default_rng([self._seed, epoch])
        for shard in random.permutation(len(self._rows)):
            count = self._rows[shard]
            batches: list[_Rows] = [*cut(count, self._batch_size)]
            order: NDArray[np.int64] = random.permutation(len(batches))
            if skipped >= len(order):
                skipped -= len(order)
                continue
            if self._run_length is not None:
                batches = [*self._of_runs(count, [self._seed, epoch, int(shard)])]
            yield int(shard), [batches[position] for position in order[skipped:]]
            skipped = 0

    def _of_runs(self, count: int, seed: list[int]) -> Iterator[NDArray[np.int64]]:
        """Yields the rows of each of a shard's batches: its runs in random order, evenly cut."""
        length = self._run_length or count
        firsts = np.random.default_rng(seed).permutation(np.arange(0, count, length))
        rows = (firsts[:, None] + np.arange(length)).ravel()
        rows = rows[rows < count]  # the last run may be shorter
        for start, stop in cut(count, self._batch_size):
            yield rows[start:stop]


def make_ahead(source: Iterator[T], *, ahead: int) -> Generator[T]:
    """Yields the same items in the same order, made ahead by a thread.

    An error of ``source`` is raised where its item would have come. When the generator is closed,
    the thread has ended and ``source``, if a generator, is closed.

    Args:
        source: used by the thread alone from now on.
        ahead: at most so many items are waiting or being made; 0 uses no thread.
    """
    thread = ThreadPoolExecutor(1, "prefetch")  # starts its thread with the first item
    try:
        if not ahead:
            yield from source
            return
        ready = deque(thread.submit(next, source, _END) for _ in range(ahead))
        while (item := ready.popleft().result()) is not _END:
            ready.append(thread.submit(next, source, _END))
            yield item
    finally:
        thread.shutdown(cancel_futures=True)
        if isinstance(source, Generator):
            source.close()
