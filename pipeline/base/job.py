"""Jobs that run in processes of their own: one JSON file in, progress lines out.

A job is started as ``python -m <module> JOB.json``. It prints one JSON object a line on standard
output, ``{"progress": 0.4, "status": "..."}``, with its speed where it knows it, and exits 0 when
done. When it cannot, it exits with one line on standard error, and the traceback stands beside the
job file: 2 if the user can mend it, such as a file that is not there, else 1. It ends when the
process that started it does (`watched`), so a killed run leaves no job behind that writes beside
its successor. Whoever schedules jobs, on this machine or on others, starts them by
`run_job_process`, so that all of them run in the same environment; it is forked from a process that
has imported its libraries (`job_server`).
"""

from __future__ import annotations

import glob
import json
import os
import re
import signal
import socket
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, ClassVar

from treeviews.pipeline.base.atomic_files import held_locks, write_json_atomically
from treeviews.pipeline.base.foreign_text import printable, told
from treeviews.pipeline.base.job_server import request_job
from treeviews.pipeline.base.machine import free_memory
from treeviews.pipeline.base.mistakes import MISTAKE, code_of
from treeviews.pipeline.base.settings import Settings

Progress = Callable[[float, str], None]
"""Takes the fraction done (0 to 1) and a sentence for a person."""


class Rated(str):
    """A status that also says how fast the work goes, for who adds up what runs side by side."""

    per_second: float
    """Sentences."""

    def __new__(cls, text: str, per_second: float) -> Rated:
        """Returns the text, which is shown where nobody reads the speed."""
        status = super().__new__(cls, text)
        status.per_second = float(per_second)
        return status

    @classmethod
    def like(cls, status: str, text: str) -> str:
        """Returns another text for a status, with its speed where it has one."""
        return cls(text, status.per_second) if isinstance(status, cls) else text


def in_part(progress: Progress, done: int, count: int) -> Progress:
    """Returns what tells of the progress within one of several equal parts of a job.

    Args:
        done: parts before this one.
        count: of all parts.
    """
    return lambda fraction, status: progress((done + fraction) / count, status)


KEPT_ERROR_LINES = 40
_TOLD_END = re.compile(r"(?P<kind>\w+): (?P<text>.*)(?P<trace> \[traceback: .+\])")
"""The line that a job ends with on standard error when it cannot do its work."""


def print_progress(fraction: float, status: str) -> None:
    """Prints one progress line."""
    line: dict[str, Any] = {"progress": round(min(max(fraction, 0.0), 1.0), 4), "status": status}
    if isinstance(status, Rated):
        line["per_second"] = round(status.per_second, 2)
    print(json.dumps(line), flush=True)


def run_from_command_line(
    execute: Callable[[Any, Progress], object],
    argv: Sequence[str] | None = None,
    *,
    kind: type[Settings] | None = None,
    part: str = "",
) -> int:
    """Reads the job named on the command line, runs it, and returns the exit code.

    Args:
        execute: does the work; takes the job and a progress callback. What it raises is printed
            in one line that names the file with the traceback.
        argv: the arguments after the program's name.
        kind: the settings that ``execute`` takes the job as; by default it takes the JSON.
        part: which of the processes that run this job together this is, such as ``rank-1``; its
            traceback has a file of its own.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if len(arguments) != 1:
        print(told(f"usage: python -m MODULE JOB.json, got {arguments}"), file=sys.stderr)
        return MISTAKE
    path = Path(arguments[0])
    try:
        job = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        print(told(f"{path}: no job ({error}); give a JSON file of its settings"), file=sys.stderr)
        return MISTAKE
    kept = path.with_name(".".join([path.name, *filter(None, [part]), "traceback.txt"]))
    left = f"{glob.escape(path.name)}.*traceback.txt"
    for stale in [kept] if part else list(path.parent.glob(left)):  # those of all parts as well
        stale.unlink(missing_ok=True)
    try:
        execute(job if kind is None else kind.from_dict(job), print_progress)
    except Exception as error:
        where = ""
        with suppress(OSError):  # such as a full disk, which must not hide the first error
            kept.write_text(told(traceback.format_exc(), keep_lines=True), encoding="utf-8")
            where = f" [traceback: {kept}]"
        text = " ".join(f"{type(error).__name__}: {error}{where}".splitlines())
        print(told(text), file=sys.stderr)
        return code_of(error)
    return 0


class JobFailedError(RuntimeError):
    """A job could not do its work; the text is its own sentence, and where its traceback lies."""

    is_told: ClassVar[bool] = True
    """The text is for people as it stands, without this error's name."""


class JobMistakeError(JobFailedError):
    """The same, of what the user can mend."""

    is_mistake: ClassVar[bool] = True


class JobKilledError(JobFailedError):
    """A job was ended by a signal, such as the one a machine short of memory sends."""


def run_job_process(
    module: str,
    job: Mapping[str, Any],
    job_path: Path,
    on_progress: Progress,
    *,
    threads: int,
    locks: Sequence[int] = (),
) -> None:
    """Writes ``job_path``, has ``python -m module job_path`` run and waits for it.

    The job dies with this process, and those that it starts in its turn with it. It may have to
    wait for others to end, see `pipeline.base.job_server`.

    Args:
        on_progress: called with what the job reports; what else it prints goes to standard error.
        threads: CPU threads the job's numerical libraries may use.
        locks: files that the job keeps open beside the locks of this thread: one that outlives this
            process by a moment still holds them.

    Raises:
        JobKilledError: a signal ended the job.
        JobMistakeError: the job failed by what the user can mend.
        JobFailedError: it failed otherwise. Both carry its own sentence and its traceback's path,
            or the last lines on its standard error if it said none.
    """
    job_path.parent.mkdir(parents=True, exist_ok=True)
    write_json_atomically(job_path, dict(job))
    kept: deque[str] = deque(maxlen=KEPT_ERROR_LINES)
    progress, errors = os.pipe(), os.pipe()
    reports = os.fdopen(progress[0], encoding="utf-8", errors="replace")
    said = os.fdopen(errors[0], encoding="utf-8", errors="replace")
    fds = [progress[1], errors[1], *dict.fromkeys([*held_locks(), *locks])]
    try:
        connection = request_job(module, [str(job_path)], fds, threads)
    finally:
        os.close(progress[1])
        os.close(errors[1])
    reader = threading.Thread(target=_forward_errors, args=(said, kept), daemon=True)
    reader.start()
    _connections.add(connection)
    with connection, reports:
        try:
            _follow_progress(reports, on_progress)
            answer = connection.makefile().readline()
        finally:
            _connections.discard(connection)
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # ends the job, if it still runs
            reader.join(timeout=5)
    code = int(answer or -signal.SIGKILL)
    if code != 0:
        raise _failure(module, code, kept)


_connections: set[socket.socket] = set()


def end_jobs() -> None:
    """Ends the jobs that this process waits for, on whichever thread."""
    for connection in list(_connections):
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def _failure(module: str, code: int, errors: Iterable[str]) -> JobFailedError:
    """Returns the error of a job that ended with a code, from what it said on standard error."""
    if code < 0:
        said = "".join(errors).strip()
        return JobKilledError(f"{module} {end_in_words(code)}{f': {said}' if said else ''}")
    for line in reversed(list(errors)):
        if found := _TOLD_END.fullmatch(line.strip()):
            if code == MISTAKE:
                return JobMistakeError(found["text"] + found["trace"])
            return JobFailedError(line.strip())
    kind = JobMistakeError if code == MISTAKE else JobFailedError
    return kind(f"{module} {end_in_words(code)}:\n" + "".join(errors).strip())


def end_in_words(code: int) -> str:
    """Returns how a process ended, such as ``exited with 1``; of SIGKILL, what it mostly means.

    Args:
        code: as `subprocess` gives it: a signal's number is negative.
    """
    if code >= 0:
        return f"exited with {code}"
    if code != -signal.SIGKILL:
        named = {one.value: one.name for one in signal.Signals}
        return f"was ended by {named.get(-code, f'signal {-code}')}"
    return (
        "was ended by SIGKILL, most often sent by the kernel because memory ran out "
        f"({free_memory()} now): if nobody else sent it, let fewer run side by side (--workers, "
        "--processes), make batches smaller, or take a machine with more memory; what is complete "
        "is kept"
    )


def _follow_progress(lines: IO[str], on_progress: Progress) -> None:
    for line in lines:
        try:
            report = json.loads(line)
            fraction, status = float(report["progress"]), str(report["status"])
            if "per_second" in report:
                status = Rated(status, float(report["per_second"]))
        except (ValueError, KeyError, TypeError):
            print(told(line.rstrip()), file=sys.stderr)
            continue
        on_progress(fraction, status)


def _forward_errors(lines: IO[str], kept: deque[str]) -> None:
    """Passes a job's standard error on by lines.

    Not the line that it ends with where it failed: whoever waits for the job tells it.
    """
    with lines:
        for line in lines:
            if _TOLD_END.fullmatch(line.strip()) is None:
                sys.stderr.write(printable(line, keep_lines=True))
                sys.stderr.flush()
            if line.strip():
                kept.append(f"{line.rstrip()}\n")
