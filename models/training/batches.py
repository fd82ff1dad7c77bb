"""The order in which a corpus is trained on: a function of seed and step alone."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.corpus.sentence_block import SentenceBlock
from models.training.prefetch import prefetched


class ShardReader(Protocol):
    """Where sentences come from, a shard at a time."""

    def read(self, number: int) -> SentenceBlock:
        """Returns the sentences of a shard, in the order of the text."""
        ...


def cut(num_sentences: int, batch_size: int) -> list[tuple[int, int]]:
    """Returns the ranges of a shard's batches: successive sentences, evenly cut.

    Differs from cutting off full batches by having no small rest, whose few negatives make it
    easier than all other batches. A single sentence has no context, so it gives no batch.
    """
    count = num_batches(num_sentences, batch_size)
    edges = [num_sentences * i // count for i in range(count + 1)] if count else []
    return list(pairwise(edges))


def num_batches(num_sentences: int, batch_size: int) -> int:
    """Returns how many ranges `cut` gives."""
    return 0 if num_sentences < 2 else -(-num_sentences // batch_size)


class TrainingBatches:
    """Batches of successive sentences; shards, and batches within a shard, in random order.

    One shard is in memory, or it and the next one. Step ``s`` can be reached without the steps
    before it: the number of steps done is the whole data cursor.
    """

    def __init__(
        self, reader: ShardReader, rows: Sequence[int], *, batch_size: int, seed: int
    ) -> None:
        """Args: rows: number of sentences that ``reader`` gives for each shard."""
        self._reader = reader
        self._rows = tuple(rows)
        self._batch_size = batch_size
        self._seed = seed
        self._steps_per_epoch = sum(num_batches(count, batch_size) for count in rows)

    @property
    def steps_per_epoch(self) -> int:
        """Batches of one pass over the corpus."""
        return self._steps_per_epoch

    def from_step(
        self, step: int, *, epochs: int, read_ahead: bool = False
    ) -> Generator[SentenceBlock]:
        """Yields the batches of the steps ``step``, ``step + 1``, … up to the last epoch's end.

        Args:
            read_ahead: whether a thread reads the next shard while this one is used.
        """
        plan = self._plan(step, epochs)
        shards = ((self._reader.read(number), ranges) for number, ranges in plan)
        with prefetched(shards, ahead=int(read_ahead)) as ready:
            for block, ranges in ready:
                for start, stop in ranges:
                    yield block.slice(start, stop)

    def _plan(self, step: int, epochs: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Yields each shard that is read with the ranges cut from it, in order."""
        first_epoch, skipped = divmod(step, self.steps_per_epoch)
        for epoch in range(first_epoch, epochs):
            yield from self._epoch(epoch, skipped)
            skipped = 0

    def _epoch(self, epoch: int, skipped: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        random = np.random.default_rng([self._seed, epoch])
        for shard in random.permutation(len(self._rows)):
            count = self._rows[shard]
            order: NDArray[np.int64] = random.permutation(num_batches(count, self._batch_size))
            if skipped >= len(order):
                skipped -= len(order)
                continue
            ranges = cut(count, self._batch_size)
            yield int(shard), [ranges[position] for position in order[skipped:]]
            skipped = 0
