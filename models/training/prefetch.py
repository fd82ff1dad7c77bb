"""Prepares what comes next in a thread while the present is used."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Item(Generic[T]):
    value: T


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None = None


class _Prefetcher(Generic[T]):
    """Runs an iterator in a thread of its own, at most ``ahead`` items before its reader."""

    def __init__(self, source: Iterator[T], ahead: int) -> None:
        self._source = source
        self._ready: SimpleQueue[_Item[T] | _End] = SimpleQueue()
        # Taken before an item is made, not before it is handed over: no more than ``ahead`` are in
        # memory, the one being made included.
        self._free = threading.Semaphore(ahead)
        self._stopped = threading.Event()
        self._end: _End | None = None
        self._thread = threading.Thread(target=self._work, name="prefetch", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        end = _End()
        try:
            while self._free.acquire() and not self._stopped.is_set():
                self._ready.put(_Item(next(self._source)))
        except StopIteration:
            pass
        except BaseException as error:  # whatever it is, the reader shall see it, not this thread
            end = _End(error)
        finally:
            _close(self._source)
            self._ready.put(end)

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self._end is None:
            found = self._ready.get()
            if isinstance(found, _Item):
                self._free.release()
                return found.value
            self._end = found
        if self._end.error is not None:
            raise self._end.error
        raise StopIteration

    def stop(self) -> None:
        """Ends the thread after the item it is making."""
        self._stopped.set()
        self._free.release()
        self._thread.join()


@contextmanager
def prefetched(source: Iterator[T], *, ahead: int) -> Iterator[Iterator[T]]:
    """Yields an iterator over the same items in the same order, made ahead by a thread.

    An error of ``source`` is raised where its item would have come. When the block is left, the
    thread has ended and ``source``, if a generator, is closed.

    Args:
        source: used by the thread alone from now on.
        ahead: at most so many items are waiting or being made; 0 uses no thread.
    """
    if ahead == 0:
        try:
            yield source
        finally:
            _close(source)
        return
    prefetcher = _Prefetcher(source, ahead)
    try:
        yield prefetcher
    finally:
        prefetcher.stop()


def _close(source: Iterator[Any]) -> None:
    if isinstance(source, Generator):
        source.close()
