"""What determines a training's course: its settings, its batches and its learning rate."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest

from treeviews.models.config.training_presets import preset
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.training.batches import TrainingBatches, cut, make_ahead
from treeviews.models.training.learner import learning_rate_at


class OneWordSentences:
    """Shards of one-word sentences whose row is their word."""

    def __init__(self, rows: list[int]) -> None:
        self._first = np.concatenate([[0], np.cumsum(rows)])

    def read(self, number: int) -> SentenceBlock:
        rows = np.arange(self._first[number], self._first[number + 1])
        return SentenceBlock(
            token_ids=rows.astype(np.int32),
            offsets=np.arange(len(rows) + 1),
            documents=np.zeros(len(rows), dtype=np.int32),
            sentence_index=rows.astype(np.int32),
            rows=rows,
        )


def rows_of(batches: TrainingBatches, step: int, epochs: int) -> list[list[int]]:
    return [block.rows.tolist() for block in batches.from_step(step, epochs=epochs)]


def batches_of(rows: list[int], *, batch_size: int = 4, seed: int = 0) -> TrainingBatches:
    return TrainingBatches(OneWordSentences(rows).read, rows, batch_size=batch_size, seed=seed)


@pytest.mark.parametrize(
    ("num_sentences", "ranges"),
    [
        (0, []),
        (1, []),
        (2, [(0, 2)]),
        (4, [(0, 4)]),
        (5, [(0, 2), (2, 5)]),
        (12, [(0, 4), (4, 8), (8, 12)]),
    ],
)
def test_a_shard_is_cut_evenly(num_sentences: int, ranges: list[tuple[int, int]]) -> None:
    assert cut(num_sentences, 4) == ranges


def test_an_epoch_holds_every_sentence_once_in_batches_of_successive_ones() -> None:
    batches = batches_of([9, 3, 0, 6])

    epoch = rows_of(batches, 0, 1)

    assert len(epoch) == batches.steps_per_epoch == 6
    assert sorted(row for batch in epoch for row in batch) == list(range(18))
    assert all(np.all(np.diff(batch) == 1) for batch in epoch)


def test_every_step_can_be_the_first_one() -> None:
    batches = batches_of([9, 3, 6])
    whole = rows_of(batches, 0, 3)

    for step in range(len(whole) + 1):
        assert rows_of(batches, step, 3) == whole[step:]


def test_a_constant_learning_rate_stays() -> None:
    config = preset("structured-views")

    assert {learning_rate_at(step, 10, config) for step in range(10)} == {5e-4}


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_a_falling_learning_rate_rises_over_the_warm_up_first(schedule: str) -> None:
    config = preset("laptop", schedule=schedule, learning_rate=1.0, warmup_fraction=0.2)

    rates = [learning_rate_at(step, 100, config) for step in range(100)]

    assert rates[20] == 1.0
    assert all(a < b for a, b in pairwise(rates[:21]))
    assert all(a > b for a, b in pairwise(rates[20:]))
    assert 0 < rates[0] < 0.1
    assert 0 < rates[-1] < 0.05


def of_runs(rows: list[int], run_length: int, *, batch_size: int = 6) -> TrainingBatches:
    return TrainingBatches(
        OneWordSentences(rows).read, rows, batch_size=batch_size, seed=3, run_length=run_length
    )


def test_a_batch_of_runs_has_successive_sentences_from_all_over_its_shard() -> None:
    batches = rows_of(of_runs([60, 31], 2), 0, epochs=1)
    assert sorted(row for batch in batches for row in batch) == list(range(91))
    assert {row < 60 for batch in batches for row in batch[:1]} == {True, False}
    for batch in batches:
        assert len({row < 60 for row in batch}) == 1
        pairs = [pair for pair in pairwise(batch) if pair[1] == pair[0] + 1]
        assert len(pairs) >= len(batch) // 2 - 1
    assert any(max(batch) - min(batch) > 20 for batch in batches)


def is_working() -> bool:
    return any(thread.name.startswith("prefetch") for thread in threading.enumerate())


@pytest.mark.parametrize("ahead", [0, 1, 2, 7])
def test_items_come_in_order(ahead: int) -> None:
    with closing(make_ahead(iter(range(20)), ahead=ahead)) as items:
        assert list(items) == list(range(20))
        assert next(items, None) is None
    assert not is_working()


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_an_error_comes_where_its_item_would_have_come(ahead: int) -> None:
    def broken() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("shard 3: no such row")

    found = []
    with (
        pytest.raises(ValueError, match="shard 3: no such row"),
        closing(make_ahead(broken(), ahead=ahead)) as items,
    ):
        found.extend(iter(lambda: next(items), None))

    assert not is_working()


@pytest.mark.parametrize("ahead", [0, 2])
def test_a_reader_that_stops_ends_the_thread_and_closes_the_source(ahead: int) -> None:
    closed = threading.Event()

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    source = endless()  # held, so that nothing but the block's end closes it
    with pytest.raises(KeyboardInterrupt), closing(make_ahead(source, ahead=ahead)) as items:
        next(items)
        raise KeyboardInterrupt

    assert closed.is_set()
    assert not is_working()
