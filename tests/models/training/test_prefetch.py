"""Preparing ahead: the same items in the same order, never too many, and no thread left behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest

from tests.support.waiting import has_length, wait_until
from treeviews.models.training.batches import prefetched


def is_working() -> bool:
    return any(thread.name.startswith("prefetch") for thread in threading.enumerate())


@pytest.mark.parametrize("ahead", [0, 1, 2, 7])
def test_items_come_in_order(ahead: int) -> None:
    with prefetched(iter(range(20)), ahead=ahead) as items:
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
        prefetched(broken(), ahead=ahead) as items,
    ):
        found.extend(iter(lambda: next(items), None))

    assert not is_working()


@pytest.mark.parametrize("ahead", [1, 3])
def test_no_more_than_asked_for_are_made_ahead(ahead: int) -> None:
    made: list[int] = []

    def count() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    with prefetched(count(), ahead=ahead) as items:
        for taken in range(5):
            wait_until(partial(has_length, made, taken + ahead))
            time.sleep(0.01)  # for one too many to be made
            assert len(made) == taken + ahead
            next(items)


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
    with pytest.raises(KeyboardInterrupt), prefetched(source, ahead=ahead) as items:
        next(items)
        raise KeyboardInterrupt

    assert closed.is_set()
    assert not is_working()
