"""Two runs at once on one folder: split, parse, train and evaluate, by one scheduler or by two.

Both must succeed, what they leave must be as of one run alone, and each step of a training must
stand once in its metrics.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from benchmarks.chaos.trial import Options, Trial
from pipeline.base.digest import sha256_of_file

SECONDS = 900
COMPARED = (".parquet", ".safetensors", ".txt")
"""Files of equal runs that are equal to the byte; others hold times or names of folders."""
SENTENCES = (
    "The old {thing} stood behind the house, and nobody had used it for {number} years.",
    "When {number} children found the {thing}, they asked their teacher what it was.",
    "She said that a {thing} is worth more than {number} coins.",
)
CHANGES = {"hidden_size": 8, "epochs": 2, "batch_size": 20, "held_out_batches": 2}
SMALL = ("--changes", json.dumps(CHANGES), "--held-out-fraction", "0.5")
WHOLE = ("RunAll", *SMALL)
QUICK = ("ParseDependencies",)
OTHER = {"RunAll": ("--keep-checkpoints", "3"), "ParseDependencies": ()}
"""Of the second run where its command line differs: settings that change no result."""


def trials(options: Options) -> Iterator[Trial]:
    """Runs once alone and then twice at a time, with one or two schedulers."""
    task = QUICK if options.quick else WHOLE
    text = _write_text(options.work / "text", num_documents=6 if options.quick else 30)
    alone = _Runs(options.work / "alone", text, task)
    code, said = _end(alone.start(()))
    if code:
        yield Trial("one run alone", survived=False, outcome=_last(said))
        return
    kinds = list(product(("its own scheduler", "one luigid"), (False, True)))
    for number, (scheduler, differs) in enumerate(kinds[1:3] if options.quick else kinds):
        other = ("--workers", "1", "--parser-batch-tokens", "400", *OTHER[task[0]])
        runs = _Runs(options.work / f"two-{number}", text, task)
        with _scheduler(options.work, scheduler) as how:
            both = [runs.start(how), runs.start((*how, *(other if differs else ())))]
            ends = [_end(one) for one in both]
        named = f"{task[0]} twice, each with {scheduler}"
        named += ", by different command lines" if differs else ""
        yield judged(named, ends, alone.folder, runs.folder)


def judged(what: str, ends: Sequence[tuple[int, str]], alone: Path, both: Path) -> Trial:
    """Returns what came of two runs.

    Args:
        ends: exit status and what was said, of each.
        alone: the work folder of a run that had it for itself.
        both: theirs.
    """
    faults = [f"rc {code}: {_last(said)}" for code, said in ends if code]
    expected, found = _contents(alone), _contents(both)
    faults += [
        f"{name} is not as of one run alone"
        for name in sorted(expected.keys() | found.keys())
        if expected.get(name) != found.get(name)
    ]
    for path in sorted(both.rglob("metrics.jsonl")):
        steps = [json.loads(line).get("step") for line in path.read_text("utf-8").splitlines()]
        if any(steps.count(step) > 1 for step in steps if step is not None) and not _alike(
            steps, alone / path.relative_to(both)
        ):
            faults.append(f"{path.relative_to(both)} has steps more than once")
    waited = sum("waiting for process" in said for _, said in ends)
    good = f"rc 0 of both, {len(found)} files as of one run; {waited} of them waited at a folder"
    return Trial(what, not faults, "; ".join(faults) or good)


def _alike(steps: Sequence[object], path: Path) -> bool:
    """Returns whether a run alone has the same steps, as of what is measured at one twice."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [json.loads(line).get("step") for line in lines] == list(steps)


def _contents(work: Path) -> dict[str, str]:
    """Returns the sha256 of every compared file."""
    files = (path for path in work.rglob("*") if path.suffix in COMPARED and path.is_file())
    return {
        str(path.relative_to(work)): sha256_of_file(path)
        for path in files
        if path.parent.name != "jobs"
    }


class _Runs:
    """Luigi's command line on one work folder."""

    def __init__(self, folder: Path, text: Path, task: Sequence[str]) -> None:
        self.folder = folder
        self._arguments = [
            *("--module", "tasks", *task, "--source", "files", "--paths", str(text)),
            *("--work-folder", str(folder)),
        ]

    def start(self, how: Sequence[str]) -> subprocess.Popen[str]:
        """Starts a run; without a scheduler's address it has its own."""
        local = [] if "--scheduler-host" in how else ["--local-scheduler"]
        return subprocess.Popen(
            [sys.executable, "-m", "luigi", *self._arguments, *local, *how],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )


def _end(run: subprocess.Popen[str]) -> tuple[int, str]:
    """Waits for a run; returns its exit status and what it said."""
    try:
        _, said = run.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        run.kill()
        return -1, f"not done within {SECONDS} seconds"
    return run.returncode, said


def _last(said: str) -> str:
    """Returns the last lines that name an error, or the last of all."""
    lines = [line for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line]
    return " / ".join((errors or lines)[-2:])


@contextmanager
def _scheduler(work: Path, kind: str) -> Iterator[tuple[str, ...]]:
    """Runs a luigid where one is wanted; yields the options by which runs find it."""
    if kind != "one luigid":
        yield ()
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


def _write_text(folder: Path, num_documents: int) -> Path:
    """Writes documents of plain sentences; returns their folder."""
    folder.mkdir()
    things = ("clock", "boat", "bridge", "piano", "ladder")
    for document in range(num_documents):
        sentences = (
            sentence.format(thing=things[(document + n) % 5], number=n + document + 2)
            for n in range(8)
            for sentence in SENTENCES
        )
        (folder / f"{document:02d}.txt").write_text("\n".join(sentences) + "\n", encoding="utf-8")
    return folder
