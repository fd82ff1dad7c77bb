"""A run of all stages over a tiny text, started as a user starts it, and watched by its log."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from benchmarks.report import REPOSITORY

POLL_SECONDS = 0.02
START = "start"
"""What `undisturbed` calls the time before the first stage."""
_EVENT = re.compile(r"\) (running|done|failed|new requirements) +(\w+)\((.*)")
_ERROR = re.compile(
    r"^[\w.]*(Error|Exception|Interrupt)\b.*|^\S+: (error|No space).*", re.MULTILINE
)

TRAINING = {"hidden_size": 8, "epochs": 10, "batch_size": 20, "held_out_batches": 3}
PROBING = {"min_train": 20, "min_dev": 6, "min_test": 12, "min_class_train": 3}
SETTINGS = (
    *("--held-out-fraction", "0.5", "--changes", json.dumps(TRAINING)),
    *("--vectors", "corpus", "--checkpoint-every-seconds", "0.3", "--threads", "1"),
)
PROBING_SETTINGS = ("--held-out-fraction", "0.5", "--probing-changes", json.dumps(PROBING))
ALL = ("RunAll", *SETTINGS, "--further-seeds", "[]", "--probing-changes", json.dumps(PROBING))
TOGETHER = ("TrainEncoders", *SETTINGS, "--views", "SEQ,LIN", "--seed", "7", "--processes", "2")
"""A training in two processes; its views read no trees."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the tiny run."""

    name: str
    """Of its task, as the log has it."""
    folders: str
    """Pattern of what it fills, in the work folder."""
    marker: str
    """Pattern, in there, of the files that make it complete."""
    num_markers: int = 1
    """How many of these there are in the end."""
    root: tuple[str, ...] = ALL
    """Task and parameters of the run that it is a part of."""

    def is_complete(self, work: Path) -> bool:
        """Returns whether nothing of it is left to do."""
        found = [path for folder in work.glob(self.folders) for path in folder.glob(self.marker)]
        return len(found) >= self.num_markers


_CORPUS, _ALTERED = "corpora/files-????????????", "corpora/files-altered-*"
STAGES = (
    Stage("SplitSentences", f"{_CORPUS}/sentences", "manifest.json"),
    Stage("TrainWordVectors", "vectors/*", "training.json"),
    Stage("ParseDependencies", f"{_CORPUS}/dependencies-*", "manifest.json"),
    Stage("ParseConstituents", f"{_CORPUS}/constituents-*", "manifest.json"),
    Stage("AlterSentences", f"{_ALTERED}/sentences", "manifest.json"),
    Stage("TrainEncoders", "models/DEP-CONST-*", "summary.json"),
    Stage("ParseAlteredDependencies", f"{_ALTERED}/dependencies-*", "manifest.json"),
    Stage("ParseAlteredConstituents", f"{_ALTERED}/constituents-*", "manifest.json"),
    Stage("BuildProbing", "probing/*", "probing.json"),
    Stage("EvaluateEncoder", "evaluation*", "results/*/[A-Z]*.json", 100),
    Stage("ShowSentences", "sentences/*", "sentences.json"),
    Stage("WriteReport", "reports/*", "report.json"),
    Stage("TrainEncoders in two processes", "models/SEQ-LIN-*", "summary.json", root=TOGETHER),
)


def stage_named(name: str) -> Stage:
    """Returns one of `STAGES`."""
    return next(stage for stage in STAGES if stage.name == name)


def write_tiny_text(folder: Path, *, documents: int = 12, sentences: int = 30) -> Path:
    """Writes documents of simple sentences, the same each time; returns the folder."""
    people = ["The baker", "An old sailor", "My sister", "The two farmers", "A tall girl"]
    deeds = ["painted", "sold", "sees", "dropped", "mended", "hides", "wanted"]
    things = ["the green door", "a lamp", "several baskets", "the torn sail", "three eggs"]
    ends = ["", " at noon", " before the snow fell", " because the shop was open", " and laughed"]
    folder.mkdir(parents=True)
    for number in range(documents):
        choice = random.Random(number).choice
        story = [
            f"{choice(people)} {choice(deeds)} {choice(things)}{choice(ends)}."
            for _ in range(sentences)
        ]
        (folder / f"story-{number:02d}.txt").write_text(" ".join(story) + "\n", encoding="utf-8")
    return folder


@dataclass(slots=True)
class TinyRun:
    """Luigi's command line over a text and a work folder, started as often as it takes."""

    text: Path
    work: Path
    logs: Path
    """Folder of one log a start."""
    more: tuple[str, ...] = ()
    """Further parameters of every start."""
    scheduler: tuple[str, ...] = ("--local-scheduler",)
    within: tuple[str, ...] = ()
    """What every start is run by, such as ``nsenter``."""
    starts: int = 0

    def command(self, root: Sequence[str]) -> list[str]:
        """Returns what a user types for a task with its parameters."""
        return [
            *(*self.within, sys.executable, "-m", "luigi", "--module", "tasks", *root),
            *(*self.scheduler, "--source", "files", "--paths", str(self.text)),
            *("--work-folder", str(self.work), *self.more),
            *("--log-level", "DEBUG"),  # with it the log has Luigi's events, see `events_of`
        ]

    def start(self, root: Sequence[str]) -> Started:
        """Starts a task with its parameters, in a process group of its own."""
        self.logs.mkdir(parents=True, exist_ok=True)
        log = self.logs / f"{self.starts:04d}-{root[0]}.log"
        self.starts += 1
        with log.open("wb") as stream:
            process = subprocess.Popen(
                self.command(root),
                cwd=REPOSITORY,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        return Started(process, log)

    def finish(self, root: Sequence[str]) -> Started:
        """Runs a task to its end."""
        started = self.start(root)
        started.wait_until(lambda: False)
        return started


@dataclass(slots=True)
class Started:
    """One start of Luigi's command line."""

    process: subprocess.Popen[bytes]
    log: Path
    born: float = field(default_factory=time.monotonic)
    running: Counter[str] = field(default_factory=Counter)
    """Names of the stages that run, as of the last look."""
    failed: Counter[str] = field(default_factory=Counter)
    """How often each stage has failed."""
    spans: dict[str, list[float]] = field(default_factory=dict)
    """Seconds that each stage took, start by start, of those that ended."""
    first_seconds: float = 0.0
    """After which the first stage ran."""
    _read: int = 0
    _begun: dict[str, float] = field(default_factory=dict)

    @property
    def code(self) -> int | None:
        """The exit status; None while it runs."""
        return self.process.poll()

    def look(self) -> None:
        """Reads what the log has gained."""
        with self.log.open("rb") as stream:
            stream.seek(self._read)
            gained = stream.read()
        whole = gained[: gained.rfind(b"\n") + 1]
        self._read += len(whole)
        for event, name in events_of(whole.decode("utf-8", "replace")):
            now = time.monotonic()
            if event == "running":
                self.first_seconds = self.first_seconds or now - self.born
                self.running[name] += 1
                self._begun[name] = now
            else:
                self.running[name] -= 1
                self.failed[name] += event == "failed"
                self.spans.setdefault(name, []).append(now - self._begun.get(name, now))
        self.running = +self.running

    def wait_until(self, condition: Callable[[], bool], seconds: float = float("inf")) -> bool:
        """Returns whether the condition came true before the run ended and the time was over."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            ended = self.code is not None
            self.look()
            if condition():
                return True
            if ended:
                return False
            time.sleep(POLL_SECONDS)
        return False

    def said(self) -> str:
        """Returns the last line of an error in the log, or its last line."""
        return last_error(self.log.read_text(encoding="utf-8", errors="replace"))[:500]

    def kill_group(self) -> None:
        """Kills it and what it started in its group; returns when all are gone."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def last_error(said: str) -> str:
    """Returns the last line of an error, or else the last line."""
    found = [match[0] for match in _ERROR.finditer(said)]
    return (found or said.strip().splitlines() or [""])[-1]


def events_of(log: str) -> Iterator[tuple[str, str]]:
    """Yields what Luigi says of tasks: the event and the stage's name."""
    for event, task, parameters in _EVENT.findall(log):
        name = task
        if task == "ParseShard":
            kind = "Dependencies" if "stage=dependencies" in parameters else "Constituents"
            name = f"Parse{'Altered' if '-altered-' in parameters else ''}{kind}"
        if task == "SplitParts":
            name = "SplitSentences"
        if task == "TrainEncoders" and "views=SEQ,LIN" in parameters:
            name = "TrainEncoders in two processes"
        yield event, name


def undisturbed(run: TinyRun, roots: Sequence[Sequence[str]]) -> dict[str, float]:
    """Runs tasks to their end; returns the seconds of each stage, and of the start of a run.

    Raises:
        RuntimeError: one failed.
    """
    spans: dict[str, list[float]] = {}
    for root in roots:
        started = run.finish(root)
        if started.code:
            raise RuntimeError(
                f"{root[0]}, undisturbed, ended with {started.code}: {started.said()}"
            )
        spans.setdefault(START, []).append(started.first_seconds)
        for name, seconds in started.spans.items():
            spans.setdefault(name, []).append(max(seconds))
    return {name: mean(seconds) for name, seconds in spans.items()}


@dataclass(frozen=True, slots=True)
class Process:
    """A process that is not taken for another one of the same number."""

    number: int
    started: str
    command: str

    def is_alive(self) -> bool:
        """Returns whether it still runs; what nobody has reaped does not."""
        facts = _facts(self.number)
        return facts is not None and facts[0] not in "ZX" and facts[2] == self.started


def descendants(number: int) -> list[Process]:
    """Returns the processes that a process and its children have started and that still run."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal() and (facts := _facts(int(path.name))) and facts[0] not in "ZX":
            parents.setdefault(int(facts[1]), []).append(int(path.name))
    found, todo = [], [number]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return [process for child in found if (process := _process(child)) is not None]


def _process(number: int) -> Process | None:
    facts = _facts(number)
    if facts is None:
        return None
    with suppress(OSError):
        words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
        return Process(number, facts[2], b" ".join(words).decode("utf-8", "replace").strip())
    return None


def _facts(number: int) -> tuple[str, str, str] | None:
    """Returns a process' state, parent and time of birth; None of one that is gone."""
    try:
        text = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return fields[0], fields[1], fields[19]
