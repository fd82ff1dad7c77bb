"""Prepares what comes next in a thread while the present is used."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_END: Any = object()


class _Prefetcher(Generic[T]):
    """The items of an iterator, of which a thread makes ``ahead`` before their reader."""

    def __init__(self, source: Iterator[T], thread: Executor, ahead: int) -> None:
        self._make = lambda: thread.submit(next, source, _END)
        self._ready = deque(self._make() for _ in range(ahead))

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        item: T = self._ready[0].result()  # stays the first where it is an error or the end
        if item is _END:
            raise StopIteration
        self._ready.popleft()
        self._ready.append(self._make())
        return item


@contextmanager
def prefetched(source: Iterator[T], *, ahead: int) -> Iterator[Iterator[T]]:
    """Yields an iterator over the same items in the same order, made ahead by a thread.

    An error of ``source`` is raised where its item would have come. When the block is left, the
    thread has ended and ``source``, if a generator, is closed.

    Args:
        source: used by the thread alone from now on.
        ahead: at most so many items are waiting or being made; 0 uses no thread.
    """
    thread = ThreadPoolExecutor(1, "prefetch")  # starts its thread with the first item
    try:
        yield _Prefetcher(source, thread, ahead) if ahead else source
    finally:
        thread.shutdown(cancel_futures=True)
        if isinstance(source, Generator):
            source.close()
