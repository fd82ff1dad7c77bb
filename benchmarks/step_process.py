"""A training step in a process of its own, which waits until it is asked for the next one.

An implementation that takes fresh memory in every step is faster where others before it have left
theirs to the same process, which no training has. Processes that take turns have each their own
heap, which each keeps as our jobs do, and a slow moment of the machine still strikes all of them.
"""

from __future__ import annotations

import multiprocessing
import pickle
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch

from benchmarks.contestants import Entry, Runner, Task
from benchmarks.stopwatch import Spent
from treeviews.pipeline.base.watched import keep_memory

CLOSING_SECONDS = 10.0
"""After which a process that does not end by itself is ended."""


class StepProcess:
    """A `Runner` on one thread of another process, which lives as long as the context.

    Whatever is asked of it raises what it raises there, and ChildProcessError if the process ends
    before it has answered.
    """

    def __init__(self, task: Task, entry: Entry) -> None:
        self._task, self._entry = task, entry
        # Not forked: a fork begins with this process' heap.
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends the process."""
        self._connection.close()
        self._process.join(CLOSING_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def warm_up(self, outcome: Path) -> None:
        """As `Runner.warm_up`, after making it."""
        # Only now, so that several processes start at once instead of one after another.
        self._ask(self._task, self._entry)
        self._ask("warm_up", outcome)

    def measure(self) -> Spent:
        """As `Runner.measure`."""
        spent = self._ask("measure")
        assert isinstance(spent, Spent)
        return spent

    def _ask(self, *request: object) -> object:
        try:
            _send(self._connection, request)
            answer, error = _receive(self._connection)
        except (EOFError, ConnectionError):
            self._process.join(CLOSING_SECONDS)
            raise ChildProcessError(
                f"the process of {self._entry.name} ({self._entry.view} at width "
                f"{self._entry.hidden_size}) ended with exit code {self._process.exitcode}; if "
                "memory ran out (-9), lower --hidden or --sentences"
            ) from None
        if error is not None:
            raise error
        return answer


def _serve(connection: Connection) -> None:
    """Makes the runner that the first request describes, then calls what the others name."""
    torch.set_num_threads(1)
    keep_memory()
    runner: Runner | None = None
    while True:
        try:
            request = _receive(connection)
        except EOFError:
            return
        answer = error = None
        try:
            if runner is None:
                runner = Runner(*request)
            else:
                name, *arguments = request
                answer = getattr(runner, name)(*arguments)
        except Exception as raised:
            error = raised
        _send(connection, (answer, error))


def _send(connection: Connection, message: object) -> None:
    # The connection's own pickling would hand over tensors as shared memory.
    connection.send_bytes(pickle.dumps(message))


def _receive(connection: Connection) -> Any:
    return pickle.loads(connection.recv_bytes())
