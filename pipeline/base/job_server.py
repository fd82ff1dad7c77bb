"""A process from which jobs are forked, so that a run imports what they need once.

A job's libraries (torch, supar, transformers …) take seconds to import, many jobs less to run. So
the process that runs stages starts a server, `start_job_server`, which imports the module of the
first job of a kind and forks every job from there: each has a process of its own, with nothing left
in it by the job before. At most so many run at a time; the others wait for their turn.

A job ends with whoever asked for it (its connection closes), and the server, with all jobs, ends
with the process that started it.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import queue
import random
import resource
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treeviews.pipeline.base.machine import available_cores
from treeviews.pipeline.base.watched import end_with_parent, watched

ADDRESS_VARIABLE = "TREEVIEWS_JOB_SERVER"
"""Of the environment: where the server of this process, or of one above it, listens."""
_AT_ONCE_VARIABLE = "TREEVIEWS_JOBS_AT_ONCE"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Where numerical libraries read, when they are loaded, how many threads they may use."""
_OF_A_RUN = "TREEVIEWS_RUN", "TREEVIEWS_JOB"
"""How the names of variables begin that tell a run's processes of one another."""
_MOST_FDS = 64
POLL_SECONDS = 0.01
"""Between looks at whether a job has ended."""
_OWN_PACKAGE = "treeviews."
"""Modules in it are imported before their jobs are forked. What such a module imports only while
its job works, it names as ``PRELOADED`` where that is to be there before, too."""


def job_environment(threads: int) -> dict[str, str]:
    """Returns what a job's libraries read of the environment."""
    environment = dict.fromkeys(THREAD_VARIABLES, str(threads))
    # Waiting threads sleep: spinning ones starve the jobs beside them.
    environment |= {"OMP_WAIT_POLICY": "PASSIVE", "PYTHONHASHSEED": "0"}
    # oneDNN keeps one kernel a tensor shape, 1,024 by default: a leak over a corpus.
    return environment | {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64"}


_lock = threading.Lock()
_server: subprocess.Popen[bytes] | None = None
_address = ""
_LONGEST_FOLDER = 70


def jobs_at_once() -> int:
    """Returns how many jobs run side by side: as many as the run has workers, or one a core."""
    return int(os.environ.get(_AT_ONCE_VARIABLE) or available_cores())


def start_job_server(at_once: int | None = None) -> str:
    """Starts the server of this process, unless it runs; returns its address.

    Args:
        at_once: jobs side by side; by default, one a core.
    """
    global _server, _address  # noqa: PLW0603 - one a process
    with _lock:
        is_there = _server is not None and _server.poll() is None and Path(_address).exists()
        if is_there and at_once and str(at_once) != os.environ.get(_AT_ONCE_VARIABLE):
            _server.kill()  # type: ignore[union-attr]
            is_there = False
        if not is_there:
            _address = os.environ[ADDRESS_VARIABLE] = f"{socket_folder()}/jobs"
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(_address)
            listener.listen(128)
            os.environ[_AT_ONCE_VARIABLE] = str(at_once or available_cores())
            arguments = [str(listener.fileno()), os.environ[_AT_ONCE_VARIABLE]]
            _server = _start(listener, arguments)
            listener.close()
        return _address


def _start(listener: socket.socket, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    """Starts a server from a thread that lasts as long as this process: it ends with the thread."""
    started: queue.Queue[subprocess.Popen[bytes] | OSError] = queue.Queue()

    def start_and_last() -> None:
        try:
            server = subprocess.Popen(
                [sys.executable, *watched("treeviews.pipeline.base.job_server", *arguments)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # a library that is imported may print
                env=os.environ | job_environment(threads=1),
                pass_fds=[listener.fileno()],
                process_group=0,  # Ctrl-C is for this process; what the server does ends with it
            )
        except OSError as error:
            started.put(error)
            return
        started.put(server)
        threading.Event().wait()

    threading.Thread(target=start_and_last, daemon=True).start()
    answer = started.get()
    if isinstance(answer, OSError):
        raise answer
    return answer


def socket_folder() -> str:
    """Makes a folder for a socket, whose path may be no longer than some hundred bytes."""
    is_short = len(tempfile.gettempdir()) < _LONGEST_FOLDER
    folder = tempfile.mkdtemp(prefix="treeviews-", dir=None if is_short else "/tmp")
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def request_job(
    module: str, arguments: Sequence[str], fds: Sequence[int], threads: int
) -> socket.socket:
    """Asks the server above this process for a job: ``python -m module arguments``.

    One is started where there is none.

    Args:
        fds: its standard output and error, and files that it keeps open until it ends.
        threads: CPU threads that its numerical libraries may use.

    Returns:
        The connection: the job ends when it is closed, and its exit code comes on it.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(os.environ.get(ADDRESS_VARIABLE, ""))
    except OSError:
        connection.connect(start_job_server())
    request = {
        "module": module,
        "arguments": list(arguments),
        "environment": {
            name: value
            for name, value in (os.environ | job_environment(threads)).items()
            if not name.startswith(_OF_A_RUN)
        },
        "threads": threads,
        "folder": os.getcwd(),  # noqa: PTH109
        "path": list(map(str, sys.path)),
    }
    socket.send_fds(connection, [b"\n"], list(fds))
    connection.sendall(f"{json.dumps(request)}\n".encode())
    return connection


@dataclass
class _Job:
    connection: socket.socket
    request: dict[str, Any] = field(default_factory=dict)
    fds: list[int] = field(default_factory=list)
    process_id: int = 0


class _Server:
    """Takes requests, forks jobs and tells how they end."""

    def __init__(self, listener: socket.socket, at_once: int) -> None:
        self.listener, self.at_once = listener, at_once
        self.waiting: deque[_Job] = deque()
        self.running: dict[int, _Job] = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ)

    def serve(self) -> None:
        """Serves until this process is ended."""
        while True:
            for key, _ in self.selector.select(POLL_SECONDS if self.running else None):
                if key.fileobj is self.listener:
                    connection, _ = self.listener.accept()
                    self.selector.register(connection, selectors.EVENT_READ, _Job(connection))
                else:
                    self._read(key.data)
            self._collect()
            while self.waiting and len(self.running) < self.at_once:
                self._start(self.waiting.popleft())

    def _read(self, job: _Job) -> None:
        """Takes a request, or the end of whoever made it, whose job ends with him."""
        content = b""
        fds: list[int] = []
        with suppress(ConnectionError):
            content, fds, _, _ = socket.recv_fds(job.connection, 1, _MOST_FDS)
        if content:
            job.fds = fds
            with suppress(ValueError, OSError), job.connection.makefile("rb") as stream:
                job.request = json.loads(stream.readline())
        if content and job.request and len(fds) > 1:
            self.waiting.append(job)
            return
        self.selector.unregister(job.connection)
        job.connection.close()
        if job in self.waiting:
            self.waiting.remove(job)
        self._close_files(job)
        if self.running.get(job.process_id) is job:
            os.kill(job.process_id, signal.SIGKILL)

    def _collect(self) -> None:
        """Tells whoever waits how jobs ended."""
        while self.running:
            process_id, status = os.waitpid(-1, os.WNOHANG)
            if not process_id:
                return
            if job := self.running.pop(process_id, None):
                self._answer(job, os.waitstatus_to_exitcode(status))

    @staticmethod
    def _answer(job: _Job, code: int) -> None:
        with suppress(OSError):  # nobody waits any more
            job.connection.sendall(f"{code}\n".encode())

    def _start(self, job: _Job) -> None:
        module = job.request["module"]
        if module.startswith(_OWN_PACKAGE) and module not in sys.modules:
            with suppress(BaseException):  # which the job meets, too, and tells
                for further in getattr(importlib.import_module(module), "PRELOADED", ()):
                    importlib.import_module(further)
        server_id = os.getpid()
        try:
            job.process_id = os.fork()
        except OSError as error:  # no memory, or too many processes
            os.write(job.fds[1], f"no process for {module}: {error}\n".encode())
            self._answer(job, 1)
        else:
            if not job.process_id:
                self._run(job, server_id)
            self.running[job.process_id] = job
        self._close_files(job)

    @staticmethod
    def _close_files(job: _Job) -> None:
        while job.fds:
            os.close(job.fds.pop())

    def _run(self, job: _Job, server_id: int) -> None:
        """Does the job, in its process, and ends it."""
        code = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            end_with_parent(server_id)
            for key in list(self.selector.get_map().values()):
                if isinstance(key.fileobj, socket.socket):
                    key.fileobj.close()
            self.selector.close()
            for other in self.waiting:
                self._close_files(other)
            for number, fd in zip((1, 2), job.fds, strict=False):
                os.dup2(fd, number)
                os.close(fd)
            request = job.request
            os.environ.clear()
            os.environ.update(request["environment"])
            if "torch" in sys.modules:  # which has read it already
                sys.modules["torch"].set_num_threads(request["threads"])
            os.chdir(request["folder"])
            # Modules are looked for in the working folder last, as `watched` has it.
            here = request["folder"]
            sys.path[:] = [*(path for path in request["path"] if path not in ("", here)), here]
            sys.argv = [request["module"], *request["arguments"]]
            random.seed()
            warnings.filterwarnings("ignore", ".*found in sys.modules", RuntimeWarning)
            runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(code)


def main() -> None:
    """Serves, at a socket that is open already."""
    fd, at_once = map(int, sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started it
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with suppress(ValueError, OSError):  # each job that waits has some files open here
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    _Server(socket.socket(fileno=fd), at_once).serve()


if __name__ == "__main__":
    main()
