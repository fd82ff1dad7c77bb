"""Two runs at once on one folder: split, parse, train and evaluate, by one scheduler or by two.

Both must succeed, and what they leave must be as of one run alone: a step that stands twice in the
metrics of a training is a difference.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from benchmarks.chaos.same_bytes import differences
from benchmarks.chaos.tiny_run import ALL, Started, TinyRun, undisturbed, write_tiny_text
from benchmarks.chaos.trial import Options, Trial

SECONDS = 1800.0
"""Within which both runs must end."""
QUICK = ("SplitSentences",)
OTHER = {
    QUICK: ("--workers", "1"),
    ALL: ("--workers", "1", "--parser-batch-tokens", "400", "--keep-checkpoints", "3"),
}
"""Of the second run where its command line differs: settings that change no result."""


def trials(options: Options) -> Iterator[Trial]:
    """Runs once alone and then twice at a time, with one or two schedulers."""
    root = QUICK if options.quick else ALL
    text = write_tiny_text(options.work / "text", documents=2 if options.quick else 12)
    run = TinyRun(text, options.work / "run", options.work / "logs")
    undisturbed(run, [root])
    alone = run.work.rename(options.work / "alone")
    kinds = list(product(("its own scheduler", "one luigid"), (False, True)))
    for number, (scheduler, differs) in enumerate(kinds[1:3] if options.quick else kinds):
        other = OTHER[root] if differs else ()
        with _scheduler(options.work, scheduler) as run.scheduler:
            both = [run.start(root), run.start((*root, *other))]
            for started in both:
                started.wait_until(lambda: False, started.born + SECONDS - time.monotonic())
            what = f"{root[0]} twice, each with {scheduler}"
            what += ", by different command lines" if differs else ""
            yield judged(what, both, alone, run.work)
            for started in both:
                started.kill_group()
        run.work.rename(options.work / f"two-{number}")


def judged(what: str, both: Sequence[Started], alone: Path, work: Path) -> Trial:
    """Returns what came of two runs.

    Args:
        alone: the work folder of a run that had it for itself.
        work: theirs.
    """
    faults = [f"ended with {one.code}: {one.said()}" for one in both if one.code != 0]
    faults += differences(alone, work)
    logs = [one.log.read_text(encoding="utf-8", errors="replace") for one in both]
    waited = sum("waiting for process" in log for log in logs)
    good = f"both ended well, as one run alone; {waited} of them waited at a folder"
    return Trial(what, not faults, "; ".join(faults) or good)


@contextmanager
def _scheduler(work: Path, kind: str) -> Iterator[tuple[str, ...]]:
    """Runs a luigid where one is wanted; yields the options by which runs find their scheduler."""
    if kind != "one luigid":
        yield ("--local-scheduler",)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    state = work / "luigid.state"
    state.unlink(missing_ok=True)
    command = [str(Path(sys.executable).with_name("luigid")), "--address", "127.0.0.1"]
    command += ["--port", port, "--state-path", str(state)]
    with (work / "luigid.log").open("ab") as log:
        luigid = subprocess.Popen(command, cwd=work, stdout=log, stderr=log)
    try:
        _wait_for(int(port))
        yield ("--scheduler-host", "127.0.0.1", "--scheduler-port", port)
    finally:
        luigid.kill()
        luigid.wait()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
